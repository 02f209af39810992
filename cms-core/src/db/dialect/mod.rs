//! How the engines differ. Outside this folder one SQL text serves both, or a room has a
//! [`PerEngine`] of two. The file is long because the small differences stand side by side; large
//! ones have files of their own.

mod content;
mod json;
mod schema;
mod steps;
mod text;

use data_encoding::HEXLOWER;

pub(crate) use text::Token;

use self::text::Part;
use super::{Statement, Value};

/// The engine behind a [`super::Db`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// SQLite 3.51, bundled.
    Sqlite,
    /// PostgreSQL 13 or later.
    Postgres,
}

/// The behaviour of a column: its JSON, the values it accepts, its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A whole number of 64 bits.
    Integer,
    /// A decimal number; exact to 15 digits on both engines.
    Decimal,
    /// A binary floating-point number (IEEE 754 double).
    Double,
    /// true or false.
    Boolean,
    /// Text, compared by code point.
    Text,
    /// A day: `2026-11-21`.
    Date,
    /// A time of day: `09:30:00`.
    Time,
    /// An instant: `2026-11-21T09:30:00Z`.
    DateTime,
    /// Any JSON value.
    Json,
    /// Bytes, base64 in JSON.
    Binary,
    /// Text that is encrypted when stored and never read back.
    Password,
}

/// A column, as far as SQL depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Col<'a> {
    /// Its name, as in the database.
    pub(crate) name: &'a str,
    /// Its behaviour.
    pub(crate) kind: Kind,
    /// The engine's name of its type, for casts; empty where none is needed.
    pub(crate) native: &'a str,
    /// Whether the service created the table, so that the stored form is known. Adopted SQLite
    /// columns may hold anything.
    pub(crate) own: bool,
}

/// A value for each engine, such as two SQL texts. It stands in the room whose tables it names;
/// [`Dialect::of`] chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerEngine<T> {
    pub(crate) sqlite: T,
    pub(crate) postgres: T,
}

/// PostgreSQL's `character(n)`: values are padded with blanks, which comparisons ignore.
const PADDED: &str = "bpchar";

/// A lock of this schema, by its number, on PostgreSQL. Sites in other schemas of the database have
/// locks of their own.
#[cfg(feature = "postgres")]
macro_rules! lock_of_schema {
    ($number:literal) => {
        concat!($number, " # (cast(hashtext(coalesce(current_schema(), '')) as bigint) << 32)")
    };
}
#[cfg(feature = "postgres")]
pub(crate) use lock_of_schema;

/// A quoted name, safe in any statement.
pub(crate) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Dialect {
    /// Takes the lock `$1` until the transaction ends. `None`: a writing transaction excludes all
    /// others anyway.
    pub(super) const fn lock(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("select pg_advisory_xact_lock($1)"),
        }
    }

    /// Takes the lock `$1` of this schema if it is free, until the connection ends.
    #[cfg(feature = "postgres")]
    pub(super) const TRY_LOCK: &str =
        concat!("select pg_try_advisory_lock(", lock_of_schema!("$1"), ")");

    /// Reads the clock of the database's machine, in milliseconds. `None`: it is this machine.
    pub(crate) const fn clock(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("select (extract(epoch from clock_timestamp()) * 1000)::bigint"),
        }
    }

    /// Whether the server is a standby, which only reads. `None`: there is no other server.
    pub(crate) const fn standby(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("select pg_is_in_recovery()"),
        }
    }

    /// How the database encodes texts, and how many connections it gives to this user at most.
    /// `None`: there is no server.
    pub(crate) const fn server(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some(
                "select current_setting('server_encoding'), cast(least(nullif(r.rolconnlimit, -1), \
                 nullif(d.datconnlimit, -1), cast(current_setting('max_connections') as integer) - \
                 cast(current_setting('superuser_reserved_connections') as integer)) as bigint) \
                 from pg_roles r, pg_database d where r.rolname = session_user \
                 and d.datname = current_database()",
            ),
        }
    }

    /// Searches the whole database for damage; `ok` when there is none. `None`: the server does
    /// that by itself.
    pub(crate) const fn damage(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => Some("pragma quick_check(1)"),
            Self::Postgres => None,
        }
    }

    /// As [`Dialect::lock`], but waits without a limit. Later waits of the transaction have the
    /// limit of its connection again.
    pub(super) const fn lock_patiently(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some(
                "select set_config('lock_timeout', '0', true), pg_advisory_xact_lock($1), \
                 set_config('lock_timeout', (select reset_val from pg_settings where name = \
                 'lock_timeout'), true)",
            ),
        }
    }

    /// As [`Dialect::lock`], but refuses after `$2` milliseconds. Every later wait of the
    /// transaction has the same limit; 0 means no limit.
    pub(super) const fn lock_within(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some(
                "select set_config('lock_timeout', cast(cast($2 as bigint) as text), true), \
                 pg_advisory_xact_lock($1)",
            ),
        }
    }

    /// The text that keeps the rows it reads unchanged until the transaction ends: `locking`,
    /// which reads the same and shares locks, where the engine needs locks; else `plain`.
    pub(crate) const fn keeping(self, plain: Statement, locking: Statement) -> Statement {
        match self {
            Self::Sqlite => plain,
            Self::Postgres => locking,
        }
    }

    /// Makes the engine search by key until the transaction ends. PostgreSQL would otherwise plan
    /// statements with this many arguments anew each time, which takes longer than reading a few
    /// rows, or keep a plan that scans a table because it was small at that time.
    pub(crate) const fn search_by_key(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some(
                "select set_config('plan_cache_mode', 'force_generic_plan', true), \
                 set_config('enable_seqscan', 'off', true), \
                 set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', \
                 'off', true), set_config('jit', 'off', true)",
            ),
        }
    }

    /// Lets the transaction wait a minute for something that is not the database.
    pub(crate) const fn extend_idle_timeout(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("set local idle_in_transaction_session_timeout = '60s'"),
        }
    }

    /// Limits each later wait of the transaction to what a task may wait for itself. Shorter than
    /// `database.idle_in_transaction_s` by default, so that the waiter is refused, and not the
    /// change that lies idle. Ends when the change locks the schema.
    pub(crate) const fn shorten_lock_timeout(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("set local lock_timeout = '3s'"),
        }
    }

    /// Whether a statement outside of a change may write: it commits by itself.
    pub(crate) const fn writes_alone(self) -> bool {
        matches!(self, Self::Postgres)
    }

    /// Wakes other processes at the commit. SQLite's file wakes them.
    pub(crate) const fn notify(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some(crate::db::follow::sql::NOTIFY),
        }
    }

    /// The one of two that is for this engine.
    pub(crate) const fn of<T: Copy>(self, both: &PerEngine<T>) -> T {
        match self {
            Self::Sqlite => both.sqlite,
            Self::Postgres => both.postgres,
        }
    }

    /// Fills the tokens of a migration. Quotes and comments stay as they are.
    pub(crate) fn fill(self, sql: &str) -> String {
        let parts = self.parts(sql).into_iter();
        let parts = parts.map(|part| match part {
            Part::Code(code) => self.filled(code),
            Part::Quoted(text) | Part::Comment(text) => text.to_owned(),
        });
        parts.collect()
    }

    fn filled(self, code: &str) -> String {
        let (tokens, statements) = match self {
            Self::Sqlite => (
                [
                    ("{{id}}", "INTEGER PRIMARY KEY AUTOINCREMENT"),
                    ("{{bytes}}", "BLOB"),
                    ("{{json}}", "TEXT"),
                    ("{{false}}", "0"),
                    ("{{true}}", "1"),
                    ("{{strict}}", "STRICT"),
                    ("{{binary}}", ""),
                    ("{{half_full}}", ""),
                ],
                cms_migrations::SQLITE,
            ),
            Self::Postgres => (
                [
                    ("{{id}}", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"),
                    ("{{bytes}}", "BYTEA"),
                    ("{{json}}", "JSON"),
                    ("{{false}}", "FALSE"),
                    ("{{true}}", "TRUE"),
                    ("{{strict}}", ""),
                    ("{{binary}}", "COLLATE \"C\""),
                    ("{{half_full}}", "WITH (fillfactor = 50)"),
                ],
                cms_migrations::POSTGRES,
            ),
        };
        let tokens = tokens.iter().chain(&statements);
        let code = tokens.fold(code.to_owned(), |code, (token, text)| code.replace(token, text));
        match self {
            // STRICT tables allow only INTEGER, REAL, TEXT and BLOB.
            Self::Sqlite => code
                .replace("BIGINT", "INTEGER")
                .replace("BOOLEAN", "INTEGER")
                .replace("DOUBLE PRECISION", "REAL"),
            Self::Postgres => code,
        }
    }

    /// Locks the rows read until the transaction ends. Rows that refer to them may be written
    /// meanwhile; a delete, or a change of the key, excludes such writes by itself.
    pub(crate) fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " for no key update of t",
        }
    }

    /// The name of the updated row in `returning`, after `update {source} as t`.
    pub(crate) fn updated(self, source: &str) -> &str {
        match self {
            Self::Sqlite => source,
            Self::Postgres => "t",
        }
    }

    /// The expression by which a column is compared and sorted.
    pub(crate) fn compared(self, of: &str, col: Col) -> String {
        let c = format!("{of}.{}", quote(col.name));
        match (self, col.kind) {
            // Own columns compare so anyway, and SQLite finds more uses of an index without it.
            (Self::Sqlite, Kind::Text | Kind::Json | Kind::Password) if !col.own => {
                format!("{c} collate binary")
            }
            (Self::Sqlite, Kind::Date) if !col.own => format!("substr({c}, 1, 10)"),
            // Bytes are no instant.
            (Self::Sqlite, Kind::DateTime) if !col.own => {
                format!("case when typeof({c}) <> 'blob' then {} end", json::sqlite_instant(&c))
            }
            (Self::Sqlite, Kind::Boolean) if !col.own => json::sqlite_boolean(&c),
            (Self::Postgres, Kind::Json) if col.native.ends_with("[]") => {
                format!("cast(to_json({c}) as text) collate \"C\"")
            }
            // Compares the digits that are shown: 0.1 in four bytes differs from 0.1 in eight.
            (Self::Postgres, Kind::Double) if col.native == "real" => {
                format!("cast(cast({c} as text) as double precision)")
            }
            (Self::Postgres, Kind::Text | Kind::Json | Kind::Password) => {
                format!("cast({c} as text) collate \"C\"")
            }
            _ => c,
        }
    }

    /// Whether [`Dialect::compared`] is null only for null: SQLite may hold text or bytes that are
    /// no instant.
    pub(crate) fn always_compared(self, col: Col) -> bool {
        self != Self::Sqlite || col.own || col.kind != Kind::DateTime
    }

    /// The expression of parameter `n` for a comparison with `col`.
    pub(crate) fn parameter(self, n: usize, col: Col) -> String {
        match (self, col.kind) {
            (Self::Sqlite, Kind::Binary) => format!("unhex(${n})"),
            (Self::Postgres, Kind::Binary) => format!("decode(${n}, 'hex')"),
            (Self::Postgres, Kind::Text) if col.native == PADDED => format!("rtrim(${n}, ' ')"),
            (Self::Postgres, Kind::Json) if col.native == "jsonb" => {
                format!("cast(cast(${n} as jsonb) as text)")
            }
            (Self::Postgres, Kind::Text | Kind::Json | Kind::Password) | (Self::Sqlite, _) => {
                format!("${n}")
            }
            // The widest type: a number that does not fit into a smallint is not in the table, and
            // that is no error.
            (Self::Postgres, Kind::Integer) => format!("cast(${n} as bigint)"),
            (Self::Postgres, Kind::Double) => format!("cast(${n} as double precision)"),
            (Self::Postgres, _) => format!("cast(${n} as {})", col.native),
        }
    }

    /// A condition that lets the engine use the key's index: the plain column equals parameter `n`.
    /// It stands beside the comparison of [`Dialect::compared`] and adds no meaning. Only
    /// PostgreSQL's text columns need it, because their index does not hold the compared form.
    pub(crate) fn indexed(
        self,
        of: &str,
        col: Col,
        n: usize,
        value: &serde_json::Value,
    ) -> Option<String> {
        let cast = match (self, col.kind, col.native) {
            (Self::Postgres, Kind::Text, "") => format!("${n}"),
            (Self::Postgres, Kind::Text, PADDED) => format!("cast(${n} as {PADDED})"),
            (Self::Postgres, Kind::Text, "uuid") => {
                // A row's text is always spelled so; the cast might refuse another spelling.
                let canonical = value.as_str().is_some_and(|text| {
                    uuid::Uuid::try_parse(text).is_ok_and(|id| id.to_string() == text)
                });
                if !canonical {
                    return Some("1 = 0".to_owned());
                }
                format!("cast(${n} as uuid)")
            }
            _ => return None,
        };
        Some(format!("{of}.{} = {cast}", quote(col.name)))
    }

    /// Binds a value, checked and written as [`crate::items`] does, for a comparison with `col`.
    pub(crate) fn comparable(self, col: Col, value: &serde_json::Value) -> Value {
        use serde_json::Value as Json;
        let text = match value {
            Json::Null => return Value::Text(None),
            Json::String(text) => text.clone(),
            // From a cursor of an adopted table, whose columns may hold numbers, whatever their
            // type.
            Json::Number(n) if self == Self::Sqlite => {
                return n.as_i64().map_or_else(|| Value::Real(n.as_f64()), |n| Value::Int(Some(n)));
            }
            // From a cursor too: bytes, or the sign of an infinite number.
            Json::Array(parts) if self == Self::Sqlite => {
                if let Some(sign) = parts.first().and_then(Json::as_f64) {
                    return Value::Real(Some(sign * f64::INFINITY));
                }
                let hex = parts.first().and_then(Json::as_str).unwrap_or_default();
                return Value::Bytes(HEXLOWER.decode(hex.as_bytes()).ok());
            }
            other => other.to_string(),
        };
        match (self, col.kind) {
            (Self::Sqlite, Kind::Integer) => {
                text.parse().map_or(Value::Text(Some(text)), |n: i64| Value::Int(Some(n)))
            }
            (Self::Sqlite, Kind::Decimal | Kind::Double) => {
                match (text.parse::<i64>(), text.parse::<f64>()) {
                    (Ok(n), _) => Value::Int(Some(n)),
                    (_, Ok(n)) => Value::Real(Some(n)),
                    _ => Value::Text(Some(text)),
                }
            }
            (Self::Sqlite, Kind::Boolean) => {
                Value::Int(Some(i64::from(text == "true" || text == "1")))
            }
            (Self::Sqlite, Kind::DateTime) if !col.own => {
                Value::Text(Some(text.trim_end_matches('Z').to_owned()))
            }
            (Self::Sqlite, Kind::DateTime) => Value::Text(Some(with_millis(&text))),
            _ => Value::Text(Some(text)),
        }
    }

    /// Whether the expression `haystack` contains `$n`, ignoring ASCII case.
    pub(crate) fn contains(self, haystack: &str, n: usize) -> String {
        match self {
            Self::Sqlite => format!("instr(lower({haystack}), lower(${n})) > 0"),
            Self::Postgres => format!("strpos(lower({haystack}), lower(${n} collate \"C\")) > 0"),
        }
    }

    /// Whether the expression `haystack` contains `$n` as it is written.
    pub(crate) fn holds(self, haystack: &str, n: usize) -> String {
        match self {
            Self::Sqlite => format!("instr({haystack}, ${n}) > 0"),
            Self::Postgres => format!("strpos({haystack}, ${n}) > 0"),
        }
    }

    /// Value `index` of the JSON array in `$1`, as the column stores it.
    pub(crate) fn input(self, index: usize, col: Col) -> String {
        match (self, col.kind) {
            (Self::Sqlite, Kind::Binary) => format!("unhex($1 ->> {index})"),
            (Self::Sqlite, _) => format!("$1 ->> {index}"),
            (Self::Postgres, Kind::Binary) => {
                format!("decode(cast($1 as json) ->> {index}, 'hex')")
            }
            (Self::Postgres, Kind::Json) if col.native.ends_with("[]") => format!(
                "(select r.v from json_to_record(json_build_object('v', cast(cast($1 as json) ->> \
                 {index} as json))) as r(v {}))",
                col.native
            ),
            (Self::Postgres, _) if col.native.is_empty() => format!("cast($1 as json) ->> {index}"),
            (Self::Postgres, _) => format!("cast(cast($1 as json) ->> {index} as {})", col.native),
        }
    }

    /// A checked value in the form that this engine stores.
    pub(crate) fn stored(self, col: Col, value: serde_json::Value) -> serde_json::Value {
        match (self, col.kind, value) {
            (Self::Sqlite, Kind::DateTime, serde_json::Value::String(text)) if col.own => {
                with_millis(&text).into()
            }
            (Self::Sqlite, Kind::DateTime, serde_json::Value::String(text)) => {
                text.trim_end_matches('Z').replacen('T', " ", 1).into()
            }
            (_, _, value) => value,
        }
    }
}

/// `2026-11-21T09:30:00.250Z`: of one width, so that text order is time order.
fn with_millis(instant: &str) -> String {
    let bare = instant.trim_end_matches('Z');
    let (seconds, fraction) = bare.split_once('.').unwrap_or((bare, ""));
    format!("{seconds}.{:0<3.3}Z", fraction)
}
