//! What was found goes, in one change.

use super::{
    Eraser,
    find::{FoundRows, Kind, What},
    sql,
};
use crate::{
    Change, Result,
    db::{Db, args},
    webhooks::CLAIMS,
};

impl Eraser {
    /// Only counts what was found, and removes nothing.
    ///
    /// # Errors
    /// As every read.
    pub async fn look(&mut self, found: FoundRows) -> Result<()> {
        match found.0 {
            What::Events(ids) => self.count("events", ids),
            What::Rows(kind, ids) => self.count(kind.name(), texts(&ids)),
            What::Forms(ids) => self.count("form_submissions", texts(&ids)),
            What::Visits(ids) => self.count("submissions", texts(&ids)),
            What::Rest => {
                let db: &Db = self.base.db();
                let (rations,): (i64,) = db.one(sql::COUNT_RATIONS, self.rationed()).await?;
                let (replies,): (i64,) = db.one(sql::COUNT_REPLIES, self.patterns()).await?;
                self.count_rows("rations", rations.unsigned_abs());
                self.count_rows("replies", replies.unsigned_abs());
            }
        }
        Ok(())
    }

    /// Removes what was found.
    ///
    /// # Errors
    /// As every write. Nothing of this part is removed then.
    pub async fn remove(&mut self, change: &mut Change, found: FoundRows) -> Result<()> {
        match found.0 {
            What::Events(ids) => {
                change.lock(CLAIMS).await?;
                for id in &ids {
                    // Jobs first: who settles one writes its delivery in the same change.
                    for statement in
                        [sql::DELETE_EVENT_JOBS, sql::DELETE_EVENT_DELIVERIES, sql::DELETE_EVENT]
                    {
                        change.run(statement, args![id.as_str()]).await?;
                    }
                }
                self.count("events", ids);
            }
            What::Rows(kind, ids) => {
                if matches!(kind, Kind::Jobs) {
                    change.lock(CLAIMS).await?;
                }
                for id in &ids {
                    self.remove_row(change, kind, *id).await?;
                }
                self.count(kind.name(), texts(&ids));
            }
            What::Forms(ids) => {
                for id in &ids {
                    change.run(sql::DELETE_MAILS_OF, args![format!("submission {id}")]).await?;
                    change.run(sql::DELETE_FORM, args![*id]).await?;
                }
                self.count("form_submissions", texts(&ids));
            }
            What::Visits(ids) => {
                self.funnels.erase_submissions(change, &ids).await?;
                self.count("submissions", texts(&ids));
            }
            What::Rest => {
                let rations = change.run(sql::DELETE_RATIONS, self.rationed()).await?;
                let replies = change.run(sql::DELETE_REPLIES, self.patterns()).await?;
                change.run(sql::EMPTY_ATTEMPTS, self.patterns()).await?;
                change.run(sql::MERGE_SOURCES, self.patterns()).await?;
                change.run(sql::DELETE_SOURCES, self.patterns()).await?;
                change.run(sql::EMPTY_PROVIDERS, self.patterns()).await?;
                self.count_rows("rations", rations);
                self.count_rows("replies", replies);
            }
        }
        Ok(())
    }

    async fn remove_row(&self, change: &mut Change, kind: Kind, id: i64) -> Result<()> {
        let statement = match kind {
            Kind::Notes => {
                return self.funnels.erase_notes(change, id, &|text| self.needles.cut(text)).await;
            }
            Kind::Audit => {
                return change.run(sql::EMPTY_AUDIT, args![id, self.digest()]).await.map(drop);
            }
            Kind::Deliveries => sql::EMPTY_DELIVERY,
            Kind::Jobs => sql::EMPTY_JOB,
            Kind::Mails => sql::DELETE_MAIL,
            Kind::Views => sql::DELETE_VIEW,
        };
        change.run(statement, args![id]).await.map(drop)
    }

    /// Under which names automatic replies to the address are counted.
    fn rationed(&self) -> Vec<crate::db::Value> {
        args![self.address.mailbox(), self.address.as_str().to_lowercase()]
    }

    /// Rows without ids of their own.
    fn count_rows(&mut self, kind: &'static str, count: u64) {
        if count > 0 {
            self.removed.entry(kind).or_default().count += count;
        }
    }
}

fn texts(ids: &[i64]) -> Vec<String> {
    ids.iter().map(i64::to_string).collect()
}
