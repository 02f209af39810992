//! PostgreSQL's connections: no caller waits for ever for a server that is gone.
//!
//! A machine that vanishes resets no connection, so the driver would wait for ever. A deadline
//! would cut off long legitimate statements. So a caller that waits for long asks over a separate
//! connection whether the server is there, and was there all the time; if not, the statement
//! fails. On its way back to the pool a connection waits in the same way for a statement whose
//! caller has gone.

use std::{
    io,
    ops::{Deref, DerefMut},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{
    ConnectOptions, Connection, PgConnection, PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};
use tracing::Instrument;

use super::{
    Statement,
    epochs::Epochs,
    fault::{is_lost, no_session},
    statements::span,
};

/// How long a statement runs before its caller asks whether the server is there, and the time
/// between two such questions.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);
/// How long the answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// When the server started, in microseconds: no two servers have the same value.
const BEGAN: &str =
    "select cast(extract(epoch from pg_postmaster_start_time()) * 1000000 as bigint)";
/// For how many seconds the server has been running. Its own clock measures it.
const UPTIME: &str =
    "select cast(extract(epoch from clock_timestamp() - pg_postmaster_start_time()) as float8)";

/// A pool of connections, and a way to ask the server outside of the pool. Clones share both.
#[derive(Clone)]
pub(crate) struct Server(Arc<Parts>);

struct Parts {
    pool: PgPool,
    /// Whether nothing is committed any more.
    sealed: AtomicBool,
    options: PgConnectOptions,
    patience: Duration,
    /// The last answer, shared by all callers that wait.
    asked: Mutex<Option<Uptime>>,
    /// The last answer to [`Server::ask_apart`], and when it was asked.
    apart: Mutex<Option<(Instant, (i64, i64))>>,
}

/// When the server was asked, and how long it had been running then; zero if it did not answer.
struct Uptime {
    at: Instant,
    running: Duration,
}

impl Uptime {
    /// Whether the server was running all the time since `began`.
    fn covers(&self, began: Instant) -> bool {
        self.running >= self.at.saturating_duration_since(began)
    }
}

impl Deref for Server {
    type Target = PgPool;
    fn deref(&self) -> &PgPool {
        &self.0.pool
    }
}

impl Server {
    /// Each new connection reports its server to `epochs`.
    pub(super) fn new(
        options: PgConnectOptions,
        timeout: Duration,
        max_connections: u64,
        epochs: &Arc<Epochs>,
    ) -> Self {
        let epochs = epochs.clone();
        let pool = PgPoolOptions::new()
            .max_connections(u32::try_from(max_connections).unwrap_or(u32::MAX))
            .test_before_acquire(false)
            .acquire_timeout(timeout)
            .after_connect(move |connection, _| {
                let epochs = epochs.clone();
                Box::pin(async move {
                    let read = sqlx::raw_sql(BEGAN).fetch_one(connection);
                    let began = read.instrument(span("server")).await?;
                    epochs.note_server(sqlx::Row::try_get(&began, 0)?);
                    Ok(())
                })
            })
            .connect_lazy_with(options.clone());
        let (asked, apart) = (Mutex::default(), Mutex::default());
        let (sealed, patience) = (AtomicBool::new(false), PROBE_INTERVAL);
        Self(Arc::new(Parts { pool, sealed, options, patience, asked, apart }))
    }

    /// Allows no further commit.
    pub(super) fn seal(&self) {
        self.0.sealed.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// When no further commit is allowed.
    pub(super) fn expect_unsealed(&self) -> sqlx::Result<()> {
        match self.0.sealed.load(Ordering::Relaxed) {
            true => Err(sqlx::Error::PoolClosed),
            false => Ok(()),
        }
    }

    /// How many connections a caller tries that may have ended: all of the pool, and a new one.
    pub(super) fn lost_tries(&self) -> u32 {
        self.0.pool.options().get_max_connections().saturating_add(1)
    }

    /// A connection.
    pub(super) async fn connection(&self) -> sqlx::Result<ServerConnection> {
        let connection = Some(self.acquire().await.map_err(no_session)?);
        Ok(ServerConnection { connection, server: self.clone(), open: false })
    }

    /// A connection in a transaction, which this statement begins. The server may have closed all
    /// connections of the pool, which shows only on use.
    pub(super) async fn begin(&self, begin: &'static str) -> sqlx::Result<ServerConnection> {
        let mut tries = self.lost_tries();
        loop {
            let mut held = self.connection().await?;
            held.open = true;
            tries -= 1;
            match held.send(begin).await {
                Err(error) if tries > 0 && is_lost(&error) => {}
                begun => return begun.map(|()| held),
            }
        }
    }

    /// Asks for two numbers over a separate connection, one call at a time. All callers that wait
    /// for a running call share the next answer, so that they do not take all connections.
    pub(super) async fn ask_apart(&self, statement: Statement) -> sqlx::Result<(i64, i64)> {
        let began = Instant::now();
        let mut last = self.0.apart.lock().await;
        if let Some((_, answer)) = last.filter(|(at, _)| *at >= began) {
            return Ok(answer);
        }
        let at = Instant::now();
        let mut connection = self.0.options.connect().await.map_err(no_session)?;
        let read = sqlx::query_as(statement.sql()).fetch_one(&mut connection);
        let answer = read.instrument(span(statement.name())).await?;
        let _ = connection.close().await;
        *last = Some((at, answer));
        Ok(answer)
    }

    /// A pool for one connection that is kept for long: no caller of this pool waits for it.
    pub(super) fn apart(&self) -> PgPool {
        PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ANSWER_TIMEOUT)
            .connect_lazy_with(self.0.options.clone())
    }

    /// Waits for a statement, however long it takes, as long as the server is there.
    pub(super) async fn watch<T, E: From<sqlx::Error>>(
        &self,
        statement: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let began = Instant::now();
        let mut statement = pin!(statement);
        loop {
            if let Ok(done) = timeout(self.0.patience, &mut statement).await {
                return done;
            }
            tokio::select! {
                biased;
                done = &mut statement => return done,
                // Boxed: it is seldom, and would make each statement's future larger.
                there = Box::pin(self.is_there_since(began)) => if !there {
                    let why = "the server is gone, or was gone in between";
                    tracing::warn!("PostgreSQL: {why}; a statement that waits for it has failed");
                    let gone = io::Error::new(io::ErrorKind::TimedOut, why);
                    return Err(sqlx::Error::Io(gone).into());
                }
            }
        }
    }

    /// Whether the server is there, and has not restarted since `began`.
    async fn is_there_since(&self, began: Instant) -> bool {
        let mut asked = self.0.asked.lock().await;
        let recent = asked.take().filter(|asked| asked.at.elapsed() < self.0.patience / 2);
        let answer = match recent {
            Some(answer) => answer,
            None => self.ask().await,
        };
        asked.insert(answer).covers(began)
    }

    async fn ask(&self) -> Uptime {
        let answer = async {
            let mut connection = self.0.options.connect().await?;
            let read = sqlx::query_scalar(UPTIME).fetch_one(&mut connection);
            let seconds: f64 = read.instrument(span("uptime")).await?;
            connection.close().await.map(|()| seconds)
        };
        let running = match timeout(ANSWER_TIMEOUT, answer).await {
            // A clock that was set back says nothing.
            Ok(Ok(seconds)) => Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
            // It is there, but is starting, or has no connection to spare.
            Ok(Err(sqlx::Error::Database(_))) => Duration::MAX,
            // This process cannot ask: it has no descriptors or no memory left.
            Ok(Err(sqlx::Error::Io(error))) if is_own(&error) => Duration::MAX,
            Ok(Err(_)) | Err(_) => Duration::ZERO,
        };
        Uptime { at: Instant::now(), running }
    }
}

/// Whether this machine failed, not the server: ENOMEM, ENFILE, EMFILE.
fn is_own(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(12 | 23 | 24))
}

/// Waits for a statement of either engine.
pub(super) async fn watch<T>(
    server: Option<Server>,
    statement: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    match server {
        Some(server) => server.watch(statement).await,
        None => statement.await,
    }
}

/// A connection that goes back to the pool when it is dropped; a transaction that is open then is
/// undone.
pub(crate) struct ServerConnection {
    /// None: it is on its way back.
    connection: Option<PoolConnection<Postgres>>,
    server: Server,
    open: bool,
}

impl ServerConnection {
    pub(super) fn server(&self) -> Server {
        self.server.clone()
    }

    /// Ends the transaction with `commit` or `rollback`.
    pub(super) async fn end(mut self, end: &'static str) -> sqlx::Result<()> {
        self.send(end).await?;
        self.open = false;
        Ok(())
    }

    async fn send(&mut self, sql: &'static str) -> sqlx::Result<()> {
        let server = self.server();
        let done = sqlx::raw_sql(sql).execute(&mut **self).instrument(span(sql));
        server.watch(done).await.map(drop)
    }
}

impl Deref for ServerConnection {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("it is given back only when it is dropped"),
        }
    }
}

impl DerefMut for ServerConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match &mut self.connection {
            Some(connection) => connection,
            None => unreachable!("it is given back only when it is dropped"),
        }
    }
}

impl Drop for ServerConnection {
    fn drop(&mut self) {
        let (Some(mut connection), open) = (self.connection.take(), self.open) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // The process is ending.
            drop(connection.leak());
            return;
        };
        let server = self.server();
        runtime.spawn(async move {
            let back = async {
                if open {
                    let undone = sqlx::raw_sql("rollback").execute(&mut *connection);
                    undone.instrument(span("rollback")).await?;
                }
                connection.return_to_pool().await;
                Ok::<_, sqlx::Error>(())
            };
            if server.watch(back).await.is_err() {
                connection.close_on_drop();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn a_server_that_began_anew_is_not_the_same() {
        let began = Instant::now();
        let asked = |running| Uptime { at: began + 2 * PROBE_INTERVAL, running };
        assert!(asked(2 * PROBE_INTERVAL).covers(began) && asked(Duration::MAX).covers(began));
        assert!(!asked(PROBE_INTERVAL).covers(began) && !asked(Duration::ZERO).covers(began));
    }

    /// A server with a pool of one; None without PostgreSQL.
    fn server(patience: Duration) -> Option<Server> {
        let url = std::env::var("CMS_TEST_DB").ok().filter(|url| !url.is_empty())?;
        let options = PgConnectOptions::from_str(&url).expect("an address");
        let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options.clone());
        let (asked, apart) = (Mutex::default(), Mutex::default());
        let sealed = AtomicBool::new(false);
        Some(Server(Arc::new(Parts { pool, sealed, options, patience, asked, apart })))
    }

    #[tokio::test]
    async fn many_who_ask_at_once_share_one_session_and_none_gets_an_older_answer() {
        let Some(server) = server(PROBE_INTERVAL) else { return };
        let pid = Statement::new("pid", "select cast(pg_backend_pid() as bigint), 0::bigint");
        let asked = || async { server.ask_apart(pid).await.expect("an answer").0 };
        let all = futures_util::future::join_all((0..16).map(|_| asked())).await;
        let sessions: std::collections::BTreeSet<_> = all.iter().collect();
        // The session of the first call, and one for all that waited for it.
        assert_eq!(sessions.len(), 2, "{all:?}");
        assert!(!all.contains(&asked().await));
    }

    #[tokio::test]
    async fn a_long_statement_goes_on_as_long_as_the_server_is_there() {
        let Some(server) = server(Duration::from_millis(20)) else { return };
        let mut held = server.connection().await.expect("a connection");
        let statement = async {
            let mut asked = false;
            for _ in 0..500 {
                // Once more after the answer: the statement has gone on.
                sqlx::raw_sql("select pg_sleep(0.03)").execute(&mut *held).await?;
                if asked {
                    break;
                }
                asked = server.0.asked.lock().await.is_some();
            }
            Ok::<_, sqlx::Error>(asked)
        };
        assert!(server.watch(statement).await.expect("it ends"), "nobody asked");
    }
}
