//! Reads what a command is given: files or standard input, ids and names, durations, moments.

use std::{fs, io::Read, path::Path};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _, ValueParser};
use cms_core::{Clock, Millis, parse_rfc3339};
use cms_http::wire::parameters::Moment;
use serde_json::{Map, Value as Json};

use crate::output::{Done, Exit, Failure};

/// All bytes.
pub(crate) fn bytes(file: &Path) -> Done<Vec<u8>> {
    let read = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    read.map_err(|e| Failure::file(file, &e))
}

/// All text, which must be UTF-8.
pub(crate) fn text(file: &Path) -> Done<String> {
    let no_text = |_| Failure::file(file, &std::io::Error::other("the content is not UTF-8 text"));
    String::from_utf8(bytes(file)?).map_err(no_text)
}

/// A JSON object.
pub(crate) fn object(file: &Path) -> Done<Map<String, Json>> {
    let wrong =
        |why: String| Failure::usage(format!("{} must hold a JSON object{why}", file.display()));
    let json: Json = serde_json::from_str(&text(file)?).map_err(|e| wrong(format!(": {e}")))?;
    match json {
        Json::Object(object) => Ok(object),
        _ => Err(wrong(String::new())),
    }
}

/// The named things: the arguments, or for `-` the first column of each line of standard input,
/// in the form that lists have in a pipe.
pub(crate) fn named(given: Vec<String>) -> Done<Vec<String>> {
    match given.iter().any(|one| one == "-") {
        false => Ok(given),
        true if given.len() > 1 => Err(Failure::usage(
            "- stands for all that standard input names: give nothing beside it",
        )),
        true => match first_column(&text("-".as_ref())?) {
            // An empty list: there is nothing to do, which is no failure.
            none if none.is_empty() => Err(Failure::silent(Exit::Ok)),
            named => Ok(named),
        },
    }
}

/// As [`named`], for things that have only ids.
pub(crate) fn ids(given: Vec<String>) -> Done<Vec<i64>> {
    let id = |text: String| {
        text.parse().map_err(|_| Failure::usage(format!("an id is expected, not {text:?}")))
    };
    named(given)?.into_iter().map(id).collect()
}

fn first_column(text: &str) -> Vec<String> {
    let first = |line: &str| line.split('\t').next().unwrap_or_default().trim().to_owned();
    text.lines().map(first).filter(|word| !word.is_empty()).collect()
}

/// Reads the name of one of these values, each of which has its help.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    values: &'static [(T, &'static str)],
    name: fn(T) -> &'static str,
) -> ValueParser {
    let possible = values.iter().map(|(value, help)| PossibleValue::new(name(*value)).help(*help));
    let parser = PossibleValuesParser::new(possible).try_map(move |text| {
        let found = values.iter().find(|(value, _)| name(*value) == text);
        found.map(|(value, _)| *value).ok_or("unknown")
    });
    parser.into()
}

/// Reads `30s`, `10m`, `2h`, `7d`, or plain seconds.
pub(crate) fn seconds(text: &str) -> Result<i64, String> {
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => (&text[..at], &text[at..]),
        None => (text, "s"),
    };
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return Err("write a time such as 30s, 10m, 2h or 7d".to_owned()),
    };
    let number: i64 =
        number.parse().map_err(|_| "write a time such as 30s, 10m, 2h or 7d".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "the time is too long".to_owned())
}

/// Reads a day such as `2027-01-31`.
pub(crate) fn day(text: &str) -> Result<String, String> {
    let is_day = text.len() == 10 && parse_rfc3339(&format!("{text}T00:00:00Z")).is_some();
    is_day.then(|| text.to_owned()).ok_or_else(|| "write a day such as 2027-01-31".to_owned())
}

/// Reads a date-time such as `2026-11-21T09:30:00Z`, or a span back from now such as `2h`.
pub(crate) fn moment(text: &str) -> Result<Moment, String> {
    moment_at(text, Clock::system().now()).map(Moment).ok_or_else(|| {
        "write a date-time such as 2026-11-21T09:30:00Z, or a span back such as 30m, 2h or 7d"
            .to_owned()
    })
}

fn moment_at(text: &str, now: Millis) -> Option<Millis> {
    if let Some(at) = parse_rfc3339(text) {
        return Some(at);
    }
    // A number alone is not a span: it may be the beginning of a date.
    let span = seconds(text).ok().filter(|_| text.ends_with(['s', 'm', 'h', 'd']))?;
    now.checked_sub(span.checked_mul(1000)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_lists_name_what_their_first_column_says() {
        let text = "3\tshop\ttrue\n\n  4 \nmy key\tx\n";
        assert_eq!(first_column(text), ["3", "4", "my key"]);
        assert_eq!(first_column(""), [""; 0]);
        let given = || vec!["3".to_owned(), "shop".to_owned()];
        assert_eq!(named(given()).expect("named"), given());
        assert!(named(vec!["3".to_owned(), "-".to_owned()]).is_err());
        assert!(ids(given()).is_err());
    }

    #[test]
    fn times() {
        for (text, expected) in
            [("0", Ok(0)), ("30s", Ok(30)), ("10m", Ok(600)), ("2h", Ok(7200)), ("7d", Ok(604_800))]
        {
            assert_eq!(seconds(text), expected, "{text}");
        }
        for text in ["", "m", "1w", "-1s", "1.5h", "99999999999999999d"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn days_have_one_spelling() {
        assert_eq!(day("2028-02-29").as_deref(), Ok("2028-02-29"));
        for text in ["2030-13-01", "2027-02-29", "2027-1-31", "20270131", "tomorrow", ""] {
            assert!(day(text).is_err(), "{text}");
        }
    }

    #[test]
    fn moments_are_date_times_or_spans_back() {
        let now = 1_800_000_000_000;
        for (text, expected) in [
            ("2026-11-21T09:30:00Z", Some(1_795_253_400_000)),
            ("2026-11-21T10:30:00+01:00", Some(1_795_253_400_000)),
            ("30s", Some(now - 30_000)),
            ("2h", Some(now - 7_200_000)),
            ("2d", Some(now - 172_800_000)),
            ("2026", None),
            ("2026-11-21", None),
            ("-2h", None),
            ("2w", None),
            ("yesterday", None),
            ("", None),
            ("9999999999999999d", None),
        ] {
            assert_eq!(moment_at(text, now), expected, "{text}");
        }
    }
}
