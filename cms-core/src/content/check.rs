//! Checks values against the type of their column before the database sees them, so that both
//! engines answer alike.
//!
//! Numbers and booleans may also be sent as text, because forms and CSV send only text.

use std::{
    borrow::Cow,
    num::IntErrorKind::{NegOverflow, PosOverflow},
};

use data_encoding::{BASE64, HEXLOWER};
use jiff::civil;
use serde_json::{Number, Value};

use super::{form, table::Column};
use crate::{
    FieldError,
    db::dialect::{Dialect, Kind},
    ground::clock,
};

/// Digits that both engines keep exactly.
const DECIMAL_DIGITS: usize = 15;

/// Most digits after the point, where SQLite keeps a decimal as a double.
const DECIMAL_PLACES: usize = 20;

/// Most characters of a decimal, zeros included.
const DECIMAL_LENGTH: usize = 1000;

/// Most significant digits of any double.
const DOUBLE_DIGITS: usize = 767;

/// Values of an enum that an error shows.
const SHOWN: usize = 20;

/// The value in its canonical form, or the fault.
pub(crate) fn value(column: &Column, dialect: Dialect, sent: &Value) -> Result<Value, FieldError> {
    let wrong = |code: &'static str, message: &str| FieldError {
        field: column.name.clone(),
        code,
        message: message.to_owned(),
    };
    if sent.is_null() {
        return if column.required {
            Err(wrong("required", "may not be null"))
        } else {
            Ok(Value::Null)
        };
    }
    if contains_nul(sent) {
        return Err(wrong("format", "text cannot hold the character U+0000"));
    }
    let spelled = match sent {
        Value::String(text) => text.trim(),
        _ => "",
    };
    let checked = match column.kind {
        Kind::Integer => integer(sent, spelled).map(Value::from),
        Kind::Double => double(sent, spelled),
        Kind::Decimal => decimal(sent, spelled, dialect.limits_decimals(column.own)),
        Kind::Boolean => boolean(sent, spelled).map(Value::from),
        Kind::Text | Kind::Password => match sent {
            Value::String(_) => Ok(sent.clone()),
            // Options are declared as numbers and truth values too.
            Value::Number(_) | Value::Bool(_) if column.field_type == "select" => {
                Ok(sent.to_string().into())
            }
            _ => Err(("type", "text is expected")),
        },
        Kind::Date => date(spelled)
            .map(Value::from)
            .ok_or(("type", "a day is expected, such as \"2026-11-21\"")),
        Kind::Time => time(spelled)
            .map(Value::from)
            .ok_or(("type", "a time of day without offset is expected, such as \"09:30:00\"")),
        Kind::DateTime => instant(spelled, column.own)
            .map(Value::from)
            .ok_or(("type", "an instant is expected, such as \"2026-11-21T09:30:00Z\"")),
        Kind::Json => Ok(sent.to_string().into()),
        Kind::Binary => BASE64
            .decode(spelled.as_bytes())
            .ok()
            .filter(|_| sent.is_string())
            .map(|bytes| HEXLOWER.encode(&bytes).into())
            .ok_or(("type", "base64 text is expected")),
    };
    checked.map_err(|(code, message)| wrong(code, message))
}

/// The values of an enum in their canonical form, or why they cannot be one.
pub(crate) fn allowed(
    column: &Column,
    dialect: Dialect,
    values: &[Value],
) -> Result<Vec<Value>, String> {
    if values.is_empty() {
        return Err("its enum has no values".to_owned());
    }
    if matches!(column.kind, Kind::Password | Kind::Binary) {
        return Err("its values cannot be compared, so it has no enum".to_owned());
    }
    let canonical = |sent: &Value| match (column.kind, sent) {
        (_, Value::Null) => Err("its enum holds null: leave `required` out instead".to_owned()),
        (Kind::Json, sent) => Ok(sent.clone()),
        _ => value(column, dialect, sent)
            .map_err(|e| format!("its enum holds {sent}: {}", e.message)),
    };
    values.iter().map(canonical).collect()
}

/// Checks a value against the form of the column's field type and its enum. `checked` is `sent` in
/// its canonical form.
pub(crate) fn permitted(column: &Column, sent: &Value, checked: &Value) -> Result<(), FieldError> {
    form::fits(column, checked)?;
    let Some(allowed) = &column.allowed else { return Ok(()) };
    let same = |one: &Value| match column.kind {
        Kind::Decimal => number(one).is_some_and(|one| number(checked) == Some(one)),
        _ => one == checked,
    };
    let fits = match (column.kind, sent) {
        (_, Value::Null) => true,
        (Kind::Json, Value::Array(entries)) => entries.iter().all(|entry| allowed.contains(entry)),
        (Kind::Json, _) => allowed.contains(sent),
        _ => allowed.iter().any(same),
    };
    if fits {
        return Ok(());
    }
    let shown: Vec<_> = allowed.iter().take(SHOWN).map(Value::to_string).collect();
    let more = if allowed.len() > SHOWN { ", …" } else { "" };
    let message = format!("one of {}{more} is expected", shown.join(", "));
    Err(FieldError { field: column.name.clone(), code: "enum", message })
}

fn number(value: &Value) -> Option<f64> {
    value.as_str()?.parse().ok()
}

/// Checks a value of a query parameter.
pub(crate) fn text(column: &Column, dialect: Dialect, sent: &str) -> Result<Value, FieldError> {
    match column.kind {
        Kind::Json if sent.contains('\0') => value(column, dialect, &sent.into()),
        // Kept as sent, because the database compares it with the stored text.
        Kind::Json => match serde_json::from_str(sent) {
            Ok(parsed) => value(column, dialect, &parsed).map(|_| sent.into()),
            Err(_) => Err(FieldError {
                field: column.name.clone(),
                code: "type",
                message: "a JSON value is expected, such as [\"a\"]".to_owned(),
            }),
        },
        _ => value(column, dialect, &sent.into()),
    }
}

type Checked<T> = Result<T, (&'static str, &'static str)>;

fn integer(sent: &Value, spelled: &str) -> Checked<i64> {
    let no_integer = ("type", "a whole number is expected");
    let found = match sent {
        Value::Number(n) if n.is_f64() => {
            let whole = n.as_f64().filter(|n| n.fract() == 0.0).ok_or(no_integer)?;
            // From 2^53 on a double may stand for several whole numbers.
            if whole.abs() >= 9_007_199_254_740_992.0 {
                let message = "a whole number of more than 15 digits is expected without point \
                               and exponent, from -9223372036854775808 to 9223372036854775807";
                return Err(("range", message));
            }
            Some(whole as i64)
        }
        Value::Number(n) => n.as_i64(),
        Value::String(_) => match spelled.parse::<i64>() {
            Ok(found) => Some(found),
            Err(e) if matches!(e.kind(), PosOverflow | NegOverflow) => None,
            Err(_) => return Err(no_integer),
        },
        _ => return Err(no_integer),
    };
    found.ok_or((
        "range",
        "a whole number from -9223372036854775808 to 9223372036854775807 is expected",
    ))
}

fn double(sent: &Value, spelled: &str) -> Checked<Value> {
    let (number, spelled) = match sent {
        Value::Number(n) if n.is_f64() => (n.as_f64(), Cow::Borrowed("")),
        Value::Number(n) => (n.as_f64(), n.to_string().into()),
        Value::String(_)
            if spelled.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) =>
        {
            (spelled.parse().ok(), spelled.into())
        }
        _ => (None, spelled.into()),
    };
    let number: f64 = number.ok_or(("type", "a number is expected"))?;
    if number.is_finite() && !keeps_digits(number, &spelled) {
        return Err((
            "range",
            "a number is expected that keeps its digits: at most 17, and whole numbers of at \
             most 15",
        ));
    }
    // Minus zero becomes zero on both engines.
    Number::from_f64(number + 0.0)
        .map(Value::Number)
        .ok_or(("range", "a finite number is expected"))
}

/// Whether a double keeps the significant digits of its text. Any number of 17 digits is taken, and
/// any whole number of 15.
fn keeps_digits(number: f64, spelled: &str) -> bool {
    let digits = |text: &str| significant_digits(text.as_bytes()).collect::<Vec<_>>();
    let expected = digits(spelled);
    let taken = if spelled.contains(['.', 'e', 'E']) { 17 } else { 15 };
    if expected.len() <= taken {
        return expected.is_empty() || number != 0.0;
    }
    let places = expected.len() - 1;
    places < DOUBLE_DIGITS && digits(&format!("{number:.places$e}")) == expected
}

/// The digits of a number's text from the first to the last that is not zero, without exponent.
pub fn significant_digits(number: &[u8]) -> impl Iterator<Item = u8> {
    let is_exponent = |byte: &u8| matches!(byte, b'e' | b'E');
    let mantissa = number.split(is_exponent).next().unwrap_or_default();
    let counts = |byte: &u8| (b'1'..=b'9').contains(byte);
    let start = mantissa.iter().position(counts).unwrap_or(0);
    let end = mantissa.iter().rposition(counts).map_or(0, |last| last + 1);
    mantissa[start..end].iter().copied().filter(u8::is_ascii_digit)
}

fn decimal(sent: &Value, spelled: &str, limited: bool) -> Checked<Value> {
    let text = match sent {
        Value::Number(n) if n.is_f64() => n.as_f64().map(|f| f.to_string()).unwrap_or_default(),
        Value::Number(n) => n.to_string(),
        Value::String(_) => spelled.to_owned(),
        _ => return Err(("type", "a decimal number is expected, such as 12.5")),
    };
    let digits = text.strip_prefix('-').unwrap_or(&text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return Err(("type", "a decimal number is expected, such as 12.5"));
    }
    if text.len() > DECIMAL_LENGTH {
        return Err(("range", "a decimal number of at most 1000 characters is expected"));
    }
    let (digits, places) = significant(whole, fraction);
    if limited && (digits > DECIMAL_DIGITS || places > DECIMAL_PLACES) {
        return Err((
            "range",
            "a decimal number of at most 15 digits, at most 20 after the point, is expected",
        ));
    }
    Ok(Value::String(text))
}

/// The number of significant digits of a decimal, and how many of them follow its point.
fn significant(whole: &str, fraction: &str) -> (usize, usize) {
    let fraction = fraction.trim_end_matches('0');
    (format!("{whole}{fraction}").trim_start_matches('0').len(), fraction.len())
}

/// A checked decimal as a JSON number, if that carries all of its digits (IEEE 754 binary64).
pub(crate) fn decimal_number(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (digits, _) = significant(whole.trim_start_matches('-'), fraction);
    if digits > DECIMAL_DIGITS {
        return None;
    }
    text.parse().ok()
}

fn boolean(sent: &Value, spelled: &str) -> Checked<bool> {
    match (sent, spelled) {
        (Value::Bool(b), _) => Ok(*b),
        (Value::Number(n), _) if n.as_i64() == Some(1) => Ok(true),
        (Value::Number(n), _) if n.as_i64() == Some(0) => Ok(false),
        (_, "true" | "1") => Ok(true),
        (_, "false" | "0") => Ok(false),
        _ => Err(("type", "true or false is expected")),
    }
}

fn date(spelled: &str) -> Option<String> {
    let date: civil::Date = spelled.parse().ok()?;
    (spelled.len() == 10 && date.year() > 0).then(|| date.to_string())
}

/// Cut to microseconds, the precision of PostgreSQL, which would round up to 24:00.
fn time(spelled: &str) -> Option<String> {
    // The parser would drop an offset.
    let is_bare = spelled.bytes().all(|b| b.is_ascii_digit() || b":.,".contains(&b));
    let time: civil::Time = spelled.parse().ok().filter(|_| is_bare)?;
    let kept =
        time.with().subsec_nanosecond(time.subsec_nanosecond() / 1_000 * 1_000).build().ok()?;
    (spelled.as_bytes().get(2) == Some(&b':')).then(|| kept.to_string())
}

/// Reads RFC 3339, or a day alone. Own columns keep milliseconds, others microseconds.
fn instant(spelled: &str, own: bool) -> Option<String> {
    let utc = clock::utc(spelled)?;
    let unit = if own { 1_000_000 } else { 1_000 };
    let kept = utc.with().subsec_nanosecond(utc.subsec_nanosecond() / unit * unit).build().ok()?;
    (kept.year() > 0).then(|| format!("{kept}Z"))
}

fn contains_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(contains_nul),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.contains('\0') || contains_nul(value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn column(kind: Kind) -> Column {
        Column::declared("c", kind)
    }

    #[test]
    fn an_enum_binds_values_and_entries() {
        let bound = |kind, list: Value| {
            let column = column(kind);
            let list = allowed(&column, Dialect::Sqlite, list.as_array().expect("a list"));
            list.map(|list| Column { allowed: Some(list), ..column })
        };
        let fits = |column: &Column, sent: Value| {
            let checked = value(column, Dialect::Sqlite, &sent).expect("a value of the type");
            permitted(column, &sent, &checked).map_err(|e| e.code)
        };
        let text = bound(Kind::Text, json!(["a", "b"])).expect("an enum");
        for (sent, expected) in [
            (json!("a"), Ok(())),
            (json!("A"), Err("enum")),
            (json!(""), Err("enum")),
            (json!(null), Ok(())),
        ] {
            assert_eq!(fits(&text, sent.clone()), expected, "{sent}");
        }
        let decimal = bound(Kind::Decimal, json!([1.5, "2.50"])).expect("an enum");
        assert_eq!(fits(&decimal, json!("1.50")), Ok(()));
        assert_eq!(fits(&decimal, json!(2.5)), Ok(()));
        assert_eq!(fits(&decimal, json!(3)), Err("enum"));
        let rights = bound(Kind::Json, json!(["read", 1])).expect("an enum");
        for (sent, expected) in [
            (json!(["read", 1]), Ok(())),
            (json!([]), Ok(())),
            (json!("read"), Ok(())),
            (json!(["read", "write"]), Err("enum")),
            (json!({"read": 1}), Err("enum")),
        ] {
            assert_eq!(fits(&rights, sent.clone()), expected, "{sent}");
        }
        for (kind, list) in [
            (Kind::Integer, json!([1, "x"])),
            (Kind::Text, json!([null])),
            (Kind::Text, json!([])),
            (Kind::Password, json!(["x"])),
        ] {
            assert!(bound(kind, list.clone()).is_err(), "{list}");
        }
    }

    #[test]
    fn values_take_their_canonical_form_or_are_refused() {
        let ok = |v: Value| Ok::<Value, &str>(v);
        for (kind, sent, expected) in [
            (Kind::Integer, json!(5), ok(json!(5))),
            (Kind::Integer, json!("5"), ok(json!(5))),
            (Kind::Integer, json!(5.0), ok(json!(5))),
            (Kind::Integer, json!(i64::MIN), ok(json!(i64::MIN))),
            (Kind::Integer, json!(5.5), Err("type")),
            (Kind::Integer, json!(9_223_372_036_854_775_808_u64), Err("range")),
            (Kind::Integer, json!(1e300), Err("range")),
            (Kind::Integer, json!(9_007_199_254_740_991.0), ok(json!(9_007_199_254_740_991_i64))),
            (Kind::Integer, json!(9_007_199_254_740_992.0), Err("range")),
            (Kind::Integer, json!("9223372036854775808"), Err("range")),
            (Kind::Integer, json!("-9223372036854775809"), Err("range")),
            (Kind::Integer, json!(""), Err("type")),
            (Kind::Integer, json!("abc"), Err("type")),
            (Kind::Integer, json!("1.5"), Err("type")),
            (Kind::Integer, json!(true), Err("type")),
            (Kind::Double, json!(-0.0), ok(json!(0.0))),
            (Kind::Double, json!("1.5e3"), ok(json!(1500.0))),
            (Kind::Double, json!("inf"), Err("type")),
            (Kind::Double, json!("1e999"), Err("range")),
            (Kind::Double, json!("1e-400"), Err("range")),
            (Kind::Double, json!("0.0e-400"), ok(json!(0.0))),
            (Kind::Double, json!("0.1"), ok(json!(0.1))),
            (Kind::Double, json!("-1.2345678901234567"), ok(json!(-1.234_567_890_123_456_7))),
            (Kind::Double, json!("0.123456789012345678901234567890"), Err("range")),
            (Kind::Double, json!("0.1000000000000000055511151231257827"), ok(json!(0.1))),
            (Kind::Double, json!(format!("0.{}", "1".repeat(100_000))), Err("range")),
            (Kind::Double, json!(9_007_199_254_740_992_i64), ok(json!(9_007_199_254_740_992.0))),
            (Kind::Double, json!(9_007_199_254_740_993_i64), Err("range")),
            (Kind::Double, json!("9007199254740993"), Err("range")),
            // As JavaScript writes the double 2^63.
            (
                Kind::Double,
                json!(9_223_372_036_854_776_000_u64),
                ok(json!(9_223_372_036_854_775_808.0)),
            ),
            (Kind::Decimal, json!(12.5), ok(json!("12.5"))),
            (Kind::Decimal, json!("12.50"), ok(json!("12.50"))),
            (Kind::Decimal, json!("1234567890.12345"), ok(json!("1234567890.12345"))),
            (Kind::Decimal, json!("1234567890.123456"), Err("range")),
            (Kind::Decimal, json!("0.00000000000000000001"), ok(json!("0.00000000000000000001"))),
            (Kind::Decimal, json!("0.000000000000000000001"), Err("range")),
            (
                Kind::Decimal,
                json!("1.000000000000000000000000"),
                ok(json!("1.000000000000000000000000")),
            ),
            (Kind::Decimal, json!("0".repeat(1001)), Err("range")),
            (Kind::Decimal, json!("1e5"), Err("type")),
            (Kind::Decimal, json!("."), Err("type")),
            (Kind::Boolean, json!(1), ok(json!(true))),
            (Kind::Boolean, json!("false"), ok(json!(false))),
            (Kind::Boolean, json!(2), Err("type")),
            (Kind::Text, json!(" x "), ok(json!(" x "))),
            (Kind::Text, json!("a\0b"), Err("format")),
            (Kind::Text, json!(5), Err("type")),
            (Kind::Date, json!("2024-02-29"), ok(json!("2024-02-29"))),
            (Kind::Date, json!("2023-02-29"), Err("type")),
            (Kind::Date, json!("2024-02-29T00:00:00Z"), Err("type")),
            (Kind::Time, json!("09:30"), ok(json!("09:30:00"))),
            (Kind::Time, json!("23:59:59.9999999"), ok(json!("23:59:59.999999"))),
            (Kind::Time, json!("25:00"), Err("type")),
            (Kind::Time, json!("09:30:00+02:00"), Err("type")),
            (Kind::Time, json!("09:30:00-02"), Err("type")),
            (Kind::Time, json!("09:30[Europe/Berlin]"), Err("type")),
            (Kind::DateTime, json!("2026-11-21T10:30:00+01:00"), ok(json!("2026-11-21T09:30:00Z"))),
            (Kind::DateTime, json!("2026-11-21 09:30Z"), ok(json!("2026-11-21T09:30:00Z"))),
            // It may be the time of any zone.
            (Kind::DateTime, json!("2026-11-21 09:30"), Err("type")),
            (Kind::DateTime, json!("2026-11-21T09:30:00"), Err("type")),
            (Kind::DateTime, json!("9999-12-31T23:59:59.999"), Err("type")),
            (
                Kind::DateTime,
                json!("2026-11-21T09:30:00.12345Z"),
                ok(json!("2026-11-21T09:30:00.123Z")),
            ),
            (
                Kind::DateTime,
                json!("9999-12-31T23:59:59.999Z"),
                ok(json!("9999-12-31T23:59:59.999Z")),
            ),
            (Kind::DateTime, json!("2026-11-21T23:30:00-01:00"), ok(json!("2026-11-22T00:30:00Z"))),
            (Kind::DateTime, json!("9999-12-31T23:30:00-05:00"), Err("type")),
            (Kind::DateTime, json!("2026-11-21"), ok(json!("2026-11-21T00:00:00Z"))),
            (Kind::DateTime, json!("yesterday"), Err("type")),
            (Kind::DateTime, json!("2026-11-21T09:30:00+23:59"), ok(json!("2026-11-20T09:31:00Z"))),
            (Kind::DateTime, json!("2026-11-21T09:30:00+24:00"), Err("type")),
            (Kind::DateTime, json!("2026-11-21T23:59:60Z"), ok(json!("2026-11-21T23:59:59Z"))),
            (Kind::Json, json!({"b": [1, null]}), ok(json!("{\"b\":[1,null]}"))),
            (Kind::Json, json!({"b": "\0"}), Err("format")),
            (Kind::Binary, json!("AAEC/w=="), ok(json!("000102ff"))),
            (Kind::Binary, json!("AAE"), Err("type")),
            (Kind::Text, json!(null), ok(json!(null))),
        ] {
            let found = value(&column(kind), Dialect::Sqlite, &sent).map_err(|e| e.code);
            assert_eq!(found, expected, "{kind:?} {sent}");
        }
        assert_eq!(
            value(&Column { required: true, ..column(Kind::Text) }, Dialect::Sqlite, &json!(null))
                .map_err(|e| e.code),
            Err("required")
        );
    }
}
