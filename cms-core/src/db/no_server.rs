//! In place of `server.rs` in a build without PostgreSQL.

/// There is none.
pub(super) enum Server {}

/// Whether a connection was closed that nobody had used for a while.
pub(super) fn is_lost(_: &sqlx::Error) -> bool {
    false
}

/// Waits for a statement.
pub(super) async fn watch<T>(
    _: Option<Server>,
    statement: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    statement.await
}
