//! Values bound to statements and read from rows, the same for both engines.

#[cfg(feature = "postgres")]
use sqlx::postgres::{PgRow, Postgres};
#[cfg(feature = "sqlite")]
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{Arguments, Database, Decode, Encode, Row as _, Type};

use crate::{Code, Error, Result};

/// A value bound to `$n`. Nulls have a type, because PostgreSQL needs it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// BIGINT.
    Int(Option<i64>),
    /// TEXT.
    Text(Option<String>),
    /// BOOLEAN.
    Bool(Option<bool>),
    /// DOUBLE PRECISION.
    Real(Option<f64>),
    /// BYTEA, BLOB.
    Bytes(Option<Vec<u8>>),
}

macro_rules! from {
    ($($variant:ident: $plain:ty => $convert:expr),* $(,)?) => {$(
        impl From<$plain> for Value {
            fn from(value: $plain) -> Self { Value::$variant(Some($convert(value))) }
        }
        impl From<Option<$plain>> for Value {
            fn from(value: Option<$plain>) -> Self { Value::$variant(value.map($convert)) }
        }
    )*};
}
from! {
    Int: i64 => |v| v,
    Int: i32 => i64::from,
    Text: String => |v| v,
    Text: &str => |v: &str| v.to_owned(),
    Bool: bool => |v| v,
    Real: f64 => |v| v,
    Bytes: Vec<u8> => |v| v,
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Value::Text(Some(value.clone()))
    }
}

/// `args![id, "name", None::<i64>]`: the values of `$1`, `$2`, `$3`.
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::db::Value::from($value)),*] };
}
pub(crate) use args;

/// Binds `values` in their order for the engine `D`.
pub(super) fn bind<D: Database>(values: Vec<Value>) -> Result<D::Arguments>
where
    Option<i64>: for<'q> Encode<'q, D> + Type<D>,
    Option<String>: for<'q> Encode<'q, D> + Type<D>,
    Option<bool>: for<'q> Encode<'q, D> + Type<D>,
    Option<f64>: for<'q> Encode<'q, D> + Type<D>,
    Option<Vec<u8>>: for<'q> Encode<'q, D> + Type<D>,
{
    let mut arguments = D::Arguments::default();
    for value in values {
        // PostgreSQL has no such text, and both engines answer alike. Callers who can name the
        // field refuse it before.
        if matches!(&value, Value::Text(Some(text)) if text.contains('\0')) {
            let detail = "Text cannot hold the character U+0000. Nothing was changed.";
            return Err(Error::new(Code::ValidationFailed, detail));
        }
        match value {
            Value::Int(v) => arguments.add(v),
            Value::Text(v) => arguments.add(v),
            Value::Bool(v) => arguments.add(v),
            Value::Real(v) => arguments.add(v),
            Value::Bytes(v) => arguments.add(v),
        }
        .map_err(Error::internal)?;
    }
    Ok(arguments)
}

/// A row of a result on either engine.
pub struct Row(EngineRow);

enum EngineRow {
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteRow),
    #[cfg(feature = "postgres")]
    Postgres(PgRow),
}

impl Row {
    #[cfg(feature = "sqlite")]
    pub(super) fn sqlite(row: SqliteRow) -> Self {
        Self(EngineRow::Sqlite(row))
    }

    #[cfg(feature = "postgres")]
    pub(super) fn postgres(row: PgRow) -> Self {
        Self(EngineRow::Postgres(row))
    }

    /// Its columns from left to right.
    pub(super) fn columns(&self) -> Columns<'_> {
        Columns { row: self, next: 0 }
    }

    /// How many columns it has.
    pub(super) fn len(&self) -> usize {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            EngineRow::Sqlite(row) => row.len(),
            #[cfg(feature = "postgres")]
            EngineRow::Postgres(row) => row.len(),
        }
    }

    /// The value of column `index`, counted from 0.
    ///
    /// # Errors
    /// `internal_error` when the column is missing or of another type.
    pub fn get<T: Field>(&self, index: usize) -> Result<T> {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            EngineRow::Sqlite(row) => T::from_sqlite(row, index),
            #[cfg(feature = "postgres")]
            EngineRow::Postgres(row) => T::from_postgres(row, index),
        }
        .map_err(Error::internal)
    }
}

/// The columns of a row, read from left to right.
pub(crate) struct Columns<'r> {
    row: &'r Row,
    next: usize,
}

impl Columns<'_> {
    /// The next column.
    pub(crate) fn next<T: Field>(&mut self) -> Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }

    /// Whether exactly all columns were read.
    pub(super) fn is_done(&self) -> bool {
        self.next == self.row.len()
    }
}

/// A Rust type that both engines can return: whole numbers, floats, texts, truth values and bytes,
/// each also as an `Option`. No other type implements it.
pub trait Field: FromEngine {}

impl<T: FromEngine> Field for T {}

/// How each engine returns a [`Field`]. Its module is private, so only this file implements it.
mod sealed {
    #[cfg(feature = "postgres")]
    use sqlx::postgres::PgRow;
    #[cfg(feature = "sqlite")]
    use sqlx::sqlite::SqliteRow;

    /// A type that this file reads from a row.
    pub trait FromEngine: Sized {
        /// The value in a row of SQLite.
        #[cfg(feature = "sqlite")]
        fn from_sqlite(row: &SqliteRow, index: usize) -> Result<Self, sqlx::Error>;
        /// The value in a row of PostgreSQL.
        #[cfg(feature = "postgres")]
        fn from_postgres(row: &PgRow, index: usize) -> Result<Self, sqlx::Error>;
    }
}
use sealed::FromEngine;

fn read<'r, D: Database, T: Decode<'r, D> + Type<D>>(
    row: &'r D::Row,
    index: usize,
) -> Result<T, sqlx::Error>
where
    usize: sqlx::ColumnIndex<D::Row>,
{
    row.try_get(index)
}

macro_rules! fields {
    ($($t:ty),*) => {$(
        impl FromEngine for $t {
            #[cfg(feature = "sqlite")]
            fn from_sqlite(row: &SqliteRow, index: usize) -> Result<Self, sqlx::Error> {
                read::<Sqlite, $t>(row, index)
            }
            #[cfg(feature = "postgres")]
            fn from_postgres(row: &PgRow, index: usize) -> Result<Self, sqlx::Error> {
                read::<Postgres, $t>(row, index)
            }
        }
    )*};
}
fields!(i64, String, bool, f64);
fields!(Option<i64>, Option<String>, Option<bool>, Option<f64>, Option<Vec<u8>>);

impl FromEngine for Vec<u8> {
    #[cfg(feature = "sqlite")]
    fn from_sqlite(row: &SqliteRow, index: usize) -> Result<Self, sqlx::Error> {
        // The driver would read null as no bytes.
        let bytes: Option<Self> = read::<Sqlite, _>(row, index)?;
        bytes.ok_or_else(|| sqlx::Error::ColumnDecode {
            index: index.to_string(),
            source: sqlx::error::UnexpectedNullError.into(),
        })
    }
    #[cfg(feature = "postgres")]
    fn from_postgres(row: &PgRow, index: usize) -> Result<Self, sqlx::Error> {
        read::<Postgres, Self>(row, index)
    }
}

/// Text of rows that others wrote. SQLite does not check that text is UTF-8: what is not becomes
/// U+FFFD, so that one value does not hide a whole table.
#[derive(Default)]
pub(crate) struct Lossy(pub(crate) String);

impl FromEngine for Option<Lossy> {
    #[cfg(feature = "sqlite")]
    fn from_sqlite(row: &SqliteRow, index: usize) -> Result<Self, sqlx::Error> {
        let bytes: Option<Vec<u8>> = read::<Sqlite, _>(row, index)?;
        let text = |bytes| {
            String::from_utf8(bytes)
                .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
        };
        Ok(bytes.map(|bytes| Lossy(text(bytes))))
    }
    #[cfg(feature = "postgres")]
    fn from_postgres(row: &PgRow, index: usize) -> Result<Self, sqlx::Error> {
        Ok(read::<Postgres, Option<String>>(row, index)?.map(Lossy))
    }
}

/// A value read from one row, columns in order.
pub trait FromRow: Sized {
    /// Reads the row.
    fn from_row(row: &Row) -> Result<Self>;
}

macro_rules! tuples {
    ($(($($t:ident $i:tt),+))*) => {$(
        impl<$($t: Field),+> FromRow for ($($t,)+) {
            fn from_row(row: &Row) -> Result<Self> { Ok(($(row.get::<$t>($i)?,)+)) }
        }
    )*};
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
}
