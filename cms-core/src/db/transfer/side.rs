//! One of the two databases of a copy: a connection of its own, which reads and writes rows.

use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use sqlx::{
    Arguments as _, AssertSqlSafe, Connection as _, PgConnection, SqliteConnection,
    sqlite::{SqliteArguments, SqliteSynchronous},
};
use tracing::Instrument as _;

use super::{
    cell,
    reader::{Reader, Rows},
    table::{Range, Table},
};
use crate::{
    Code, Error, Result,
    db::{
        Dialect, Fault, FromRow, Kind, Row,
        dialect::quote,
        save::{postgres, sqlite as file},
        sqlite,
        statements::span,
    },
    settings::Database,
};

/// How long the copy waits for writers of the source before its read-only step.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_TRY: Duration = Duration::from_millis(400);
/// Most values and most rows of one statement of SQLite: longer statements are no faster.
const MOST_VALUES: usize = 30_000;
const MOST_ROWS: usize = 250;
/// Bytes that COPY sends at once.
const PART: usize = 256 << 10;

/// Rows that SQLite reads ahead; fewer of tables with bytes, whose rows may be large.
const AHEAD: usize = 100;
const AHEAD_WIDE: usize = 2;

/// A connection to one of the two databases.
pub(super) enum Side {
    /// The second connection reads tables with bytes.
    Sqlite(SqliteConnection, SqliteConnection),
    Postgres(PgConnection),
}

impl Side {
    /// Opens a database that is there.
    pub(super) async fn open(database: &Database) -> Result<Self> {
        match database {
            Database::Sqlite { path, .. } => {
                // Only the end of a copy waits for the disk; a batch that is lost before is
                // copied again.
                let options = sqlite::options(path)
                    .create_if_missing(false)
                    .foreign_keys(false)
                    .synchronous(SqliteSynchronous::Normal)
                    .busy_timeout(LOCK_TIMEOUT)
                    .pragma("cache_size", "-32768");
                let narrow = sqlite::connect(&options.clone().row_buffer_size(AHEAD)).await?;
                let wide = sqlite::connect(&options.row_buffer_size(AHEAD_WIDE)).await?;
                Ok(Self::Sqlite(narrow, wide))
            }
            Database::Postgres { url, .. } => {
                postgres::session(url.expose()).await.map(Self::Postgres)
            }
        }
    }

    pub(super) async fn close(self) {
        match self {
            Self::Sqlite(narrow, wide) => {
                let _ = wide.close().await;
                let _ = narrow.close().await;
            }
            Self::Postgres(connection) => postgres::close(connection).await,
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(..) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Names of the tables, without views.
    pub(super) async fn tables(&mut self) -> Result<Vec<String>> {
        match self {
            Self::Sqlite(connection, _) => file::tables(connection).await,
            Self::Postgres(connection) => {
                let tables = postgres::tables(connection).await?;
                Ok(tables.into_iter().map(|table| table.name).collect())
            }
        }
    }

    /// Runs statements without values.
    pub(super) async fn run(&mut self, text: impl Into<String>) -> Result<()> {
        match self {
            Self::Sqlite(connection, _) => {
                let done = sqlx::raw_sql(AssertSqlSafe(text.into())).execute(connection);
                Ok(done.instrument(span("composed")).await.map(drop)?)
            }
            Self::Postgres(connection) => postgres::run(connection, text).await,
        }
    }

    /// All rows of a query without values.
    pub(super) async fn all<T: FromRow>(&mut self, text: impl Into<String>) -> Result<Vec<T>> {
        let text = AssertSqlSafe(text.into());
        let rows: Vec<Row> = match self {
            Self::Sqlite(connection, _) => {
                let rows = sqlx::query(text).fetch_all(connection).instrument(span("composed"));
                rows.await?.into_iter().map(Row::sqlite).collect()
            }
            Self::Postgres(connection) => {
                let rows = sqlx::query(text).fetch_all(connection).instrument(span("composed"));
                rows.await?.into_iter().map(Row::postgres).collect()
            }
        };
        rows.iter().map(T::from_row).collect()
    }

    /// Reads the rows of a range. `rank` rows stand before it, in an ordered table.
    pub(super) async fn read<'c>(
        &'c mut self,
        table: &'c Table,
        range: Range<'_>,
        rank: i64,
    ) -> Result<Reader<'c>> {
        let text = table.select(self.dialect(), range);
        let rows = match self {
            Self::Sqlite(narrow, wide) => {
                // While `narrow` keeps the lock, `wide` sees the same rows.
                let connection = if table.is_wide() { wide } else { narrow };
                Rows::Sqlite(sqlx::query(AssertSqlSafe(text)).fetch(connection))
            }
            Self::Postgres(connection) => {
                let text = format!("copy ({text}) to stdout");
                let rows = connection.copy_out_raw(&text).instrument(span("copy")).await?;
                Rows::Postgres(rows, Vec::new())
            }
        };
        Ok(Reader::new(table, rows, rank))
    }

    /// Keeps everybody from writing to these tables until [`Side::release`].
    pub(super) async fn lock(&mut self, tables: &[Table]) -> Result<()> {
        if self.dialect() == Dialect::Sqlite {
            return self.run("begin immediate").await;
        }
        let names: Vec<_> = tables.iter().map(|table| quote(&table.name)).collect();
        let (ms, names) = (LOCK_TRY.as_millis(), names.join(", "));
        let (began, mut locked) = (Instant::now(), Ok(()));
        // Give up before PostgreSQL looks for deadlocks: it might choose a writer as the victim.
        while began.elapsed() < LOCK_TIMEOUT {
            self.run(format!("begin; set local lock_timeout = {ms}")).await?;
            locked = self.run(format!("lock table {names} in share mode")).await;
            match &locked {
                Err(error) if error.fault() == Some(Fault::Locked) => self.run("rollback").await?,
                _ => break,
            }
            tokio::time::sleep(LOCK_TRY).await;
        }
        locked
    }

    /// Lets others write again.
    pub(super) async fn release(&mut self) -> Result<()> {
        self.run("rollback").await
    }

    pub(super) async fn begin(&mut self) -> Result<()> {
        match self {
            Self::Sqlite(..) => self.run("begin immediate").await,
            Self::Postgres(_) => self.run("begin").await,
        }
    }

    pub(super) async fn commit(&mut self) -> Result<()> {
        self.run("commit").await
    }

    /// Inserts rows, given as lines of COPY.
    pub(super) async fn insert(&mut self, table: &Table, lines: &[u8]) -> Result<()> {
        let dialect = self.dialect();
        let inserted = match self {
            Self::Sqlite(connection, _) => insert(connection, table, lines).await,
            Self::Postgres(connection) => {
                let text =
                    format!("copy {} ({}) from stdin", quote(&table.name), table.column_list());
                let ranked = table.is_ordered.then(|| ranked(table, dialect, lines));
                copy(connection, &text, ranked.as_deref().unwrap_or(lines)).await
            }
        };
        inserted.map_err(|error| match error.database() {
            Some(sqlx::Error::Database(cause)) if error.code() == Code::Internal => {
                let mut why = cause.message().to_owned();
                if let Some(cause) = cause.try_downcast_ref::<sqlx::postgres::PgDatabaseError>() {
                    // The text names row and column, and may show the value, which is cut off.
                    let place = cause.r#where().and_then(|place| place.split(": ").next());
                    why = place.map_or(why.clone(), |place| format!("{why} ({place})"));
                }
                let what = format!("{}: the target refuses a row: {why}.", table.name);
                Error::new(Code::Conflict, what)
            }
            _ => error,
        })
    }
}

async fn copy(connection: &mut PgConnection, text: &str, lines: &[u8]) -> Result<()> {
    let mut copy = connection.copy_in_raw(text).instrument(span("copy")).await?;
    for part in lines.chunks(PART) {
        copy.send(part).await?;
    }
    copy.finish().await?;
    Ok(())
}

/// The lines, each rank replaced by the `rowid` that PostgreSQL stores.
fn ranked(table: &Table, dialect: Dialect, lines: &[u8]) -> Vec<u8> {
    let mut ranked = Vec::with_capacity(lines.len());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let end = line.iter().position(|byte| *byte == b'\t').unwrap_or(line.len());
        let (rank, rest) = line.split_at(end);
        let rank = std::str::from_utf8(rank).ok().and_then(|rank| rank.parse().ok());
        let rank = table.stored_rank(dialect, rank.unwrap_or_default());
        ranked.extend(rank.to_string().as_bytes());
        ranked.extend(rest);
    }
    ranked
}

/// Inserts several rows with one statement, because SQLite has no COPY.
async fn insert(connection: &mut SqliteConnection, table: &Table, lines: &[u8]) -> Result<()> {
    let width = table.columns.len().max(1);
    let most = (MOST_VALUES / width).clamp(1, MOST_ROWS);
    let lines = lines.split_inclusive(|byte| *byte == b'\n');
    let mut lines = lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line)).peekable();
    while lines.peek().is_some() {
        let (mut arguments, mut rows) = (SqliteArguments::default(), 0);
        for line in lines.by_ref().take(most) {
            for (value, column) in cell::cells(line).zip(&table.columns) {
                bind(&mut arguments, column.kind, value)?;
            }
            rows += 1;
        }
        let row = format!("({})", vec!["?"; width].join(", "));
        let text = format!(
            "insert into {} ({}) values {}",
            quote(&table.name),
            table.column_list(),
            vec![row.as_str(); rows].join(", ")
        );
        let query = sqlx::query_with(AssertSqlSafe(text), arguments);
        query.execute(&mut *connection).instrument(span("insert")).await?;
    }
    Ok(())
}

fn bind(arguments: &mut SqliteArguments, kind: Kind, value: &[u8]) -> Result<()> {
    let Some(value) = cell::unescape(value) else {
        return arguments.add(None::<i64>).map_err(Error::internal);
    };
    let text = std::str::from_utf8(&value).map_err(Error::internal)?;
    match kind {
        Kind::Integer => arguments.add(text.parse::<i64>().map_err(Error::internal)?),
        Kind::Boolean => arguments.add(i64::from(text == "t")),
        Kind::Decimal | Kind::Double => {
            arguments.add(text.parse::<f64>().map_err(Error::internal)?)
        }
        Kind::Binary => {
            let hex = text.strip_prefix("\\x").unwrap_or(text);
            arguments.add(HEXLOWER.decode(hex.as_bytes()).map_err(Error::internal)?)
        }
        _ => arguments.add(text.to_owned()),
    }
    .map_err(Error::internal)
}
