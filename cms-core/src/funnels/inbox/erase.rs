//! A person's submissions go for good, and what the notes of others say of him.

use super::{engines::INDEXING, events, sql};
use crate::{
    Change, Result,
    db::args,
    funnels::{
        Funnels,
        counters::{self, TURN},
    },
};

impl Funnels {
    /// Deletes submissions with all that they caused, also those of a deleted funnel. What they
    /// counted stays; nothing of their texts stays in the index of searches.
    pub(crate) async fn erase_submissions(&self, change: &mut Change, ids: &[i64]) -> Result<()> {
        change.lock(TURN).await?;
        counters::sql::hold_funnels(change).await?;
        let mut touched = Vec::new();
        for id in ids {
            touched.extend(sql::hold(change, *id).await?);
            counters::sql::leave(change, *id).await?;
        }
        self.count_leaving(change).await?;
        counters::sql::empty(change).await?;
        for id in ids {
            sql::erase(change, *id).await?;
        }
        events::deleted(change, touched).await?;
        if let Some(indexing) = change.dialect().of(&INDEXING) {
            let keys = serde_json::json!(ids).to_string();
            let [begin, end] = indexing.overwrite;
            change.script(begin).await?;
            change.run(indexing.forget, args![keys.clone()]).await?;
            change.script(end).await?;
            change.run(indexing.done, args![keys]).await?;
        }
        Ok(())
    }

    /// Writes the notes of a submission as `cut` leaves them.
    pub(crate) async fn erase_notes(
        &self,
        change: &mut Change,
        id: i64,
        cut: &(dyn Fn(&str) -> String + Sync),
    ) -> Result<()> {
        if sql::hold(change, id).await?.is_none() {
            return Ok(());
        }
        let notes = cut(&sql::notes_in(change, id).await?);
        let touched = sql::update(change, id, None, Some(notes), None).await?;
        events::updated(change, vec![touched], &["inbox_notes"]).await
    }
}
