//! What content tables ask of their engine.

use super::{Dialect, Kind};

impl Dialect {
    /// The engine with the narrower limits, those of decimals. For values that are checked without
    /// a database: every engine accepts the values that this one accepts.
    pub(crate) const STRICTEST: Self = Self::Sqlite;

    /// Whether decimals are exact to 15 digits only. PostgreSQL keeps all digits of columns that
    /// others made.
    pub(crate) fn limits_decimals(self, own: bool) -> bool {
        own || self == Self::Sqlite
    }

    /// The kind of a column that is `declared` and was `found`. SQLite has few types, so the
    /// declared one is more precise. On PostgreSQL only a text column may be declared as another
    /// type.
    pub(crate) fn kind_of(self, own: bool, declared: Option<Kind>, found: Kind) -> Kind {
        match declared {
            Some(kind) if own || self == Self::Sqlite => kind,
            Some(kind @ (Kind::Json | Kind::Password)) if found == Kind::Text => kind,
            _ => found,
        }
    }

    /// Whether the engine keeps white space inside JSON columns when it makes a record's JSON.
    pub(crate) fn spaces_json(self) -> bool {
        self == Self::Postgres
    }

    /// Whether an index that ends with the key seeks to a row by a column and the key at once.
    /// SQLite seeks to the column alone and reads on through all rows that share its value.
    pub(crate) fn seeks_with_key(self) -> bool {
        self == Self::Postgres
    }
}
