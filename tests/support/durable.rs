//! Whether what was committed is on disk: only then are figures and fault reports worth something.

use sqlx::Connection;

/// `fsync` of the server that `CMS_TEST_DB` names. True without a server: SQLite always flushes.
pub async fn durable(server: Option<String>) -> bool {
    let Some(server) = server else { return true };
    let mut connection = sqlx::PgConnection::connect(&server).await.expect("CMS_TEST_DB answers");
    let fsync: String = sqlx::query_scalar("show fsync").fetch_one(&mut connection).await.unwrap();
    fsync == "on"
}
