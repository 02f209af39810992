//! Decimal numbers of any length, compared digit by digit: nothing is rounded.

use std::{borrow::Cow, cmp::Ordering, fmt};

use serde_json::Number;

/// A number as its digits, without leading and trailing zeros.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Exact<'a> {
    is_negative: bool,
    whole: Cow<'a, str>,
    /// After the point.
    part: Cow<'a, str>,
}

impl<'a> Exact<'a> {
    /// Reads `[+-]?digits[.digits]`; blanks around it are allowed. No exponent, no hex, no comma.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_digits(whole) || !is_digits(part) {
            return None;
        }
        let (whole, part) = (whole.trim_start_matches('0'), part.trim_end_matches('0'));
        let is_zero = whole.is_empty() && part.is_empty();
        Some(Self {
            is_negative: text.starts_with('-') && !is_zero,
            whole: Cow::Borrowed(whole),
            part: Cow::Borrowed(part),
        })
    }

    /// Reads a JSON number, a double by its shortest digits.
    pub(super) fn of(number: &Number) -> Exact<'static> {
        let text = match number.as_f64() {
            // Never with an exponent.
            Some(double) if number.is_f64() => double.to_string(),
            _ => number.to_string(),
        };
        let read = Exact::parse(&text).map(Exact::into_owned);
        // JSON has no other numbers.
        read.unwrap_or(Exact { is_negative: false, whole: "".into(), part: "".into() })
    }

    pub(super) fn into_owned(self) -> Exact<'static> {
        Exact {
            is_negative: self.is_negative,
            whole: self.whole.into_owned().into(),
            part: self.part.into_owned().into(),
        }
    }

    /// 1 and 0 as yes and no.
    pub(super) fn truth(&self) -> Option<bool> {
        match (self.is_negative, &*self.whole, &*self.part) {
            (false, "1", "") => Some(true),
            (false, "", "") => Some(false),
            _ => None,
        }
    }
}

impl PartialOrd for Exact<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Exact<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = |one: &Self, two: &Self| {
            let longer = one.whole.len().cmp(&two.whole.len());
            longer.then_with(|| one.whole.cmp(&two.whole)).then_with(|| one.part.cmp(&two.part))
        };
        match (self.is_negative, other.is_negative) {
            (false, false) => size(self, other),
            (true, true) => size(other, self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl fmt::Display for Exact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        let whole = if self.whole.is_empty() { "0" } else { &self.whole };
        write!(f, "{sign}{whole}")?;
        if self.part.is_empty() { Ok(()) } else { write!(f, ".{}", self.part) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_have_an_order() {
        let ascending = [
            "-9007199254740993.5",
            "-9007199254740993",
            "-10",
            "-9.5",
            "-0.5",
            "-0.05",
            "0",
            "0.049",
            "0.05",
            "0.5",
            "1",
            "9.99",
            "10",
            "9007199254740992",
            "9007199254740993",
            "100000000000000000000000000000000000000000",
        ];
        for (at, one) in ascending.iter().enumerate() {
            for (other_at, other) in ascending.iter().enumerate() {
                let [read, other] = [one, other].map(|text| Exact::parse(text).expect("a number"));
                assert_eq!(read.cmp(&other), at.cmp(&other_at), "{read} {other}");
            }
        }
    }

    #[test]
    fn a_number_is_shown_by_its_shortest_digits() {
        for (text, shown) in
            [("-0", "0"), (" +7 ", "7"), ("007.500", "7.5"), ("-.0", ""), ("0.0", "0"), ("5.", "")]
        {
            let read = Exact::parse(text).map(|number| number.to_string()).unwrap_or_default();
            assert_eq!(read, shown, "{text:?}");
        }
        for wrong in ["", " ", "-", "1e3", "0x10", "1,5", "1 0", "--1", "٣", "NaN", "1_0"] {
            assert_eq!(Exact::parse(wrong), None, "{wrong:?}");
        }
        for (number, shown) in [
            (Number::from_f64(15.0), "15"),
            (Number::from_f64(1e21), "1000000000000000000000"),
            (Number::from_f64(-0.0), "0"),
            (Number::from_f64(1e-7), "0.0000001"),
            (Some(u64::MAX.into()), "18446744073709551615"),
        ] {
            assert_eq!(Exact::of(&number.expect("finite")).to_string(), shown);
        }
    }
}
