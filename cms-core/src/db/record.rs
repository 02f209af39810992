//! One declaration for a select list and for the struct that is read from it.
//!
//! ```text
//! record! { Origin: origin_columns {
//!     id: "id",
//!     created_at: "created_at" => read::time,
//! } }
//! statements! { GET = concat!("select ", origin_columns!(), " from origins where id = $1"); }
//! ```
//!
//! `origin_columns!()` is the list as a literal. The struct is read in the same order, so no field
//! can read another field's column. A field takes one column, several columns joined by `+`, or the
//! whole list of another record in parentheses. `=>` names the function that turns the values into
//! the field. A column in brackets is an expression that makes its text. Fields after `;` come from
//! no column and may use the fields before them.
//!
//! With `struct` before the name and the type of each field, the struct is declared too:
//! `record! { pub(super) struct Origin: origin_columns { id: i64 = "id" } }`.

use super::{Columns, Row};
use crate::{Error, Result};

/// A struct declared by [`record!`].
pub(crate) trait Record: Sized {
    /// Reads the columns of its list.
    fn read(columns: &mut Columns<'_>) -> Result<Self>;

    /// Reads a row of exactly these columns. More columns mean that another list was selected.
    fn of_row(row: &Row) -> Result<Self> {
        let mut columns = row.columns();
        let record = Self::read(&mut columns)?;
        if columns.is_done() {
            Ok(record)
        } else {
            Err(Error::internal("a row has other columns than its record"))
        }
    }
}

/// Calls `read`: through this function the compiler infers its types from the field.
pub(crate) fn field<V, T>(values: V, read: impl FnOnce(V) -> Result<T>) -> Result<T> {
    read(values)
}

macro_rules! record {
    // The text of one column, or of the columns of another record.
    (@text ($list:ident)) => { $list!() };
    (@text $column:literal) => { $column };
    (@text [$text:expr]) => { $text };
    (@list $first:tt $($rest:tt)*) => {
        concat!(
            $crate::db::record!(@text $first)
            $(, ", ", $crate::db::record!(@text $rest))*
        )
    };
    // The value of one field.
    (@read $columns:ident ($list:ident)) => { $crate::db::Record::read($columns)? };
    (@read $columns:ident $column:literal) => { $columns.next()? };
    (@read $columns:ident [$text:expr]) => { $columns.next()? };
    (@read $columns:ident [$text:expr] => $read:expr) => {
        $crate::db::field($columns.next()?, $read)?
    };
    (@read $columns:ident $column:literal => $read:expr) => {
        $crate::db::field($columns.next()?, $read)?
    };
    (@read $columns:ident $first:literal $($more:literal)+ => $read:expr) => {
        $crate::db::field(
            ($crate::db::record!(@read $columns $first),
             $($crate::db::record!(@read $columns $more)),+),
            $read,
        )?
    };
    // With the types of the fields it declares the struct too.
    ($(#[$about:meta])* $vis:vis struct $name:ident: $list:ident {
        $($(#[$told:meta])* $seen:vis $field:ident: $type:ty = $column:tt $(+ $more:tt)*
            $(=> $read:expr)?),+ $(,)?
    }) => {
        $(#[$about])*
        $vis struct $name {
            $($(#[$told])* $seen $field: $type,)+
        }
        $crate::db::record! { $name: $list {
            $($field: $column $(+ $more)* $(=> $read)?),+
        } }
    };
    ($name:ident: $list:ident {
        $($field:ident: $column:tt $(+ $more:tt)* $(=> $read:expr)?),+
        $(; $($other:ident: $value:expr),+)? $(,)?
    }) => {
        macro_rules! $list {
            () => { $crate::db::record!(@list $($column $($more)*)+) };
        }
        impl $crate::db::Record for $name {
            fn read(columns: &mut $crate::db::Columns<'_>) -> $crate::Result<Self> {
                $(let $field = $crate::db::record!(@read columns $column $($more)* $(=> $read)?);)+
                $($(let $other = $value;)+)?
                Ok(Self { $($field,)+ $($($other,)+)? })
            }
        }
        impl $crate::db::FromRow for $name {
            fn from_row(row: &$crate::db::Row) -> $crate::Result<Self> {
                $crate::db::Record::of_row(row)
            }
        }
    };
}
pub(crate) use record;

/// Functions that turn the value of a column into a field.
pub(crate) mod read {
    use serde::de::DeserializeOwned;

    use crate::{Error, Millis, Result, ground::clock};

    /// Milliseconds as RFC 3339.
    pub(crate) fn time(at: Millis) -> Result<String> {
        Ok(clock::rfc3339(at))
    }

    /// As [`time`], for a column that may be null.
    pub(crate) fn optional_time(at: Option<Millis>) -> Result<Option<String>> {
        at.map(time).transpose()
    }

    /// JSON from a text column.
    pub(crate) fn json<T: DeserializeOwned>(text: String) -> Result<T> {
        serde_json::from_str(&text).map_err(Error::internal)
    }

    /// As [`json`], for a column that may be null.
    pub(crate) fn optional_json<T: DeserializeOwned>(text: Option<String>) -> Result<Option<T>> {
        text.map(json).transpose()
    }
}

#[cfg(test)]
mod tests {
    #[derive(Debug)]
    struct Inner {
        a: i64,
    }
    record! { Inner: inner_columns { a: "t.a" } }

    #[derive(Debug)]
    struct Outer {
        id: i64,
        inner: Inner,
        pair: Option<(i64, i64)>,
        shown: String,
        doubled: i64,
    }
    record! { Outer: outer_columns {
        id: "t.id",
        inner: (inner_columns),
        pair: "t.b" + "t.c" => |(b, c): (Option<i64>, Option<i64>)| Ok(b.zip(c)),
        shown: "t.at" => super::read::time;
        doubled: double(id),
    } }

    fn double(id: i64) -> i64 {
        id * 2
    }

    #[test]
    fn the_list_has_the_order_of_the_fields() {
        assert_eq!(outer_columns!(), "t.id, t.a, t.b, t.c, t.at");
    }

    #[cfg(feature = "sqlite")]
    #[tokio::test]
    async fn a_row_is_read_in_that_order_and_another_list_is_refused() {
        use crate::{
            db::Db,
            settings::{Database, Synchronous},
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cms.db");
        let file = Database::Sqlite { path, synchronous: Synchronous::Full };
        let db = Db::open(&file).await.expect("opened");
        let columns = "select 1 as id, 2 as a, 3 as b, 4 as c, 0 as at";
        let sql = format!("select {} from ({columns}) t", outer_columns!());
        let outer: Outer = db.one(sqlx::AssertSqlSafe(sql), Vec::new()).await.expect("read");
        assert_eq!((outer.id, outer.inner.a, outer.pair, outer.doubled), (1, 2, Some((3, 4)), 2));
        assert_eq!(outer.shown, "1970-01-01T00:00:00Z");
        for other in ["select 1", "select 1, 2, 3, 4, 5, 6"] {
            assert!(db.one::<Outer>(other, Vec::new()).await.is_err(), "{other}");
        }
    }
}
