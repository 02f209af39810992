//! Analytics: the numbers of a funnel in some days, beside those before.
//!
//! ```text
//! shape    the numbers as they are told    range    which days are asked for
//! figures  rows to numbers                 fields   what was answered
//! spread   how long things took (all pure) sql      statements
//! ```
//!
//! All rows are read from one state of the database: a visit is in the counters or among those that
//! are not folded, never in both.

mod example;
mod fields;
mod figures;
mod range;
mod shape;
mod spread;
pub(crate) mod sql;

pub use self::shape::{
    Analytics, AnalyticsBefore, AnalyticsBranch, AnalyticsDay, AnalyticsEnd, AnalyticsField,
    AnalyticsInbox, AnalyticsMails, AnalyticsRange, AnalyticsSource, AnalyticsStep,
    AnalyticsTotals, AnalyticsValue, AnalyticsVersion,
};
use self::{figures::Figures, range::Range, sql::Scope};
use super::{
    Funnels, WhichFunnel, counters,
    counters::{answers, sql::Counted},
    definitions::sql::From,
};
use crate::{Code, Error, Result, db::Snapshot};

/// Which numbers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AnalyticsQuery {
    /// Of which funnel.
    pub funnel: WhichFunnel,
    /// The first day, `YYYY-MM-DD`; without it, thirty days.
    pub from: Option<String>,
    /// The last day; without it, today.
    pub to: Option<String>,
    /// Only visits of this version.
    pub version: Option<i64>,
    /// The time zone of the days. There is only that of the funnel.
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
    /// `not_found` for a funnel or a version that there is not; `bad_query` for days that cannot be
    /// read, for more than 366 of them, and for another time zone than the funnel's.
    pub async fn analytics(&self, query: &AnalyticsQuery) -> Result<Analytics> {
        let base = &self.0.base;
        let funnel = self.find(&mut From::Db(base.db()), &query.funnel).await?;
        let zone = self.zone_of(&funnel.settings_json.as_object().cloned().unwrap_or_default());
        let tz = zone.iana_name().unwrap_or("UTC").to_owned();
        if let Some(other) = query.tz.as_ref().filter(|other| **other != tz) {
            let detail = format!(
                "The days of this funnel are counted in its time zone {tz}, not in {other:?}: \
                 leave tz out, or name that one."
            );
            return Err(Error::new(Code::BadQuery, detail));
        }
        let now = base.clock().now();
        let range = Range::read(query.from.as_deref(), query.to.as_deref(), now, &zone)?;
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
            counted: Counted::default(),
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

    /// What is read of submissions, for tests of plans.
    #[doc(hidden)]
    #[must_use]
    pub fn reads_of_analytics(&self) -> Vec<&'static str> {
        sql::READS.iter().map(|one| one.sql()).collect()
    }

    /// Adds answers that are in no counter yet, page by page: while mails wait for a provider, a
    /// day's visits may not be folded.
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
                    Ok(version) => answers::count(&version, visit, &mut read.counted)?,
                    Err(error) if error.code() == Code::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            page = sql::answers(at, scope, page.pop()).await?;
        }
        Ok(())
    }
}
