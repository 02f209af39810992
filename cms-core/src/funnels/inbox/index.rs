//! What searches and counts of the inbox are read from, kept in the background: visitors do not
//! wait for it, and until then reads look at what came lately too.

use super::engines::{HAS_INDEX, INDEXING, MAKE_INDEX, SUM_COUNTS};
use crate::{Actor, Millis, Result, db::args, funnels::Funnels};

/// A submission is taken into the index once its visitor has rested so long: a visit changes its
/// texts with every step.
const REST: Millis = 120_000;
/// Submissions that go into the index together.
const BATCH_SIZE: i64 = 500;
/// Appended counts are added up once there are more.
const APPENDED: i64 = 1_000;

impl Funnels {
    /// Takes submissions that rest into the index of searches, and adds up counts.
    ///
    /// # Errors
    /// As every write. What was committed stays.
    pub async fn tend_inbox(&self) -> Result<()> {
        let base = &self.0.base;
        if let Some(sum) = base.db().dialect().of(&SUM_COUNTS) {
            let mut change = base.change(Actor::System).await?;
            change.run(sum, args![APPENDED]).await?;
            change.commit().await?;
        }
        let rested = base.clock().now().saturating_sub(REST);
        while self.index(rested).await? == BATCH_SIZE {}
        Ok(())
    }

    /// The statements that make the index of searches; None: it is there.
    pub(crate) async fn missing_search_index(&self) -> Result<Option<&'static str>> {
        let (db, dialect) = (self.0.base.db(), self.0.base.db().dialect());
        let Some(ask) = dialect.of(&HAS_INDEX) else { return Ok(None) };
        let (there,): (bool,) = db.one(ask, args![]).await?;
        Ok(dialect.of(&MAKE_INDEX).filter(|_| !there))
    }

    /// Returns how many submissions were seen to.
    async fn index(&self, rested: Millis) -> Result<i64> {
        let base = &self.0.base;
        let Some(indexing) = base.db().dialect().of(&INDEXING) else { return Ok(0) };
        let mut change = base.change(Actor::System).await?;
        let late: Vec<(i64,)> = change.all(indexing.late, args![rested, BATCH_SIZE]).await?;
        if late.is_empty() {
            return Ok(0);
        }
        let ids: Vec<i64> = late.into_iter().map(|(id,)| id).collect();
        let keys = serde_json::json!(ids).to_string();
        for step in [indexing.forget, indexing.add, indexing.done] {
            change.run(step, args![keys.clone()]).await?;
        }
        change.commit().await?;
        Ok(ids.len() as i64)
    }
}
