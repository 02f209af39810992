//! How often each table has changed, as far as this process knows. Caches compare these counts.
//!
//! Each commit raises the epochs of its tables in the database and here. Commits of other processes
//! arrive through [`super::follow`], within a second.

use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};

pub(crate) mod sql {
    crate::db::statements! {
        RAISE = "insert into cms_table_epochs (name, epoch) values ($1, 1) on conflict (name) \
                 do update set epoch = cms_table_epochs.epoch + 1 returning epoch";
    }
}

/// Tables that a commit changed, with their new epochs.
pub(crate) type Raised = Vec<(String, i64)>;

/// The known epochs by table; 0 for a table that never changed. A tree, because with few tables it
/// is faster than a hash map.
#[derive(Debug, Default)]
pub struct Epochs(RwLock<BTreeMap<String, i64>>);

impl Epochs {
    /// The epoch of a table.
    #[must_use]
    pub fn of(&self, table: &str) -> i64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(table).copied().unwrap_or(0)
    }

    /// Those of all tables at this moment.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, i64> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Raises a table's epoch; never lowers it. True: the epoch was new.
    pub(crate) fn raise(&self, table: &str, epoch: i64) -> bool {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match known.get_mut(table) {
            Some(present) if *present >= epoch => false,
            Some(present) => {
                *present = epoch;
                true
            }
            None => {
                known.insert(table.to_owned(), epoch);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn epochs_only_rise() {
        let epochs = super::Epochs::default();
        assert!(
            epochs.raise("a", 2)
                && !epochs.raise("a", 1)
                && !epochs.raise("a", 2)
                && epochs.raise("a", 3)
        );
        assert_eq!((epochs.of("a"), epochs.of("b")), (3, 0));
    }
}
