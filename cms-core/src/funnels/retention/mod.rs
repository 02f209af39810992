//! Old submissions go. What they counted stays, by the day on which they began.

pub(crate) mod sql;

use jiff::{Timestamp, ToSpan as _, Unit, tz::TimeZone};

use self::sql::Batch;
use super::{
    Funnels,
    settings::{FunnelSettings, INBOX, Retention},
};
use crate::{Actor, Code, Error, Millis, Result, jobs};

/// Funnels that are read together.
const PAGE: i64 = 100;

impl Funnels {
    /// Removes submissions that are older than their funnel keeps them, with their files and mails.
    /// Their numbers are added to those of their day first, in the same change. A visit that can
    /// still go on is kept. Returns how many were removed.
    ///
    /// # Errors
    /// As every write. What was committed stays removed.
    pub async fn cleanup_old_submissions(&self) -> Result<u64> {
        let (base, mut last, mut removed) = (&self.0.base, 0, 0);
        loop {
            let page = sql::keeping(base.db(), last, PAGE).await?;
            let Some((id, _)) = page.last() else { return Ok(removed) };
            last = *id;
            for (id, settings) in &page {
                let (settings, _) = FunnelSettings::read(settings);
                match self.clean(*id, &settings).await {
                    Ok(rows) => removed += rows,
                    Err(error) if error.code() == Code::Unavailable => return Err(error),
                    // One funnel must not stop the others.
                    Err(error) => {
                        tracing::warn!(funnel = id, %error, "old submissions are not removed");
                    }
                }
            }
        }
    }

    async fn clean(&self, funnel: i64, settings: &FunnelSettings) -> Result<u64> {
        let (base, mut removed) = (&self.0.base, 0);
        let zone = settings.timezone.as_ref().unwrap_or_else(|| base.zone());
        let site = i64::try_from(base.settings().retention.submissions_days).unwrap_or(i64::MAX);
        for status in INBOX {
            let Some(days) = settings.retention.days(status, site) else { continue };
            let days = u64::try_from(days).unwrap_or_default();
            let now = base.clock().now();
            let until = jobs::days_before(now, days);
            while let Some(began) = sql::oldest(base.db(), funnel, status, until, now).await? {
                let (day, end) = day_of(began, zone)?;
                let batch = Batch { funnel, status, day: &day, before: end.min(until + 1), now };
                removed += self.remove(&batch).await?;
            }
        }
        if removed > 0 {
            tracing::info!(funnel, removed, "old submissions were removed");
        }
        Ok(removed)
    }

    async fn remove(&self, batch: &Batch<'_>) -> Result<u64> {
        let mut change = self.0.base.change(Actor::System).await?;
        let removed = sql::fold(&mut change, batch).await?;
        change.commit().await?;
        Ok(removed)
    }
}

impl Retention {
    /// Days that submissions with this state in the inbox are kept; None: for good.
    fn days(&self, status: &str, site: i64) -> Option<i64> {
        match self {
            Self::Site => Some(site),
            Self::All(days) => *days,
            Self::ByStatus(states) => states.get(status).copied().unwrap_or(Some(site)),
        }
    }
}

/// The day of a moment, as `YYYY-MM-DD`, and when it ends.
fn day_of(at: Millis, zone: &TimeZone) -> Result<(String, Millis)> {
    let of = || {
        let here = Timestamp::from_millisecond(at)?.to_zoned(zone.clone());
        let next = here.round(jiff::ZonedRound::new().smallest(Unit::Day).mode(FLOOR))?;
        let next = next.checked_add(1.day())?;
        Ok::<_, jiff::Error>((here.date().to_string(), next.timestamp().as_millisecond()))
    };
    of().map_err(Error::internal)
}

const FLOOR: jiff::RoundMode = jiff::RoundMode::Floor;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn states_are_kept_as_the_funnel_says_and_otherwise_as_the_site_does() {
        let states = BTreeMap::from([("converted".to_owned(), None), ("new".to_owned(), Some(7))]);
        for (retention, status, days) in [
            (Retention::Site, "new", Some(30)),
            (Retention::All(Some(5)), "new", Some(5)),
            (Retention::All(None), "new", None),
            (Retention::ByStatus(states.clone()), "new", Some(7)),
            (Retention::ByStatus(states.clone()), "converted", None),
            (Retention::ByStatus(states), "rejected", Some(30)),
        ] {
            assert_eq!(retention.days(status, 30), days, "{retention:?} {status}");
        }
    }

    #[test]
    fn days_are_those_of_the_zone() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a moment").as_millisecond();
        for (began, zone, day, end) in [
            ("2026-03-01T23:30:00Z", "UTC", "2026-03-01", "2026-03-02T00:00:00Z"),
            ("2026-03-01T23:30:00Z", "Europe/Berlin", "2026-03-02", "2026-03-02T23:00:00Z"),
            // A day of 23 hours, and one of 25.
            ("2026-03-29T10:00:00Z", "Europe/Berlin", "2026-03-29", "2026-03-29T22:00:00Z"),
            ("2026-10-24T22:00:00Z", "Europe/Berlin", "2026-10-25", "2026-10-25T23:00:00Z"),
        ] {
            let zone = TimeZone::get(zone).expect("a zone");
            let found = day_of(at(began), &zone).expect("a day");
            assert_eq!(found, (day.to_owned(), at(end)), "{began}");
        }
    }
}
