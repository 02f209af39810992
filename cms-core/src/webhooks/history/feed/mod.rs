//! Recorded events in one order, as they are committed.

pub(in crate::webhooks) mod sql;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::messages::{Pattern, Position, pattern};
use crate::{Code, Error, Millis, Result, events::SETTLED_AFTER, webhooks::Webhooks};

/// Events that are read at once: each may be as large as a body.
const STEP: i64 = 16;
/// How far back a search without a find begins again. Clocks of processes may differ.
const OVERLAP: Millis = 10_000;

/// An event as those who follow events get it.
#[derive(Clone, Debug)]
pub struct Happened {
    /// Its id; deliveries send the same.
    pub id: String,
    /// Its name.
    pub event: String,
    /// The JSON of its data, as deliveries send it.
    pub data: String,
    at: Millis,
}

/// Follows recorded events by time, each once.
pub struct Feed {
    webhooks: Webhooks,
    pattern: Pattern,
    after: Position,
    news: watch::Receiver<()>,
    /// When the last commit was noticed.
    heard: Millis,
    /// There may be more than was read: too young then, or too many for one step.
    unread: bool,
}

impl Webhooks {
    /// Follows events with this name, or with a name that begins with the text before `*`: those
    /// after the event with the id `after`, else those that happen from now on.
    ///
    /// # Errors
    /// `bad_query` for a pattern with `*` anywhere but at the end; `not_found` for an event that
    /// is no longer there.
    pub async fn feed(&self, event: Option<&str>, after: Option<&str>) -> Result<Feed> {
        let pattern = event.map(pattern).transpose()?.unwrap_or_default();
        let now = self.0.base.clock().now();
        let news = self.0.base.outbox().news();
        let after = match after {
            None => (now, String::new()),
            Some(id) => {
                let at = sql::moment(self.0.base.db(), id).await?.ok_or_else(missing)?;
                (at, id.to_owned())
            }
        };
        Ok(Feed { webhooks: self.clone(), pattern, after, news, heard: now, unread: true })
    }
}

impl Feed {
    /// The next events; none when there are no new ones. Reads only after a commit of any process.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn next(&mut self) -> Result<Vec<Happened>> {
        let base = &self.webhooks.0.base;
        let now = base.clock().now();
        if self.news.has_changed().unwrap_or(true) {
            self.news.mark_unchanged();
            (self.heard, self.unread) = (now, true);
        }
        if !self.unread {
            return Ok(Vec::new());
        }
        let until = now - SETTLED_AFTER;
        let found = sql::next(base.db(), &self.pattern, &self.after, until, STEP).await?;
        if let Some(last) = found.last() {
            self.after = (last.at, last.id.clone());
        } else {
            self.unread = until < self.heard;
            // So that a rare name is not searched among all others again and again.
            self.after = std::mem::take(&mut self.after).max((until - OVERLAP, String::new()));
        }
        Ok(found)
    }
}

fn missing() -> Error {
    Error::new(
        Code::NotFound,
        "The event that Last-Event-ID names is not there, or retention has removed it: begin \
         without it.",
    )
}

/// The data within the body of a delivery, as it is written there.
fn data(body: String) -> Result<String> {
    #[derive(Deserialize)]
    struct Delivery<'b> {
        #[serde(borrow)]
        data: &'b RawValue,
    }
    let delivery: Delivery<'_> = serde_json::from_str(&body).map_err(Error::internal)?;
    Ok(delivery.data.get().to_owned())
}
