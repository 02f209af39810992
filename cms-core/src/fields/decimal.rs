//! Decimal numbers, compared exactly.

mod arithmetic;

use std::cmp::Ordering;

use serde_json::{Number, Value as Json};

/// Digits that a JSON number carries without loss (IEEE 754 binary64).
const MOST_DIGITS: usize = 15;

/// `units` divided by ten to the power of `scale`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    units: i128,
    scale: u32,
}

impl Decimal {
    /// Reads digits with a point, as `-12.50`. None for anything else, exponents included, and for
    /// more than 15 significant digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_form = !whole.is_empty() && is_digits(whole) && is_digits(part);
        let has_part = digits.len() == whole.len() || !part.is_empty();
        let part = part.trim_end_matches('0');
        let significant = [whole, part].concat();
        let significant = significant.trim_start_matches('0');
        if !is_form || !has_part || significant.len() > MOST_DIGITS || part.len() > MOST_DIGITS {
            return None;
        }
        let units: i128 = if significant.is_empty() { 0 } else { significant.parse().ok()? };
        let units = if text.starts_with('-') { -units } else { units };
        Some(Self { units, scale: u32::try_from(part.len()).ok()? })
    }

    /// Reads a JSON number; see [`Decimal::parse`] for what it refuses.
    pub(super) fn of(number: &Number) -> Option<Self> {
        match number.as_f64() {
            // Never with an exponent.
            Some(float) if number.is_f64() => Self::parse(&float.to_string()),
            _ => Self::parse(&number.to_string()),
        }
    }

    /// Digits after the point.
    pub(super) fn decimals(self) -> u32 {
        self.scale
    }

    pub(super) fn json(self) -> Json {
        if self.scale == 0
            && let Ok(whole) = i64::try_from(self.units)
        {
            return whole.into();
        }
        self.to_string().parse::<f64>().map_or(Json::Null, Json::from)
    }

    /// Whether it is a multiple of `step`, counted from `start`. A step of 0 fits everything.
    pub(super) fn is_on(self, step: Self, start: Self) -> bool {
        let scale = self.scale.max(step.scale).max(start.scale);
        let [own, step, start] = [self, step, start].map(|number| number.at(scale));
        step == 0 || (own - start) % step == 0
    }

    fn at(self, scale: u32) -> i128 {
        self.units * 10_i128.pow(scale - self.scale)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        self.at(scale).cmp(&other.at(scale))
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.units < 0 { "-" } else { "" };
        let (power, units) = (10_u128.pow(self.scale), self.units.unsigned_abs());
        write!(f, "{sign}{}", units / power)?;
        match self.scale {
            0 => Ok(()),
            scale => write!(f, ".{:0width$}", units % power, width = scale as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Decimal {
        Decimal::parse(text).unwrap_or_else(|| panic!("{text} is no number"))
    }

    #[test]
    fn numbers_are_exact() {
        for (text, shown) in [
            ("0", "0"),
            ("-0", "0"),
            ("+7", "7"),
            ("007", "7"),
            ("-12.50", "-12.5"),
            ("0.05", "0.05"),
            ("-0.05", "-0.05"),
            ("123456789012345", "123456789012345"),
            ("0.000000000000001", "0.000000000000001"),
        ] {
            assert_eq!(parse(text).to_string(), shown, "{text}");
        }
        assert!(parse("0.3").is_on(parse("0.1"), parse("0")));
        assert!(!parse("0.35").is_on(parse("0.1"), parse("0")));
        assert!(parse("-1.5") < parse("-1.49") && parse("2") == parse("2.0"));
        assert_eq!(parse("2.50").json(), serde_json::json!(2.5));
    }

    #[test]
    fn what_is_no_plain_number_is_refused() {
        for text in [
            "",
            ".",
            "-",
            "1.",
            ".5",
            "1e3",
            "0x10",
            "NaN",
            "inf",
            "1,5",
            "1 000",
            "1_000",
            "--1",
            "٣",
            "1234567890123456",
            "0.1234567890123456",
        ] {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
    }
}
