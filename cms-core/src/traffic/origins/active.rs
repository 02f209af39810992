//! The active origins in memory, as of the epoch they were read at.

use std::{collections::HashSet, sync::Arc};

use arc_swap::ArcSwap;

use super::sql;
use crate::{Result, db::Db};

/// The table's name among the epochs.
pub(super) const TABLE: &str = "origins";

#[derive(Default)]
pub(crate) struct Active(ArcSwap<Known>);

#[derive(Default)]
struct Known {
    /// None: not read yet.
    epoch: Option<i64>,
    origins: HashSet<String>,
}

impl Active {
    /// Whether an origin is registered and active. Queries the database only after the table has
    /// changed. A change by this process counts from its commit on, a change by another process as
    /// soon as its epoch is seen.
    pub(super) async fn holds(&self, db: &Db, origin: &str) -> Result<bool> {
        // Read the epoch before the rows: after a commit in between, the next request reads again.
        let epoch = Some(db.epochs().of(TABLE));
        let known = self.0.load();
        if known.epoch == epoch {
            return Ok(known.origins.contains(origin));
        }
        let origins: HashSet<String> =
            sql::active(db).await?.into_iter().map(|(origin,)| origin).collect();
        let held = origins.contains(origin);
        self.0.store(Arc::new(Known { epoch, origins }));
        Ok(held)
    }
}
