//! In place of `server.rs` in a build without PostgreSQL.

/// There is none.
pub(super) enum Server {}

/// Waits for a statement.
pub(super) async fn watch<T>(
    _: Option<Server>,
    statement: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    statement.await
}
