//! Locks that changes take by name.

/// A named lock: changes that take the same lock pass one at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock(i64);

impl Lock {
    /// Taken by changes of the schema.
    pub(crate) const SCHEMA: Self = Self::new(0);
    /// Taken to make indexes outside of a change.
    #[cfg(feature = "postgres")]
    pub(super) const INDEXES: Self = Self::new(64);

    /// Rooms number their locks; two rooms never share a number.
    pub(crate) const fn new(number: i64) -> Self {
        // Other programs on the same PostgreSQL are unlikely to use these numbers. Older versions
        // use exactly these, so both can run side by side.
        Self(7_165_306_127 + number)
    }

    /// Whether this is [`Lock::SCHEMA`].
    pub(super) const fn is_schema(self) -> bool {
        self.0 == Self::SCHEMA.0
    }

    /// Its number on PostgreSQL.
    pub(crate) const fn number(self) -> i64 {
        self.0
    }

    /// The lock of one row, derived from this lock.
    pub(crate) const fn of_row(self, id: i64) -> Self {
        Self(self.0.wrapping_add(id.wrapping_shl(34)))
    }
}
