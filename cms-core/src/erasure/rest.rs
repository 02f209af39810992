//! What is left of an address in small tables: kept replies, counts of automatic replies, reasons
//! of faults, sources of visits.

use super::{Eraser, sql};
use crate::{
    Change, Result,
    db::{Value, args},
};

/// Rows of small tables that contain the address.
#[derive(Debug)]
pub(super) struct Rest {
    /// Kept replies: the caller and the `Idempotency-Key`.
    replies: Vec<(String, String)>,
    /// Attempts to send mails.
    attempts: Vec<i64>,
    /// Sources of visits.
    sources: Vec<String>,
    /// Mail providers.
    providers: Vec<String>,
}

impl Eraser {
    /// Finds these rows.
    pub(super) async fn rest(&mut self) -> Result<Rest> {
        let attempts: Vec<i64> = self.all(sql::ATTEMPTS).await?;
        let (db, held_in) = (self.base.db(), |text: &String| self.needles.held_in(text));
        let patterns = || self.needles.patterns().into_iter().map(Value::from);
        let sources: Vec<(String,)> = db.all(sql::SOURCES, patterns().collect()).await?;
        let sources = sources.into_iter().map(|(name,)| name).filter(held_in).collect();
        let providers: Vec<(String, String)> = db.all(sql::PROVIDERS, args![]).await?;
        let providers = providers.into_iter().filter(|(_, reason)| held_in(reason));
        let providers = providers.map(|(name, _)| name).collect();
        let (mut replies, mut after) = (Vec::new(), (String::new(), String::new()));
        loop {
            let args = args![&after.0, &after.1].into_iter().chain(patterns()).collect();
            let rows: Vec<(String, String, String)> = db.all(sql::REPLIES, args).await?;
            let Some((caller, key, _)) = rows.last() else {
                return Ok(Rest { replies, attempts, sources, providers });
            };
            after = (caller.clone(), key.clone());
            let held = rows.into_iter().filter(|(.., text)| held_in(text));
            replies.extend(held.map(|(caller, key, _)| (caller, key)));
        }
    }

    /// Counts them.
    pub(super) async fn look_at_rest(&mut self, rest: &Rest) -> Result<()> {
        let db = self.base.db();
        let (rations,): (i64,) = db.one(sql::COUNT_RATIONS, self.rationed()).await?;
        self.count_rows("rations", rations.unsigned_abs());
        self.count_rows("replies", rest.replies.len() as u64);
        Ok(())
    }

    /// Removes them, or the address from them.
    pub(super) async fn remove_rest(&mut self, change: &mut Change, rest: &Rest) -> Result<()> {
        let rations = change.run(sql::DELETE_RATIONS, self.rationed()).await?;
        self.count_rows("rations", rations);
        for (caller, key) in &rest.replies {
            let replies = change.run(sql::DELETE_REPLY, args![caller, key]).await?;
            self.count_rows("replies", replies);
        }
        for id in &rest.attempts {
            change.run(sql::EMPTY_ATTEMPT, args![*id]).await?;
        }
        for name in &rest.sources {
            change.run(sql::MERGE_SOURCE, args![name]).await?;
            change.run(sql::DELETE_SOURCE, args![name]).await?;
        }
        for name in &rest.providers {
            change.run(sql::EMPTY_PROVIDER, args![name]).await?;
        }
        Ok(())
    }

    /// The names under which automatic replies to the address are counted.
    fn rationed(&self) -> Vec<Value> {
        args![self.address.mailbox(), self.address.as_str().to_lowercase()]
    }

    /// Counts rows without ids of their own.
    fn count_rows(&mut self, kind: &'static str, count: u64) {
        if count > 0 {
            self.removed.entry(kind).or_default().count += count;
        }
    }
}
