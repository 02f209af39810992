//! Analytics: the numbers of a funnel in a range of days, and in the range before.
//!
//! ```text
//! shape    the numbers in the form of the reply
//! figures  rows to numbers, how long things took (pure)    sql      statements
//! ```
//!
//! All rows are read from one state of the database: a visit is in the counters or among those that
//! are not folded, never in both.

mod figures;
mod shape;
pub(crate) mod sql;

use std::collections::{BTreeMap, HashMap};

use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};

pub use shape::{
    Analytics, AnalyticsBefore, AnalyticsBranch, AnalyticsDay, AnalyticsEnd, AnalyticsField,
    AnalyticsInbox, AnalyticsMails, AnalyticsRange, AnalyticsSource, AnalyticsStep,
    AnalyticsTotals, AnalyticsValue, AnalyticsVersion,
};

use self::{
    figures::Figures,
    sql::{Scope, Tally},
};
use super::{
    Funnels, WhichFunnel,
    counters::{self, is_counted, options, sql::AnswerCounts},
    definitions::versions::{self, Version},
    settings::FunnelSettings,
};
use crate::{
    Code, Error, Millis, Result,
    db::{Snapshot, args},
};

/// Selects the numbers of a funnel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AnalyticsQuery {
    /// The funnel.
    pub funnel: WhichFunnel,
    /// The first day, `YYYY-MM-DD`; None: the range has thirty days.
    pub from: Option<String>,
    /// The last day; None: today, or tomorrow if visits began then, before the funnel moved
    /// westward.
    pub to: Option<String>,
    /// Only visits of this version.
    pub version: Option<i64>,
    /// The time zone of the days. Only the funnel's own is accepted.
    pub tz: Option<String>,
}

impl AnalyticsQuery {
    /// The last thirty days of a funnel, all versions.
    #[must_use]
    pub fn new(funnel: impl Into<WhichFunnel>) -> Self {
        Self { funnel: funnel.into(), from: None, to: None, version: None, tz: None }
    }
}

impl Funnels {
    /// The numbers of a funnel.
    ///
    /// # Errors
    /// `not_found` for a missing funnel or version; `bad_query` for days that cannot be read, for
    /// more than 366 of them, and for another time zone than the funnel's.
    pub async fn analytics(&self, query: &AnalyticsQuery) -> Result<Analytics> {
        let base = &self.0.base;
        let funnel = self.find(base.db(), &query.funnel).await?;
        // As visits are filed: the draft may name another zone.
        let zone = match versions::newest(base.db(), funnel.id).await? {
            Some(newest) => self.zone_of(&self.version(newest.id).await?.header.settings),
            None => {
                let draft = funnel.settings_json.as_object().cloned().unwrap_or_default();
                self.zone_of(&FunnelSettings::read(&draft).0)
            }
        };
        let tz = zone.iana_name().unwrap_or("UTC").to_owned();
        if let Some(other) = query.tz.as_ref().filter(|other| **other != tz) {
            let detail = format!(
                "The days of this funnel are counted in its time zone {tz}, not in {other:?}: \
                 leave tz out, or name that one."
            );
            return Err(Error::new(Code::BadQuery, detail));
        }
        let now = base.clock().now();
        let to = match &query.to {
            Some(to) => Some(to.clone()),
            // A funnel that has moved westward has visits of a day that has not begun there.
            None => {
                let tomorrow = counters::day(now + DAY, &zone)?;
                let (day,): (String,) = base.db().one(sql::LATEST, args![funnel.id]).await?;
                Some(day).filter(|day| *day == tomorrow)
            }
        };
        let range = Range::read(query.from.as_deref(), to.as_deref(), now, &zone)?;
        let of = |range: Range| {
            let (from, to) = range.bounds();
            Scope { funnel: funnel.id, from, to, version: query.version, now }
        };
        let (scope, before) = (of(range), of(range.before()));
        let mut at = base.db().snapshot().await?;
        let versions = sql::versions(&mut at, &scope).await?;
        if let (Some(version), true) = (query.version, versions.is_empty()) {
            let detail = format!("The funnel has no version {version}.");
            return Err(Error::new(Code::NotFound, detail));
        }
        let mut read = Figures {
            visits: sql::visits(&mut at, &scope).await?,
            ways: sql::ways(&mut at, &scope).await?,
            tally: sql::tally(&mut at, &scope).await?,
            touched: sql::touched(&mut at, &scope).await?,
            nodes: sql::nodes(&mut at, &scope).await?,
            edges: sql::edges(&mut at, &scope).await?,
            versions,
            before: sql::visits(&mut at, &before).await?,
            durations_before: sql::durations(&mut at, &before).await?,
            counted: AnswerCounts::default(),
            newest: None,
        };
        self.add_answers(&mut at, &scope, &mut read).await?;
        let oldest = sql::oldest(&mut at, &scope).await?;
        at.end().await?;
        if let Some((id, ..)) = read.versions.first() {
            read.newest = Some(self.version(*id).await?);
        }
        let retained_from = match oldest {
            Some((day, began)) if day.is_empty() => Some(counters::day(began, &zone)?),
            oldest => oldest.map(|(day, _)| day),
        };
        Ok(read.analytics(&scope, range, &tz, retained_from))
    }

    /// The statements that read submissions, for tests of plans.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    #[must_use]
    pub fn reads_of_analytics(&self) -> Vec<&'static str> {
        sql::READS.iter().map(|one| one.sql()).collect()
    }

    /// Adds answers that are in no counter yet, page by page. There may be many: visits are not
    /// folded while their mails wait for a provider, for up to a day.
    async fn add_answers(
        &self,
        at: &mut Snapshot,
        scope: &Scope,
        read: &mut Figures,
    ) -> Result<()> {
        let mut page = sql::answers(at, scope, None).await?;
        while !page.is_empty() {
            for visit in &page {
                match self.version_at(at, visit.0).await {
                    Ok(version) => counters::tally_answers(&version, visit, &mut read.counted)?,
                    Err(error) if error.code() == Code::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            page = sql::answers(at, scope, page.pop()).await?;
        }
        Ok(())
    }
}

const DAY: Millis = 24 * 3_600_000;
/// Number of days in a range without `from`.
const DAYS: i64 = 30;
/// Maximum number of days in a range.
const MOST: i64 = 366;

/// Days, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    from: Date,
    to: Date,
}

impl Range {
    /// Parses a range: by default, the thirty days up to today.
    fn read(from: Option<&str>, to: Option<&str>, now: Millis, zone: &TimeZone) -> Result<Self> {
        let now = Timestamp::from_millisecond(now).map_err(Error::internal)?;
        let today = now.to_zoned(zone.clone()).date();
        let to = to.map_or(Ok(today), |text| day("to", text))?;
        let from = match from {
            Some(text) => day("from", text)?,
            None => to.saturating_sub((DAYS - 1).days()),
        };
        let range = Self { from, to };
        match range.days() {
            1..=MOST => Ok(range),
            ..=0 => Err(bad(format!("from ({from}) is later than to ({to})"))),
            days => Err(bad(format!("a range has at most {MOST} days, not {days}"))),
        }
    }

    fn days(self) -> i64 {
        i64::from((self.to - self.from).get_days()) + 1
    }

    /// The range of as many days before.
    fn before(self) -> Self {
        let span = self.days().days();
        Self { from: self.from.saturating_sub(span), to: self.to.saturating_sub(span) }
    }

    /// Each day.
    fn each(self) -> impl Iterator<Item = String> {
        self.from.series(1.day()).take_while(move |day| *day <= self.to).map(|day| day.to_string())
    }

    fn bounds(self) -> (String, String) {
        (self.from.to_string(), self.to.to_string())
    }

    fn analytics_range(self, tz: &str) -> AnalyticsRange {
        let (from, to) = self.bounds();
        AnalyticsRange { from, to, days: self.days(), tz: tz.to_owned() }
    }
}

fn day(name: &str, text: &str) -> Result<Date> {
    let date = text.parse::<Date>().ok().filter(|date| date.to_string() == text);
    let date = date.filter(|date| (1970..=9000).contains(&date.year()));
    date.ok_or_else(|| bad(format!("{name} is a day such as 2026-11-21")))
}

fn bad(why: String) -> Error {
    Error::new(Code::BadQuery, format!("{why}."))
}

/// Maximum number of answers that are shown for a field.
const TOP: usize = 10;

#[derive(Default)]
struct FieldFigures<'a> {
    answered: i64,
    blank: i64,
    values: BTreeMap<&'a str, i64>,
}

/// The fields of the newest version in their order, then fields that only older versions have.
fn fields(
    tally: &[Tally],
    counted: &AnswerCounts,
    newest: Option<&Version>,
) -> Vec<AnalyticsField> {
    let mut found: BTreeMap<&str, FieldFigures<'_>> = BTreeMap::new();
    let mut add = |what: &str, field, value, visits| {
        match what {
            "answered" => found.entry(field).or_default().answered += visits,
            "blank" => found.entry(field).or_default().blank += visits,
            "value" => *found.entry(field).or_default().values.entry(value).or_default() += visits,
            _ => {}
        };
    };
    for one in tally {
        add(&one.what, one.name.as_str(), one.value.as_str(), one.visits);
    }
    for ((.., what, field, value), visits) in counted {
        add(what, field.as_str(), value.as_str(), *visits);
    }
    let mut told = Vec::new();
    let nodes = newest.into_iter().flat_map(|version| version.graph.nodes());
    let asked = nodes.flat_map(|node| node.fields().map(move |field| (node, field)));
    let asked: Vec<_> = asked.collect();
    // Steps that exclude each other may ask for one field, each with options of its own.
    let mut labels: HashMap<&str, HashMap<String, String>> = HashMap::new();
    for (node, field) in &asked {
        let labels = labels.entry(field.id()).or_default();
        for (id, label) in options(node, field) {
            labels.entry(id).or_insert(label);
        }
    }
    for (_, field) in asked {
        if !is_counted(field) || told.iter().any(|one: &AnalyticsField| one.field == field.id()) {
            continue;
        }
        let label = Some(field.common().label.clone()).filter(|label| !label.is_empty());
        let found = found.remove(field.id()).unwrap_or_default();
        let labels = labels.remove(field.id()).unwrap_or_default();
        told.push(field_of(field.id(), Some(field.type_name()), label, found, &labels));
    }
    let gone =
        found.into_iter().map(|(id, found)| field_of(id, None, None, found, &HashMap::new()));
    told.extend(gone);
    told
}

fn field_of(
    id: &str,
    field_type: Option<&str>,
    label: Option<String>,
    found: FieldFigures<'_>,
    labels: &HashMap<String, String>,
) -> AnalyticsField {
    let mut top: Vec<_> = found.values.into_iter().collect();
    top.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told = |(value, count): (&str, i64)| {
        let label = labels.get(value).filter(|label| !label.is_empty()).cloned();
        AnalyticsValue { value: value.to_owned(), label, count }
    };
    AnalyticsField {
        field: id.to_owned(),
        field_type: field_type.map(str::to_owned),
        label,
        answered: found.answered,
        blank: found.blank,
        top: top.into_iter().take(TOP).map(told).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(from: Option<&str>, to: Option<&str>, zone: &str) -> Result<Range> {
        let now: Timestamp = "2026-03-29T22:30:00Z".parse().expect("a moment");
        let zone = TimeZone::get(zone).expect("a zone");
        Range::read(from, to, now.as_millisecond(), &zone)
    }

    #[test]
    fn days_are_asked_for() {
        for (from, to, zone, expected) in [
            (None, None, "UTC", ("2026-02-28", "2026-03-29", 30)),
            // Berlin is a day further, and has lost an hour.
            (None, None, "Europe/Berlin", ("2026-03-01", "2026-03-30", 30)),
            (None, Some("2026-01-05"), "UTC", ("2025-12-07", "2026-01-05", 30)),
            (Some("2026-03-28"), None, "Europe/Berlin", ("2026-03-28", "2026-03-30", 3)),
            (Some("2026-03-29"), Some("2026-03-29"), "UTC", ("2026-03-29", "2026-03-29", 1)),
            (Some("2024-01-01"), Some("2024-12-31"), "UTC", ("2024-01-01", "2024-12-31", 366)),
        ] {
            let range = read(from, to, zone).expect("a range");
            let (first, last) = range.bounds();
            assert_eq!((first.as_str(), last.as_str(), range.days()), expected);
            let all: Vec<_> = range.each().collect();
            assert_eq!(all.len() as i64, range.days());
            assert_eq!((all.first(), all.last()), (Some(&first), Some(&last)));
            let before = range.before();
            assert_eq!(
                (before.days(), before.to.tomorrow().ok()),
                (range.days(), Some(range.from))
            );
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (from, to) in [
            (Some("2026-03-30"), Some("2026-03-29")),
            (Some("2025-01-01"), Some("2026-03-29")),
            (Some("yesterday"), None),
            (Some("2026-3-1"), None),
            (Some("2026-02-30"), None),
            (None, Some("2026-03-29T00:00:00Z")),
            (None, Some("-002026-03-29")),
        ] {
            let refused = read(from, to, "UTC").expect_err("refused");
            assert_eq!(refused.code(), Code::BadQuery, "{from:?} {to:?}");
        }
    }
}
