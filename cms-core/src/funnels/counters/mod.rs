//! Counts the visits that are over by the day on which they began. Each visit counts once at any
//! time: in the counters when it is folded, else by its own rows. The numbers therefore stay when
//! submissions are removed.
//!
//! ```text
//! select   queries that count visits       sql      statements
//! ```
//!
//! Only visits that can no longer change are folded: completed and expired visits. A step
//! therefore never writes counters, and no visitor waits for another at a counter.

pub(super) mod select;
pub(crate) mod sql;

use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Map, Value as Json};

use self::sql::{AnswerCounts, Answered};
use super::{
    Funnels,
    definitions::versions::Version,
    graph::{Node, is_asked},
    settings::FunnelSettings,
};
use crate::{
    Actor, Change, Code, Error, Millis, Result,
    db::{Lock, args},
    fields::{Field, OTHER, is_blank},
};

/// Lock for bulk changes, deletions of submissions and writes of counters: they run one at a time,
/// so that two of them never wait for each other's rows.
pub(super) const TURN: Lock = Lock::new(9);

/// How long a visit that is over waits for its mails to be settled.
const MAIL_TIMEOUT: Millis = 24 * 3_600_000;

impl Funnels {
    /// Adds visits that are over to the counters of their day, some in each change. Returns how
    /// many.
    pub(super) async fn fold(&self) -> Result<u64> {
        while self.label_some().await? {}
        let base = &self.0.base;
        let now = base.clock().now();
        let (due, mut after, mut folded) = ((now, now - MAIL_TIMEOUT), Default::default(), 0);
        loop {
            let mut change = base.change(Actor::System).await?;
            change.lock(TURN).await?;
            sql::hold_funnels(&mut change).await?;
            change.search_by_key().await?;
            let Some(last) = sql::stage_batch(&mut change, due, after).await? else {
                return Ok(folded);
            };
            sql::hold(&mut change).await?;
            change.run(sql::UNSTAGE_CHANGED, args![due.0, due.1]).await?;
            self.count(&mut change).await?;
            folded += change.run(sql::SET_FOLDED, args![true]).await?;
            sql::clear_staged(&mut change).await?;
            change.commit().await?;
            after = last;
        }
    }

    /// Counts the staged submissions before they are removed in the same change. A visit that was
    /// under way counts as abandoned. The caller holds [`TURN`], and unstages the submissions.
    pub(super) async fn count_leaving(&self, change: &mut Change) -> Result<()> {
        change.search_by_key().await?;
        sql::hold(change).await?;
        self.label(change).await?;
        self.count(change).await?;
        sql::count_inbox(change).await
    }

    async fn count(&self, change: &mut Change) -> Result<()> {
        sql::count(change).await?;
        let mut counted = AnswerCounts::default();
        for visit in change.all::<Answered>(sql::ANSWERS, args![]).await? {
            match self.version_in(&mut *change, visit.0).await {
                Ok(version) => tally_answers(&version, &visit, &mut counted)?,
                // Its funnel is being deleted.
                Err(error) if error.code() == Code::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        sql::count_answers(change, counted).await
    }

    /// Sets the day of visits that began before days were stored. False: there were none.
    async fn label_some(&self) -> Result<bool> {
        let mut change = self.0.base.change(Actor::System).await?;
        change.lock(TURN).await?;
        change.search_by_key().await?;
        let some = change.run(sql::STAGE_UNLABELLED, args![sql::LABELLED]).await? > 0;
        if some {
            sql::hold(&mut change).await?;
            self.label(&mut change).await?;
            sql::clear_staged(&mut change).await?;
            change.commit().await?;
        }
        Ok(some)
    }

    async fn label(&self, change: &mut Change) -> Result<()> {
        let mut days = Vec::new();
        let unlabelled: Vec<(i64, i64, Millis)> = change.all(sql::WITHOUT_DAY, args![]).await?;
        for (id, version, began) in unlabelled {
            let version = self.version_in(&mut *change, version).await?;
            days.push((id, day(began, &self.zone_of(&version.header.settings))?));
        }
        sql::label(change, days).await
    }

    /// The time zone of a funnel's days, by the settings of a version.
    pub(super) fn zone_of(&self, settings: &FunnelSettings) -> TimeZone {
        settings.timezone.clone().unwrap_or_else(|| self.0.base.zone().clone())
    }
}

/// The day of a moment, as `YYYY-MM-DD`.
pub(super) fn day(at: Millis, zone: &TimeZone) -> Result<String> {
    let at = Timestamp::from_millisecond(at).map_err(Error::internal)?;
    Ok(at.to_zoned(zone.clone()).date().to_string())
}

/// Adds the answers of a completed visit. For each field on its path, counts whether it was
/// answered and, if the possible answers are known, what was answered.
pub(super) fn tally_answers(
    version: &Version,
    visit: &Answered,
    counted: &mut AnswerCounts,
) -> Result<()> {
    let (_, funnel, number, day, path, answers, _) = visit;
    let Some(answers) = answers else { return Ok(()) };
    let path: Vec<i64> = serde_json::from_str(path).map_err(Error::internal)?;
    let answers: Map<String, Json> = serde_json::from_str(answers).map_err(Error::internal)?;
    let mut add = |what, field: &Field, value: String| {
        let key = (*funnel, *number, day.clone(), what, field.id().to_owned(), value);
        *counted.entry(key).or_default() += 1;
    };
    for node in path.iter().filter_map(|id| version.graph.node(*id)) {
        for field in node.fields().filter(|field| is_counted(field)) {
            match answers.get(field.id()).filter(|answer| !is_blank(answer)) {
                None => add("blank", field, String::new()),
                Some(answer) => {
                    add("answered", field, String::new());
                    for value in values(node, field, answer) {
                        add("value", field, value);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Whether visitors answer the field.
pub(super) fn is_counted(field: &Field) -> bool {
    is_asked(field) && !field.names().is_empty()
}

/// The ids of the options that a field offers, with their labels.
pub(super) fn options(node: &Node, field: &Field) -> Vec<(String, String)> {
    let fields = node.config.get("fields").and_then(Json::as_array);
    let declared = fields.into_iter().flatten().find(|one| one["id"] == field.id());
    let options = declared.and_then(|one| one["options"].as_array()).into_iter().flatten();
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    options.map(|one| (text(&one["id"]), text(&one["label"]))).collect()
}

/// The values that an answer is counted as. Free texts are not counted, because they may identify
/// their writers.
fn values(node: &Node, field: &Field, answer: &Json) -> Vec<String> {
    let given: Vec<&Json> = match answer {
        Json::Array(values) => values.iter().collect(),
        one => vec![one],
    };
    match field.type_name() {
        "yes_no" | "checkbox" | "consent" | "rating" | "nps" | "opinion_scale" => {
            given.into_iter().map(Json::to_string).collect()
        }
        "country" => given.into_iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        "single_choice" | "multiple_choice" | "dropdown" | "picture_choice" => {
            let options = options(node, field);
            let is_offered = |value: &&str| options.iter().any(|(id, _)| id == value);
            let known =
                |value: &Json| value.as_str().filter(is_offered).unwrap_or(OTHER).to_owned();
            let mut values: Vec<_> = given.into_iter().map(known).collect();
            values.sort();
            values.dedup();
            values
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_zone() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a moment").as_millisecond();
        for (began, zone, expected) in [
            ("2026-03-01T23:30:00Z", "UTC", "2026-03-01"),
            ("2026-03-01T23:30:00Z", "Europe/Berlin", "2026-03-02"),
            // A day of 23 hours, and one of 25.
            ("2026-03-28T23:00:00Z", "Europe/Berlin", "2026-03-29"),
            ("2026-03-29T21:59:59Z", "Europe/Berlin", "2026-03-29"),
            ("2026-03-29T22:00:00Z", "Europe/Berlin", "2026-03-30"),
            ("2026-10-24T22:00:00Z", "Europe/Berlin", "2026-10-25"),
            ("2026-10-25T22:59:59Z", "Europe/Berlin", "2026-10-25"),
            ("2026-10-25T23:00:00Z", "Europe/Berlin", "2026-10-26"),
        ] {
            let zone = TimeZone::get(zone).expect("a zone");
            assert_eq!(day(at(began), &zone).expect("a day"), expected, "{began}");
        }
    }
}
