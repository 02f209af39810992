//! Publishes pages and takes them off at planned times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    hold::note,
    sql::{self, HeldPage},
    types::Plan,
};
use crate::{
    Actor, Change, Error, FieldError, Millis, Page, Paging, Result,
    db::{args, watched},
    ground::ListName,
    items::IfMatch,
    pages::Pages,
    parse_rfc3339, rfc3339,
};

/// When a page is published and taken off by itself. RFC 3339; null: never.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageSchedule")]
#[non_exhaustive]
pub struct Schedule {
    /// The draft is published then, as it is at that moment.
    #[serde(default)]
    pub publish_at: Option<String>,
    /// The page is taken off then.
    #[serde(default)]
    pub take_off_at: Option<String>,
}

impl Pages {
    /// The pages with planned times, by id, a page of the list at a time.
    pub async fn plans(&self, paging: &Paging) -> Result<Page<Plan>> {
        let base = self.base();
        let read = async |after, limit| base.db().all(sql::PLANNED, args![after, limit]).await;
        let list = base.list(ListName::PagePlans);
        let plans = Page::by_id(list, paging, read, |one: &Plan| one.page_id).await?;
        let all = args![i64::MIN, i64::MAX];
        plans.counted(paging, async || base.db().count_rows(sql::PLANNED, all).await).await
    }

    /// Sets when a page is published and taken off automatically; both times are replaced. Returns
    /// the times as stored, and the rev of the draft.
    ///
    /// # Errors
    /// `not_found`; `stale`; `validation_failed` for texts that are not times, and for times in
    /// the past. As every write.
    pub async fn schedule(
        &self,
        change: &mut Change,
        page: i64,
        if_match: &IfMatch,
        schedule: &Schedule,
    ) -> Result<(Schedule, i64)> {
        let held = self.hold(change, None, page, if_match).await?;
        let now = change.now();
        let (publish_at, take_off_at) = (&schedule.publish_at, &schedule.take_off_at);
        let publish_at = future_time(now, "publish_at", publish_at.as_deref(), held.publish_at);
        let take_off_at = future_time(now, "take_off_at", take_off_at.as_deref(), held.take_off_at);
        let (publish_at, take_off_at) = match (publish_at, take_off_at) {
            (Ok(publish_at), Ok(take_off_at)) => (publish_at, take_off_at),
            (publish_at, take_off_at) => {
                let faults = publish_at.err().into_iter().chain(take_off_at.err());
                return Err(Error::invalid(faults.collect()));
            }
        };
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

    /// Publishes and takes off the pages that are due. A page that fails is logged and tried again
    /// at the next run; the others continue. Returns the number of pages.
    pub async fn run_schedule(&self) -> Result<u64> {
        watched(self.run_due()).await
    }

    async fn run_due(&self) -> Result<u64> {
        let (db, now) = (self.base().db(), self.base().clock().now());
        let (mut done, mut after) = (0, 0_i64);
        loop {
            let due: Vec<(i64,)> = db.all(sql::DUE, args![now, after]).await?;
            let Some((last,)) = due.last() else { return Ok(done) };
            after = *last;
            for (page,) in due {
                match self.run_page(page).await {
                    Ok(()) => done += 1,
                    Err(error) => tracing::warn!(page, ?error, "a scheduled page was not changed"),
                }
            }
        }
    }

    /// Both times may be due after a pause of the service; then the later one decides.
    async fn run_page(&self, page: i64) -> Result<()> {
        let mut change = self.base().change(Actor::System).await?;
        let held = self.hold(&mut change, None, page, &IfMatch::Nothing).await?;
        let now = change.now();
        let due = |at: Option<Millis>| at.filter(|at| *at <= now);
        let (publish, take_off) = (due(held.publish_at), due(held.take_off_at));
        if publish.is_none() && take_off.is_none() {
            return Ok(());
        }
        if publish > take_off {
            self.publish_held(&mut change, &held).await?;
        } else if held.published {
            self.take_off_held(&mut change, &held).await?;
        } else {
            let over = keep(&mut change, &held, false).await?;
            note(&mut change, &held, "scheduled", None, &over, Vec::new()).await?;
        }
        change.commit().await
    }
}

/// Updates the planned times of a page that is now published or taken off. Returns the columns of
/// the times that are over.
pub(super) async fn keep(
    change: &mut Change,
    held: &HeldPage,
    is_published: bool,
) -> Result<Vec<&'static str>> {
    let (now, times) = (change.now(), (held.publish_at, held.take_off_at));
    let (publish_at, take_off_at) = match is_published {
        true => rest(now, times.0, times.1),
        false => {
            let (take_off_at, publish_at) = rest(now, times.1, times.0);
            (publish_at, take_off_at)
        }
    };
    let mut over = Vec::new();
    if publish_at != held.publish_at {
        over.push("publish_at");
    }
    if take_off_at != held.take_off_at {
        over.push("take_off_at");
    }
    if !over.is_empty() {
        sql::plan(change, held.id, publish_at, take_off_at).await?;
    }
    Ok(over)
}

/// The planned times that stay after an action: `own` is the time planned for it, `other` the time
/// of the opposite action. A past `other` is dropped, because it would undo the action at the next
/// run. `own` is dropped too, unless a future `other` comes before it.
fn rest(
    now: Millis,
    own: Option<Millis>,
    other: Option<Millis>,
) -> (Option<Millis>, Option<Millis>) {
    let other = other.filter(|at| *at > now);
    (own.filter(|own| other.is_some_and(|other| other < *own)), other)
}

/// Parses a time, which must be in the future. The time that is already planned is accepted too:
/// it may be due and wait for its run.
fn future_time(
    now: Millis,
    field: &str,
    text: Option<&str>,
    planned: Option<Millis>,
) -> Result<Option<Millis>, FieldError> {
    let Some(text) = text else { return Ok(None) };
    let wrong = |code, message: &str| {
        Err(FieldError { field: field.to_owned(), code, message: message.to_owned() })
    };
    match parse_rfc3339(text) {
        None => wrong("format", "a time such as 2026-12-24T06:00:00Z is expected"),
        Some(at) if at <= now && planned != Some(at) => {
            wrong("range", "a time in the future is expected")
        }
        at => Ok(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_leaves_the_rest_of_the_plan() {
        for (own, other, left) in [
            (None, None, (None, None)),
            (Some(20), None, (None, None)),
            (None, Some(20), (None, Some(20))),
            (Some(20), Some(30), (None, Some(30))),
            (Some(30), Some(20), (Some(30), Some(20))),
            // Now is 10: past times are dropped, including `own`.
            (Some(5), Some(10), (None, None)),
            (Some(5), Some(20), (None, Some(20))),
            (Some(20), Some(5), (None, None)),
        ] {
            assert_eq!(rest(10, own, other), left, "{own:?} {other:?}");
        }
    }

    #[test]
    fn times_lie_ahead() {
        let now = parse_rfc3339("2026-11-21T09:30:00Z").expect("a time");
        let at = |text| future_time(now, "publish_at", text, None).map(|at| at.map(rfc3339));
        assert_eq!(at(None).expect("none"), None);
        let later = "2026-11-21T09:30:01Z";
        assert_eq!(at(Some(later)).expect("ahead").as_deref(), Some(later));
        assert!(at(Some("2026-11-21T09:30:00Z")).is_err() && at(Some("tomorrow")).is_err());
    }
}
