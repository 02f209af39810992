//! The settings of a funnel: the ones that the service reads, and the front end's own.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde_json::{Map, Value as Json};

use super::record::Problem;
use crate::{Address, Millis, ground::nearest, parse_rfc3339};

/// Hours that a visit may rest.
const TTL_H: i64 = 24;
/// Maximum bytes of all settings.
const MOST_BYTES: usize = 64 * 1024;

/// The states of the inbox, in the order in which a lead goes through them.
pub(crate) const INBOX_STATUSES: [&str; 5] =
    ["new", "qualified", "contacted", "converted", "rejected"];

/// The settings in `settings_json` that the service reads.
#[derive(Clone, Debug)]
pub(crate) struct FunnelSettings {
    /// How long submissions are kept.
    pub(crate) retention: Retention,
    /// Hours of rest after which a visit ends.
    pub(crate) session_ttl_h: i64,
    /// The time zone of days; None: the site's.
    pub(crate) timezone: Option<TimeZone>,
    /// Whether unknown answers are refused, and whether warnings prevent publishing.
    pub(crate) strict: bool,
    /// No visit begins after this time.
    pub(crate) closes_at: Option<Millis>,
    /// No visit begins after this many were completed.
    pub(crate) max_submissions: Option<i64>,
    /// A visit that is completed sooner looks like a program's.
    pub(crate) min_seconds: i64,
    /// The page that shows the funnel.
    pub(crate) page_url: Option<String>,
    /// All of them, as stored.
    pub(crate) all: Map<String, Json>,
}

/// How long submissions are kept, in days; none: for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Retention {
    /// As the site's settings say.
    Site,
    /// The same for all.
    All(Option<i64>),
    /// By the state in the inbox; states without an entry follow the site.
    ByStatus(BTreeMap<String, Option<i64>>),
}

impl FunnelSettings {
    /// Reads settings. A wrong setting is treated as unset.
    pub(crate) fn read(all: &Map<String, Json>) -> (Self, Vec<Problem>) {
        let mut reading = Reading { all, problems: Vec::new() };
        let size = Json::Object(all.clone()).to_string().len();
        if size > MOST_BYTES {
            let message = format!("at most {MOST_BYTES} bytes are expected");
            reading.problems.push(Problem::new("too_large", PATH, message));
        }
        let whole = |low: i64, most: i64| {
            move |value: &Json| value.as_i64().filter(|number| (low..=most).contains(number))
        };
        let hours = "1 to 8760 hours are expected";
        let zone = |value: &Json| TimeZone::get(value.as_str()?).ok();
        let time = |value: &Json| parse_rfc3339(value.as_str()?);
        let settings = Self {
            retention: reading.retention(),
            session_ttl_h: reading.one("session_ttl_h", hours, whole(1, 8760)).unwrap_or(TTL_H),
            timezone: reading.one("timezone", "an IANA time zone is expected", zone),
            strict: reading.one("strict", "true or false is expected", truth).unwrap_or_default(),
            closes_at: reading.one("closes_at", "a date-time with its offset is expected", time),
            max_submissions: reading.one(
                "max_submissions",
                "a whole number from 1 is expected",
                whole(1, i64::MAX),
            ),
            min_seconds: reading
                .one("min_seconds", "0 to 600 seconds are expected", whole(0, 600))
                .unwrap_or_default(),
            page_url: reading.one(
                "page_url",
                "an http(s) address is expected, without user name and without #",
                page,
            ),
            all: all.clone(),
        };
        (settings, reading.problems)
    }
}

/// The members that the service reads.
const KNOWN: [&str; 8] = [
    "retention_days", "session_ttl_h", "timezone", "strict", "closes_at", "max_submissions",
    "min_seconds", "page_url",
];

impl FunnelSettings {
    /// Unknown members whose names resemble a setting of the service. A front end may have keys of
    /// its own, so these are only warnings.
    pub(super) fn misspelt(&self) -> Vec<Problem> {
        let strange = self.all.keys().filter(|name| !KNOWN.contains(&name.as_str()));
        let problem = |name: &String| {
            let bare = |name: &str| name.replace(['_', '-'], "").to_lowercase();
            let same = KNOWN.into_iter().find(|known| bare(known) == bare(name));
            let near = || nearest(name, KNOWN.into_iter());
            // `page` and `time` are words of front ends.
            let meant = same.or_else(near).filter(|known| 2 * name.len() > known.len())?;
            let message = format!("the service does not read {name:?}: did you mean {meant:?}?");
            Some(Problem::new("unknown_setting", format!("{PATH}.{name}"), message))
        };
        strange.filter_map(problem).collect()
    }
}

/// The address of a page that a token can be added to.
fn page(value: &Json) -> Option<String> {
    let text = value.as_str().filter(|text| Address::Redirect.accepts(text))?;
    let url = url::Url::parse(text).ok()?;
    url.fragment().is_none().then(|| url.into())
}

const PATH: &str = "funnel.settings_json";

/// True, false, 1 or 0.
pub(super) fn truth(value: &Json) -> Option<bool> {
    value.as_bool().or_else(|| match value.as_i64() {
        Some(0) => Some(false),
        Some(1) => Some(true),
        _ => None,
    })
}

struct Reading<'a> {
    all: &'a Map<String, Json>,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn one<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Json) -> Option<T>,
    ) -> Option<T> {
        let value = self.all.get(name).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            self.wrong(name, expected);
        }
        read
    }

    fn wrong(&mut self, name: &str, expected: &str) {
        self.problems.push(Problem::new("bad_config", format!("{PATH}.{name}"), expected));
    }

    fn retention(&mut self) -> Retention {
        let days = |value: &Json| match value {
            Json::Null => Some(None),
            value => value.as_i64().filter(|days| (1..=36_500).contains(days)).map(Some),
        };
        let expected = "1 to 36500 days are expected, null to keep them, or these for each state \
                        in the inbox";
        let Some(value) = self.all.get("retention_days") else { return Retention::Site };
        let read = match value {
            Json::Object(states) => {
                let one = |(state, value): (&String, &Json)| {
                    let is_known = INBOX_STATUSES.contains(&state.as_str());
                    is_known.then(|| days(value)).flatten().map(|days| (state.clone(), days))
                };
                states.iter().map(one).collect::<Option<_>>().map(Retention::ByStatus)
            }
            value => days(value).map(Retention::All),
        };
        read.unwrap_or_else(|| {
            self.wrong("retention_days", expected);
            Retention::Site
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(settings: &Json) -> (FunnelSettings, Vec<Problem>) {
        FunnelSettings::read(settings.as_object().expect("an object"))
    }

    #[test]
    fn good_settings_are_read_and_the_front_ends_are_kept() {
        let (read, problems) = read(&json!({
            "session_ttl_h": 2, "timezone": "Europe/Berlin", "strict": 1, "theme": {"colour": 1},
            "closes_at": "2026-11-22T00:00:00Z", "max_submissions": 10, "min_seconds": 3,
            "retention_days": {"new": 30, "converted": null},
            "page_url": "https://example.org/offer?a=1",
        }));
        assert_eq!(problems, []);
        assert_eq!(read.page_url.as_deref(), Some("https://example.org/offer?a=1"));
        assert_eq!((read.session_ttl_h, read.strict, read.min_seconds), (2, true, 3));
        assert_eq!(read.max_submissions, Some(10));
        assert!(read.closes_at.is_some() && read.timezone.is_some());
        let kept = BTreeMap::from([("new".to_owned(), Some(30)), ("converted".to_owned(), None)]);
        assert_eq!(read.retention, Retention::ByStatus(kept));
        assert_eq!(read.all["theme"]["colour"], 1);
        let (read, problems) = FunnelSettings::read(&Map::new());
        assert_eq!((problems, read.session_ttl_h, read.strict), (Vec::new(), TTL_H, false));
        assert_eq!(read.retention, Retention::Site);
    }

    #[test]
    fn misspelt_settings_are_told_and_keys_of_front_ends_are_not() {
        let told = |name: &str| {
            let (read, problems) = read(&json!({name: 1}));
            assert_eq!(problems, [], "{name}");
            read.misspelt().pop().map(|one| (one.code, one.message))
        };
        for (name, meant) in [
            ("retention_day", "retention_days"),
            ("retention", "retention_days"),
            ("sessionTtlH", "session_ttl_h"),
            ("session-ttl-h", "session_ttl_h"),
            ("session_ttl", "session_ttl_h"),
            ("time_zone", "timezone"),
            ("Strict", "strict"),
            ("max_submission", "max_submissions"),
            ("min_second", "min_seconds"),
            ("pageurl", "page_url"),
            ("close_at", "closes_at"),
        ] {
            let message = format!("the service does not read {name:?}: did you mean {meant:?}?");
            assert_eq!(told(name), Some(("unknown_setting", message)), "{name}");
        }
        let own = ["theme", "page", "time", "texts", "colour", "progress", "steps", "logo", "x"];
        for name in own.into_iter().chain(KNOWN) {
            let (read, _) = read(&json!({name: 1}));
            assert_eq!(read.misspelt(), [], "{name}");
        }
    }

    #[test]
    fn each_wrong_setting_is_told() {
        for (name, value) in [
            ("session_ttl_h", json!(0)),
            ("session_ttl_h", json!("2")),
            ("timezone", json!("Mars/Base")),
            ("strict", json!("yes")),
            ("closes_at", json!("tomorrow")),
            ("max_submissions", json!(0)),
            ("min_seconds", json!(601)),
            ("retention_days", json!(0)),
            ("retention_days", json!({"lost": 1})),
            ("retention_days", json!({"new": -1})),
            ("page_url", json!("/offer")),
            ("page_url", json!("javascript:alert(1)")),
            ("page_url", json!("https://a:b@example.org")),
            ("page_url", json!("https://example.org/#offer")),
        ] {
            let (_, problems) = read(&json!({name: value}));
            let told: Vec<_> = problems.iter().map(|one| (one.code, one.path.as_str())).collect();
            assert_eq!(told, [("bad_config", &*format!("{PATH}.{name}"))], "{value}");
        }
        let (_, problems) = read(&json!({"a": "x".repeat(MOST_BYTES)}));
        assert_eq!((problems.len(), problems[0].code), (1, "too_large"));
    }
}
