//! Decimal numbers, compared exactly. Arithmetic is exact up to 15 significant digits, and
//! otherwise rounds to 15, half away from zero. A result with more digits before the point
//! is `None`.

use std::cmp::Ordering;

use serde_json::{Number, Value as Json};

/// Digits that a JSON number keeps without loss (IEEE 754 binary64).
const MOST_DIGITS: usize = 15;

/// `units` divided by ten to the power of `scale`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    units: i128,
    scale: u32,
}

impl Decimal {
    /// Parses digits with a point, such as `-12.50`. `None` for anything else, including
    /// exponents, and for more than 15 significant digits.
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

    /// Converts a JSON number. Refuses the same numbers as [`Decimal::parse`].
    pub(super) fn of(number: &Number) -> Option<Self> {
        match number.as_f64() {
            // This text never has an exponent.
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

    /// Whether it is a multiple of `step`, counted from `start`. Every number fits a step of 0.
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

/// Digits of a quotient before rounding: more than are kept.
const QUOTIENT_DIGITS: u32 = 18;

impl Decimal {
    pub(super) const ZERO: Self = Self { units: 0, scale: 0 };

    pub(super) fn whole(number: i64) -> Option<Self> {
        Self::fitted(number.into(), 0)
    }

    pub(super) fn negative(self) -> Self {
        Self { units: -self.units, ..self }
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        Self::fitted(self.at(scale).checked_add(other.at(scale))?, scale)
    }

    pub(super) fn minus(self, other: Self) -> Option<Self> {
        self.plus(other.negative())
    }

    pub(super) fn times(self, other: Self) -> Option<Self> {
        Self::fitted(self.units.checked_mul(other.units)?, self.scale + other.scale)
    }

    /// Also `None` for a division by 0.
    pub(super) fn over(self, other: Self) -> Option<Self> {
        let (by, mut rest) = (other.units.unsigned_abs(), self.units.unsigned_abs());
        let (mut units, mut scale) = (rest.checked_div(by)?, self.scale);
        rest %= by;
        // Digit by digit, as on paper. The point moves by the other number's decimals.
        while rest > 0 && digits(units) < QUOTIENT_DIGITS && scale < other.scale + 40 {
            rest *= 10;
            units = units * 10 + rest / by;
            rest %= by;
            scale += 1;
        }
        let units = units.checked_mul(10_u128.pow(other.scale.saturating_sub(scale)))?;
        let units = i128::try_from(units).ok()?;
        let is_negative = (self.units < 0) != (other.units < 0);
        let units = if is_negative { -units } else { units };
        Self::fitted(units, scale.saturating_sub(other.scale))
    }

    /// Rounded to at most this many digits after the point.
    pub(super) fn rounded(self, decimals: u32) -> Option<Self> {
        let dropped = self.scale.saturating_sub(decimals);
        Self::fitted(without_last(self.units, dropped)?, self.scale - dropped)
    }

    fn fitted(units: i128, scale: u32) -> Option<Self> {
        let most = u32::try_from(MOST_DIGITS).ok()?;
        let dropped =
            digits(units.unsigned_abs()).saturating_sub(most).max(scale.saturating_sub(most));
        let (mut units, mut scale) = (without_last(units, dropped)?, scale.checked_sub(dropped)?);
        while scale > 0 && units % 10 == 0 {
            (units, scale) = (units / 10, scale - 1);
        }
        // Rounding up may have added a digit.
        (digits(units.unsigned_abs()) <= most).then_some(Self { units, scale })
    }
}

fn digits(units: u128) -> u32 {
    units.checked_ilog10().map_or(1, |log| log + 1)
}

/// Drops the last digits, rounding half away from zero.
fn without_last(units: i128, dropped: u32) -> Option<i128> {
    let power = 10_i128.checked_pow(dropped)?;
    let (whole, rest) = (units / power, units % power);
    let is_half = rest.unsigned_abs() >= power.unsigned_abs().div_ceil(2) && dropped > 0;
    Some(if is_half { whole + units.signum() } else { whole })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            "", ".", "-", "1.", ".5", "1e3", "0x10", "NaN", "inf", "1,5", "1 000", "1_000", "--1",
            "٣", "1234567890123456", "0.1234567890123456",
        ] {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
    }

    fn number(text: &str) -> Decimal {
        Decimal::parse(text).unwrap_or_else(|| panic!("{text} is no number"))
    }

    #[test]
    fn results_are_exact_or_rounded_or_absent() {
        for (one, operation, other, expected) in [
            ("0.1", '+', "0.2", "0.3"),
            ("1", '-', "1.05", "-0.05"),
            ("999999999999999", '+', "1", "absent"),
            ("999999999999999", '+', "0.4", "999999999999999"),
            ("999999999999999", '+', "0.5", "absent"),
            ("99999999999999.9", '+', "0.05", "100000000000000"),
            ("0.000000000000001", '*', "0.1", "0"),
            ("0.000000000000001", '*', "0.5", "0.000000000000001"),
            ("-1.5", '*', "1.5", "-2.25"),
            ("123456789012345", '*', "10", "absent"),
            ("0", '*', "-7", "0"),
            ("1", '/', "0", "absent"),
            ("0", '/', "0", "absent"),
            ("1", '/', "3", "0.333333333333333"),
            ("2", '/', "3", "0.666666666666667"),
            ("-2", '/', "3", "-0.666666666666667"),
            ("1", '/', "0.333333333333333", "3"),
            ("1", '/', "0.33333333333333", "3.00000000000003"),
            ("1", '/', "0.000000000000001", "absent"),
            ("0.5", '/', "0.05", "10"),
            ("7", '/', "0.007", "1000"),
            ("0.000000000000001", '/', "999999999999999", "0"),
            ("10", '/', "4", "2.5"),
        ] {
            let (one, by) = (number(one), number(other));
            let result = match operation {
                '+' => one.plus(by),
                '-' => one.minus(by),
                '*' => one.times(by),
                _ => one.over(by),
            };
            let shown = result.map_or("absent".to_owned(), |result| result.to_string());
            assert_eq!(shown, expected, "{one} {operation} {other}");
        }
        for (text, decimals, shown) in
            [("2.5", 0, "3"), ("-2.5", 0, "-3"), ("2.345", 2, "2.35"), ("2.344", 2, "2.34")]
        {
            assert_eq!(number(text).rounded(decimals).map(|n| n.to_string()), Some(shown.into()));
        }
    }

    fn any_number() -> impl Strategy<Value = Decimal> {
        ("-?[0-9]{1,7}", "[0-9]{1,7}").prop_map(|(whole, part)| number(&format!("{whole}.{part}")))
    }

    proptest! {
        #[test]
        fn operations_agree(a in any_number(), b in any_number()) {
            prop_assert_eq!(a.plus(b), b.plus(a));
            prop_assert_eq!(a.times(b), b.times(a));
            prop_assert_eq!(a.minus(a), Some(Decimal::ZERO));
            if let Some(sum) = a.plus(b) {
                prop_assert_eq!(sum.minus(b), Some(a));
            }
            let float = |n: Decimal| n.to_string().parse::<f64>().expect("a number");
            if let Some(quotient) = a.over(b) {
                let expected = float(a) / float(b);
                let allowed = expected.abs() * 1e-13 + 1e-14;
                prop_assert!((float(quotient) - expected).abs() <= allowed);
            }
        }
    }
}
