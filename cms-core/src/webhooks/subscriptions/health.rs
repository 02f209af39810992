//! How the deliveries of subscriptions fare: read from the log and the queue, so that no delivery
//! writes for it.

use std::collections::BTreeMap;

use super::{
    SubscriptionHealth,
    sql::{self, Stored},
};
use crate::{Change, Result, webhooks::Webhooks};

impl Webhooks {
    /// The health of these subscriptions, by id: one statement for all.
    pub(super) async fn health(
        &self,
        rows: &[Stored],
    ) -> Result<BTreeMap<i64, SubscriptionHealth>> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Ok(BTreeMap::new());
        };
        sql::health(self.0.base.db(), first.id, last.id).await
    }

    /// How the engine reads the health of a page: the lines of its plan.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read.
    #[doc(hidden)]
    pub async fn health_plan(&self) -> Result<Vec<String>> {
        sql::health_plan(self.0.base.db()).await
    }
}

/// The health of one, as the change has left it.
pub(super) async fn of_one(change: &mut Change, id: i64) -> Result<SubscriptionHealth> {
    Ok(sql::health_in(change, id).await?.unwrap_or_default())
}
