//! Publications and take-offs that happen by themselves, once their time has come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{hold::note, sql};
use crate::{
    Actor, Change, Error, Millis, Result, items::IfMatch, pages::Pages, parse_rfc3339, rfc3339,
};

/// When a page is published and taken off by itself. RFC 3339; null: never.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageSchedule")]
pub struct Schedule {
    /// The draft is published then, as it is at that moment.
    #[serde(default)]
    pub publish_at: Option<String>,
    /// The page is taken off then.
    #[serde(default)]
    pub take_off_at: Option<String>,
}

impl Pages {
    /// Sets when a page is published and taken off by itself; both times are replaced. Returns
    /// them as they are stored, and the rev of the draft.
    ///
    /// # Errors
    /// `not_found`; `stale`; `validation_failed` for times that are none or not ahead. As every
    /// write.
    pub async fn schedule(
        &self,
        change: &mut Change,
        page: i64,
        if_match: &IfMatch,
        schedule: &Schedule,
    ) -> Result<(Schedule, i64)> {
        let held = self.hold(change, None, page, if_match).await?;
        let now = change.now();
        let publish_at = ahead(now, "publish_at", schedule.publish_at.as_deref())?;
        let take_off_at = ahead(now, "take_off_at", schedule.take_off_at.as_deref())?;
        if publish_at.is_some() && publish_at == take_off_at {
            let message = "another time than publish_at is expected";
            return Err(Error::invalid_field("take_off_at", "range", message));
        }
        sql::plan(change, page, publish_at, take_off_at).await?;
        let columns = ["publish_at", "take_off_at"];
        note(change, &held, "scheduled", None, &columns, Vec::new()).await?;
        let shown = |at: Option<Millis>| at.map(rfc3339);
        let stored = Schedule { publish_at: shown(publish_at), take_off_at: shown(take_off_at) };
        Ok((stored, held.rev))
    }

    /// Publishes and takes off what is due. A page that fails is logged and tried again at the next
    /// run; the others go on. Returns how many pages were done.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn run_schedule(&self) -> Result<u64> {
        let mut done = 0;
        for page in sql::due(self.base().db(), self.base().clock().now()).await? {
            match self.run_page(page).await {
                Ok(()) => done += 1,
                Err(error) => tracing::warn!(page, %error, "a scheduled page was not changed"),
            }
        }
        Ok(done)
    }

    /// Both times may be due, when nothing ran for a while: what comes later counts.
    async fn run_page(&self, page: i64) -> Result<()> {
        let mut change = self.base().change(Actor::System).await?;
        let held = self.hold(&mut change, None, page, &IfMatch::Nothing).await?;
        let now = change.now();
        let due = |at: Option<Millis>| at.filter(|at| *at <= now);
        let (publish, take_off) = (due(held.publish_at), due(held.take_off_at));
        let rest = |at: Option<Millis>| at.filter(|at| *at > now);
        let both = publish.is_some() || take_off.is_some();
        if !both {
            return Ok(());
        }
        sql::plan(&mut change, page, rest(held.publish_at), rest(held.take_off_at)).await?;
        if publish > take_off {
            self.publish(&mut change, page, &IfMatch::Nothing).await?;
        } else if held.published {
            self.take_off(&mut change, page, &IfMatch::Nothing).await?;
        }
        change.commit().await
    }
}

fn ahead(now: Millis, field: &str, text: Option<&str>) -> Result<Option<Millis>> {
    let Some(text) = text else { return Ok(None) };
    let wrong = |code, message| Err(Error::invalid_field(field, code, message));
    match parse_rfc3339(text) {
        None => wrong("format", "a time such as 2026-12-24T06:00:00Z is expected"),
        Some(at) if at <= now => wrong("range", "a time that lies ahead is expected"),
        at => Ok(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_ahead() {
        let now = parse_rfc3339("2026-11-21T09:30:00Z").expect("a time");
        let at = |text| ahead(now, "publish_at", text).map(|at| at.map(rfc3339));
        assert_eq!(at(None).expect("none"), None);
        let later = "2026-11-21T09:30:01Z";
        assert_eq!(at(Some(later)).expect("ahead").as_deref(), Some(later));
        assert!(at(Some("2026-11-21T09:30:00Z")).is_err() && at(Some("tomorrow")).is_err());
    }
}
