//! The health of subscriptions, read from the log and the queue so that no delivery has to write
//! it; and the subscriptions that fail.

use std::collections::BTreeMap;

use super::{
    PAUSED, SubscriptionHealth,
    sql::{self, Stored},
};
use crate::{Change, Result, webhooks::Webhooks};

/// A subscription that fails, or was switched off because it failed.
pub(crate) struct InTrouble {
    pub(crate) id: i64,
    pub(crate) name: String,
    /// Failed attempts in a row.
    pub(crate) failures: i64,
    /// Why it was switched off; `None`: the subscription is on.
    pub(crate) switched_off: Option<String>,
}

impl Webhooks {
    /// Subscriptions that fail or were switched off for failures, 20 at most.
    pub(crate) async fn in_trouble(&self) -> Result<Vec<InTrouble>> {
        let rows = sql::in_trouble(self.0.base.db(), PAUSED).await?;
        let found = |(id, name, failures, active, why): (_, _, _, bool, Option<String>)| {
            let switched_off = why.filter(|_| !active);
            InTrouble { id, name, failures, switched_off }
        };
        Ok(rows.into_iter().map(found).collect())
    }

    /// The health of these subscriptions by id, with one statement.
    pub(super) async fn health(
        &self,
        rows: &[Stored],
    ) -> Result<BTreeMap<i64, SubscriptionHealth>> {
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        sql::health(self.0.base.db(), &ids).await
    }

    /// The query plan for the health of a page of subscriptions, by line.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    pub async fn health_plan(&self) -> Result<Vec<String>> {
        sql::health_plan(self.0.base.db()).await
    }
}

/// The health of one subscription, including what the change has written.
pub(super) async fn of_one(change: &mut Change, id: i64) -> Result<SubscriptionHealth> {
    Ok(sql::health_in(change, id).await?.unwrap_or_default())
}
