//! Rows of a table, one after the other, each as a line that both engines write alike.

use bytes::Bytes;
use data_encoding::HEXLOWER;
use futures_util::{TryStreamExt as _, stream::BoxStream};
use sqlx::{Decode, Row as _, Sqlite, TypeInfo as _, ValueRef as _, sqlite::SqliteRow};

use super::{
    cell::{self, Fault, NULL},
    table::Table,
};
use crate::{Error, Result, db::Kind};

/// What an engine sends.
pub(super) enum Rows<'c> {
    Sqlite(BoxStream<'c, sqlx::Result<SqliteRow>>),
    Postgres(BoxStream<'c, sqlx::Result<Bytes>>, Vec<u8>),
}

/// Reads rows. A PostgreSQL connection can be used again once all rows were read.
pub(super) struct Reader<'c> {
    pub(super) table: &'c Table,
    rows: Rows<'c>,
    /// The place of the last row among all, in an ordered table.
    rank: i64,
    /// The last row, without the end of its line.
    pub(super) line: Vec<u8>,
    /// The same row, with the `rowid` of this database.
    raw_line: Vec<u8>,
    /// What is wrong with the row, and in which column.
    pub(super) fault: Option<(usize, Fault)>,
}

impl<'c> Reader<'c> {
    /// `rank` rows stand before the first, in an ordered table.
    pub(super) fn new(table: &'c Table, rows: Rows<'c>, rank: i64) -> Self {
        Self { table, rows, rank, line: Vec::new(), raw_line: Vec::new(), fault: None }
    }

    /// Reads the next row; false when there is none.
    pub(super) async fn next(&mut self) -> Result<bool> {
        self.line.clear();
        self.fault = None;
        let told = |error: sqlx::Error| read_error(self.table, error);
        match &mut self.rows {
            Rows::Sqlite(rows) => {
                let Some(row) = rows.try_next().await.map_err(told)? else { return Ok(false) };
                for (at, column) in self.table.columns.iter().enumerate() {
                    if at > 0 {
                        self.line.push(b'\t');
                    }
                    let length = self.line.len();
                    if let Err(why) = sqlite_cell(&row, at, column.kind, &mut self.line)? {
                        self.line.truncate(length);
                        self.fault.get_or_insert((at, why));
                    }
                }
            }
            Rows::Postgres(parts, pending) => {
                // The server sends one row at a time, but this loop does not depend on that.
                let end = loop {
                    if let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                        break end;
                    }
                    match parts.try_next().await.map_err(told)? {
                        Some(part) => pending.extend_from_slice(&part),
                        None => return Ok(false),
                    }
                };
                self.fault = postgres_line(self.table, &pending[..end], &mut self.line);
                pending.drain(..=end);
            }
        }
        self.rank += 1;
        if self.table.is_ordered {
            self.raw_line.clone_from(&self.line);
            let rest = self.line.iter().position(|byte| *byte == b'\t').unwrap_or(self.line.len());
            self.line.splice(..rest, self.rank.to_string().into_bytes());
        }
        Ok(true)
    }

    /// The line with what this database keeps in an ordered table's first column.
    pub(super) fn raw_line(&self) -> &[u8] {
        if self.table.is_ordered { &self.raw_line } else { &self.line }
    }
}

fn read_error(table: &Table, error: sqlx::Error) -> Error {
    match error {
        // Such as text in a column that the engine takes for a number.
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            Error::internal(format!("{}: {error}", table.name))
        }
        other => other.into(),
    }
}

/// Appends a value of SQLite. The outer error is one of the driver.
fn sqlite_cell(
    row: &SqliteRow,
    at: usize,
    kind: Kind,
    line: &mut Vec<u8>,
) -> Result<Result<(), Fault>> {
    let value = row.try_get_raw(at)?;
    if value.is_null() {
        line.extend(NULL);
        return Ok(Ok(()));
    }
    let class = value.type_info().name().bytes().next();
    let decode = |error| Error::from(sqlx::Error::Decode(error));
    match class {
        Some(b'I') => {
            let number = <i64 as Decode<Sqlite>>::decode(value).map_err(decode)?;
            Ok(integer(number, kind, line))
        }
        Some(b'R') => {
            let number = <f64 as Decode<Sqlite>>::decode(value).map_err(decode)?;
            Ok(real(number, kind).map(|text| line.extend(text.as_bytes())))
        }
        Some(b'T') => {
            let bytes = <&[u8] as Decode<Sqlite>>::decode(value).map_err(decode)?;
            Ok(text(bytes, kind, line))
        }
        _ if kind == Kind::Binary => {
            let bytes = <&[u8] as Decode<Sqlite>>::decode(value).map_err(decode)?;
            line.extend(b"\\\\x");
            line.extend(HEXLOWER.encode(bytes).as_bytes());
            Ok(Ok(()))
        }
        _ => Ok(Err("holds bytes, which its type is not for")),
    }
}

fn integer(number: i64, kind: Kind, line: &mut Vec<u8>) -> Result<(), Fault> {
    match (kind, number) {
        (Kind::Integer, _) => line.extend(number.to_string().as_bytes()),
        (Kind::Boolean, 0) => line.push(b'f'),
        (Kind::Boolean, 1) => line.push(b't'),
        (Kind::Boolean, _) => return Err("is a number other than 0 and 1"),
        (Kind::Decimal | Kind::Double, _) => line.extend(real(number as f64, kind)?.as_bytes()),
        _ => return Err("holds a number, which its type is not for"),
    }
    Ok(())
}

fn real(number: f64, kind: Kind) -> Result<String, Fault> {
    match kind {
        Kind::Double => cell::double(number),
        Kind::Decimal => cell::decimal(&cell::double(number)?),
        _ => Err("holds a number with a fraction, which its type is not for"),
    }
}

fn text(bytes: &[u8], kind: Kind, line: &mut Vec<u8>) -> Result<(), Fault> {
    let text = cell::text(bytes)?;
    match kind {
        Kind::Text | Kind::Password => {}
        Kind::Json => cell::json(text)?,
        Kind::Date | Kind::Time | Kind::DateTime if cell::canonical(kind, text)? == text => {}
        Kind::Date | Kind::Time | Kind::DateTime => {
            return Err("is not spelled as the service spells it");
        }
        _ => return Err("holds text, which its type is not for"),
    }
    cell::escape(bytes, line);
    Ok(())
}

/// Appends a line of PostgreSQL, each value in its canonical form. Returns what is wrong.
fn postgres_line(table: &Table, raw: &[u8], line: &mut Vec<u8>) -> Option<(usize, Fault)> {
    if !table.columns.iter().any(|column| cell::is_spelled(column.kind)) {
        line.extend(raw);
        return None;
    }
    let mut fault = None;
    for (at, (value, column)) in cell::cells(raw).zip(&table.columns).enumerate() {
        if at > 0 {
            line.push(b'\t');
        }
        if value == NULL || !cell::is_spelled(column.kind) {
            line.extend(value);
            continue;
        }
        // Digits and signs: nothing is escaped in them.
        let text = std::str::from_utf8(value).map_err(|_| "is not UTF-8 text");
        match text.and_then(|text| cell::canonical(column.kind, text)) {
            Ok(text) => line.extend(text.as_bytes()),
            Err(why) => {
                fault.get_or_insert((at, why));
            }
        }
    }
    fault
}
