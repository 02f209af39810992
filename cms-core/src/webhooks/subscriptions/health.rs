//! How the deliveries of subscriptions fare: read from the log and the queue, so that no delivery
//! writes for it. And which of them fail.

use std::collections::BTreeMap;

use super::{
    PAUSED, SubscriptionHealth,
    sql::{self, Stored},
};
use crate::{Change, Result, webhooks::Webhooks};

/// A subscription that fails, or was switched off because it did.
pub(crate) struct InTrouble {
    pub(crate) id: i64,
    pub(crate) name: String,
    /// Failed attempts in a row.
    pub(crate) failures: i64,
    /// Why it was switched off; None: it is on.
    pub(crate) switched_off: Option<String>,
}

impl Webhooks {
    /// Subscriptions that fail or were switched off because they did, 20 at most.
    pub(crate) async fn in_trouble(&self) -> Result<Vec<InTrouble>> {
        let rows = sql::in_trouble(self.0.base.db(), PAUSED).await?;
        let found = |(id, name, failures, active, why): (_, _, _, bool, Option<String>)| {
            let switched_off = why.filter(|_| !active);
            InTrouble { id, name, failures, switched_off }
        };
        Ok(rows.into_iter().map(found).collect())
    }

    /// The health of these subscriptions, by id: one statement for all.
    pub(super) async fn health(
        &self,
        rows: &[Stored],
    ) -> Result<BTreeMap<i64, SubscriptionHealth>> {
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        sql::health(self.0.base.db(), &ids).await
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
