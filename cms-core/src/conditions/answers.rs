//! What the field of a rule names: an answer, a part of an answer, or one of the surroundings.

use std::borrow::Cow;

use jiff::{Timestamp, Zoned, tz::TimeZone};
use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

use crate::Millis;

/// Most bytes of a name under which an answer is stored; an id has up to 64.
const NAME: usize = 128;
/// The number of parts into which visitors are divided.
const BUCKETS: u64 = 100;

/// What rules can name beside answers.
pub(crate) const AROUND: [&str; 9] = [
    "_lang", "_bucket", "_hour", "_weekday", "_utm.source", "_utm.medium", "_utm.campaign",
    "_utm.term", "_utm.content",
];

/// Time, language and origin of the visitor whose answers are judged.
#[derive(Clone, Debug)]
pub struct Surroundings {
    now: Millis,
    timezone: TimeZone,
    /// `_lang`, `_bucket` and `_utm`.
    known: Map<String, Json>,
}

impl Surroundings {
    /// At this time, in milliseconds. Days begin as in UTC.
    #[must_use]
    pub fn at(now: Millis) -> Self {
        Self { now, timezone: TimeZone::UTC, known: Map::new() }
    }

    /// The zone in which days begin, and to which moments without an offset belong.
    #[must_use]
    pub fn zone(mut self, timezone: TimeZone) -> Self {
        self.timezone = timezone;
        self
    }

    /// The language of the funnel: `_lang`.
    #[must_use]
    pub fn language(mut self, language: &str) -> Self {
        self.known.insert("_lang".to_owned(), language.into());
        self
    }

    /// The session, which stays in one of a hundred parts: `_bucket`, 0 to 99.
    #[must_use]
    pub fn session(mut self, session: &str) -> Self {
        let digest = Sha256::digest(session.as_bytes());
        let number =
            digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        self.known.insert("_bucket".to_owned(), (number % BUCKETS).into());
        self
    }

    /// Where the visitor came from: `source` is `_utm.source`.
    #[must_use]
    pub fn utm(mut self, parts: Map<String, Json>) -> Self {
        self.known.insert("_utm".to_owned(), parts.into());
        self
    }

    pub(super) fn timezone(&self) -> &TimeZone {
        &self.timezone
    }

    pub(super) fn now(&self) -> Zoned {
        let now = Timestamp::from_millisecond(self.now).unwrap_or(Timestamp::UNIX_EPOCH);
        now.to_zoned(self.timezone.clone())
    }

    fn get(&self, name: &str) -> Cow<'_, Json> {
        match name {
            "_hour" => Cow::Owned(self.now().hour().into()),
            // Monday is 1 (ISO 8601).
            "_weekday" => Cow::Owned(self.now().weekday().to_monday_one_offset().into()),
            _ => within(&self.known, name),
        }
    }
}

/// The value that a name stands for: the answer stored under it, else a part of the answer with
/// the longest id before a point, else, for a name that begins with `_`, one of the surroundings.
/// Null when there is none.
pub(crate) fn find<'a>(
    name: &str,
    answers: &'a Map<String, Json>,
    surroundings: &'a Surroundings,
) -> Cow<'a, Json> {
    match within(answers, name) {
        Cow::Owned(Json::Null) if name.starts_with('_') => surroundings.get(name),
        found => found,
    }
}

fn within<'a>(values: &'a Map<String, Json>, name: &str) -> Cow<'a, Json> {
    if let Some(value) = values.get(name) {
        return Cow::Borrowed(value);
    }
    let points = name.match_indices('.').take_while(|(at, _)| *at <= NAME);
    let points: Vec<_> = points.map(|(at, _)| at).collect();
    for at in points.into_iter().rev() {
        if let Some(value) = values.get(&name[..at]) {
            return part(value, &name[at + 1..]);
        }
    }
    Cow::Owned(Json::Null)
}

/// A member, an element or the number of elements.
fn part<'a>(value: &'a Json, path: &str) -> Cow<'a, Json> {
    let (first, rest) =
        path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let found = match value {
        Json::Object(members) => match members.get(path) {
            Some(found) => return Cow::Borrowed(found),
            None => members.get(first),
        },
        Json::Array(items) if path == "length" => return Cow::Owned(items.len().into()),
        Json::Array(items) => {
            let is_number = first.bytes().all(|byte| byte.is_ascii_digit());
            first.parse().ok().filter(|_| is_number).and_then(|at: usize| items.get(at))
        }
        _ => None,
    };
    match (found, rest) {
        (Some(found), Some(rest)) => part(found, rest),
        (Some(found), None) => Cow::Borrowed(found),
        (None, _) => Cow::Owned(Json::Null),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_stand_for_answers_their_parts_and_what_is_around() {
        let answers = json!({
            "a": {"b": {"c": 1}, "x.y": 2}, "a.b": {"c": 3}, "list": [5, {"k": 6}], "_own": 7,
            "text": "abc", "rows": [], "length": 9,
        });
        // A Sunday, 23:30 in Vienna.
        let around = Surroundings::at(1_767_565_800_000)
            .zone(TimeZone::fixed(jiff::tz::offset(1)))
            .language("de")
            .session("1234")
            .utm(Map::from_iter([("source".to_owned(), "mail".into())]));
        let find =
            |name: &str| find(name, answers.as_object().expect("answers"), &around).into_owned();
        for (name, expected) in [
            ("a.b.c", json!(3)),
            ("a.x.y", json!(2)),
            ("a.b", json!({"c": 3})),
            ("list.0", json!(5)),
            ("list.1.k", json!(6)),
            ("list.2", json!(null)),
            ("list.+1", json!(null)),
            ("list.length", json!(2)),
            ("rows.length", json!(0)),
            ("text.length", json!(null)),
            ("length", json!(9)),
            ("missing.length", json!(null)),
            ("A", json!(null)),
            ("a ", json!(null)),
            ("", json!(null)),
            (".", json!(null)),
            ("a.", json!(null)),
            ("_own", json!(7)),
            ("_lang", json!("de")),
            ("_utm.source", json!("mail")),
            ("_utm.term", json!(null)),
            ("_hour", json!(23)),
            ("_weekday", json!(7)),
            ("_other", json!(null)),
            ("lang", json!(null)),
        ] {
            assert_eq!(find(name), expected, "{name}");
        }
        // The bucket of a session never changes: visitors would switch parts.
        assert_eq!(find("_bucket"), json!(96));
    }
}
