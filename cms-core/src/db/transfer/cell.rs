//! Rows as text that is the same for both engines: a line of PostgreSQL's COPY format, each value
//! in its canonical form. Pure.

use std::borrow::Cow;

use jiff::civil;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use sha2::{Digest, Sha256};

use crate::db::Kind;

/// How COPY writes null.
pub(super) const NULL: &[u8] = b"\\N";

/// Why a value cannot be copied, to follow the name of its column.
pub(super) type Fault = &'static str;

/// One column of a primary key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Key {
    Int(i64),
    Text(String),
}

impl Key {
    /// As a literal of either engine. PostgreSQL's COPY takes no parameters.
    pub(super) fn literal(&self) -> String {
        match self {
            Self::Int(number) => number.to_string(),
            Self::Text(text) => literal(text),
        }
    }
}

/// A text as a literal; `standard_conforming_strings` is on.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Number and digest of rows. The digest is a sum, so that the order of rows does not matter and
/// parts of a table add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) rows: i64,
    pub(super) digest: u128,
}

impl Sum {
    pub(super) fn add(&mut self, line: &[u8]) {
        let hash = Sha256::digest(line);
        let part = hash.iter().take(16).fold(0, |part, byte| part << 8 | u128::from(*byte));
        self.rows += 1;
        self.digest = self.digest.wrapping_add(part);
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let digest = self.digest.wrapping_add(other.digest);
        Self { rows: self.rows + other.rows, digest }
    }
}

/// Appends a value as PostgreSQL does.
pub(super) fn escape(value: &[u8], line: &mut Vec<u8>) {
    for byte in value {
        let letter = match byte {
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            plain => {
                line.push(*plain);
                continue;
            }
        };
        line.extend([b'\\', letter]);
    }
}

/// The value that [`escape`] has written; None: null.
pub(super) fn unescape(cell: &[u8]) -> Option<Cow<'_, [u8]>> {
    if cell == NULL {
        return None;
    }
    if !cell.contains(&b'\\') {
        return Some(cell.into());
    }
    let mut value = Vec::with_capacity(cell.len());
    let mut bytes = cell.iter();
    while let Some(byte) = bytes.next() {
        value.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'b') => 0x08,
                Some(b'f') => 0x0c,
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(b'v') => 0x0b,
                Some(other) => *other,
                None => b'\\',
            },
            plain => *plain,
        });
    }
    Some(value.into())
}

/// The cells of a line.
pub(super) fn cells(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b'\t')
}

/// Whether values of this kind have more than one spelling.
pub(super) fn is_spelled(kind: Kind) -> bool {
    matches!(kind, Kind::Decimal | Kind::Double | Kind::Date | Kind::Time | Kind::DateTime)
}

/// The one spelling of a value.
pub(super) fn canonical(kind: Kind, text: &str) -> Result<Cow<'_, str>, Fault> {
    let spelled = match kind {
        Kind::Decimal => decimal(text)?,
        Kind::Double => {
            let number = text.parse().map_err(|_| "is not a number")?;
            double(number)?
        }
        Kind::Date => {
            let date = text.parse().ok().filter(|date: &civil::Date| date.year() > 0);
            date.ok_or("is not a day such as 2026-11-21")?.to_string()
        }
        Kind::Time => {
            let time = text.parse::<civil::Time>().map_err(|_| "is not a time such as 09:30:00")?;
            time.to_string()
        }
        Kind::DateTime => instant(text)?,
        _ => return Ok(text.into()),
    };
    Ok(if spelled == text { text.into() } else { spelled.into() })
}

pub(super) fn double(number: f64) -> Result<String, Fault> {
    if number.is_finite() { Ok(number.to_string()) } else { Err("is not a finite number") }
}

/// SQLite keeps decimals as doubles.
pub(super) fn decimal(text: &str) -> Result<String, Fault> {
    let spelled = plain(text).ok_or("is not a finite decimal number")?;
    let kept: f64 = text.parse().map_err(|_| "is not a decimal number")?;
    if plain(&kept.to_string()).as_ref() == Some(&spelled) {
        Ok(spelled)
    } else {
        Err("has more digits than SQLite keeps: round it to 15")
    }
}

/// A decimal without superfluous zeros.
fn plain(text: &str) -> Option<String> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    Some(match (whole, fraction.trim_end_matches('0')) {
        ("0", "") => "0".to_owned(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    })
}

/// `2026-11-21T09:30:00.250Z`, as SQLite keeps it. PostgreSQL writes `2026-11-21 09:30:00.25+00`.
fn instant(text: &str) -> Result<String, Fault> {
    const FAULT: Fault = "is not an instant such as 2026-11-21T09:30:00.000Z";
    let bare = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00")).ok_or(FAULT)?;
    let at: civil::DateTime = bare.parse().map_err(|_| FAULT)?;
    if at.year() < 1 {
        return Err(FAULT);
    }
    if at.subsec_nanosecond() % 1_000_000 != 0 {
        return Err("is finer than a millisecond: cut it with date_trunc('milliseconds', ...)");
    }
    let (date, ms) = (at.date(), at.millisecond());
    let (hour, minute, second) = (at.hour(), at.minute(), at.second());
    Ok(format!("{date}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"))
}

/// Text that both engines can hold.
pub(super) fn text(bytes: &[u8]) -> Result<&str, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text")?;
    if text.contains('\0') { Err("holds the character U+0000") } else { Ok(text) }
}

/// Whether a text is JSON. JSON that is nested too deep for this parser is left to PostgreSQL.
pub(super) fn json(text: &str) -> Result<(), Fault> {
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(error) if error.is_syntax() && !error.to_string().contains("recursion") => {
            Err("is not JSON")
        }
        Err(error) if error.is_eof() => Err("is not JSON"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_one_spelling() {
        for (kind, text, expected) in [
            (Kind::Decimal, "12.50", Ok("12.5")),
            (Kind::Decimal, "-0.00", Ok("0")),
            (Kind::Decimal, "007", Ok("7")),
            (Kind::Decimal, "0.1", Ok("0.1")),
            (Kind::Decimal, "1000000000000000000000", Ok("1000000000000000000000")),
            (Kind::Decimal, "123456789.123456789", Err(())),
            (Kind::Decimal, "NaN", Err(())),
            (Kind::Double, "1e+20", Ok("100000000000000000000")),
            (Kind::Double, "1e-05", Ok("0.00001")),
            (Kind::Double, "-Infinity", Err(())),
            (Kind::Double, "NaN", Err(())),
            (Kind::Date, "2026-11-21", Ok("2026-11-21")),
            (Kind::Date, "2026-02-30", Err(())),
            (Kind::Date, "infinity", Err(())),
            (Kind::Time, "09:30:00.250", Ok("09:30:00.25")),
            (Kind::DateTime, "2026-11-21 09:30:00.25+00", Ok("2026-11-21T09:30:00.250Z")),
            (Kind::DateTime, "9999-12-31T23:59:59.999Z", Ok("9999-12-31T23:59:59.999Z")),
            (Kind::DateTime, "2026-11-21 09:30:00.250001+00", Err(())),
            (Kind::DateTime, "2026-11-21 09:30:00", Err(())),
            (Kind::DateTime, "infinity", Err(())),
        ] {
            let found = canonical(kind, text).map_err(|_| ());
            assert_eq!(found.as_deref(), expected.as_deref(), "{kind:?} {text}");
        }
    }

    #[test]
    fn escaped_values_come_back() {
        for value in ["", "a\tb\n\\N", "\\N", "\u{8}\u{b}\u{c}\r\u{1}ü", "\\x00"] {
            let mut line = Vec::new();
            escape(value.as_bytes(), &mut line);
            assert!(!line.contains(&b'\t') && !line.contains(&b'\n') && line != NULL);
            assert_eq!(unescape(&line).as_deref(), Some(value.as_bytes()));
        }
        assert_eq!(unescape(NULL), None);
    }

    #[test]
    fn parts_add_up_in_any_order() {
        let (mut one, mut two, mut all) = (Sum::default(), Sum::default(), Sum::default());
        one.add(b"a");
        two.add(b"b");
        two.add(b"b");
        [b"b", b"a", b"b"].iter().for_each(|line| all.add(*line));
        assert_eq!(one.plus(two), all);
        assert_ne!(one.plus(one), two);
    }

    #[test]
    fn json_is_told_from_other_text() {
        assert!(json(r#"{"a": [1, null, "\u0000"]}"#).is_ok());
        assert!(json(&format!("{}{}", "[".repeat(200), "]".repeat(200))).is_ok());
        assert!(json("").is_err() && json("{").is_err() && json("{'a': 1}").is_err());
    }
}
