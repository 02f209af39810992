//! How languages write numbers and days. Pure.

use jiff::civil::Date;

use super::decimal::Decimal;

/// Languages with a decimal comma.
const COMMA: [&str; 31] = [
    "bg", "ca", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hr", "hu", "it", "lt", "lv", "nb",
    "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sq", "sr", "sv", "tr", "uk", "vi",
];
/// Languages among them that write the year first.
const YEAR_FIRST: [&str; 3] = ["hu", "lt", "sv"];
/// Regions in which the language uses a decimal point, each with its thousands separator.
const POINT: [(&str, char); 5] =
    [("de-ch", '’'), ("de-li", '’'), ("es-mx", ','), ("es-us", ','), ("it-ch", '’')];
/// Regions in which English writes the day first. In other regions the order is unknown.
const DAY_FIRST: [&str; 6] = ["en-au", "en-gb", "en-ie", "en-in", "en-nz", "en-za"];
/// Blanks and apostrophes that separate groups of digits in any language.
const GROUPS: [char; 5] = [' ', '\u{a0}', '\u{202f}', '\'', '’'];

/// The message for a number or a day with two meanings, naming both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ambiguous(pub(super) String);

/// The first part of days such as `3/4/2026`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Day,
    Month,
    /// Day or month, depending on the region.
    Unsaid,
}

/// How a language writes numbers and days. Without a language, only the stored forms are accepted:
/// `1.5`, `2026-11-24`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spelling {
    /// The decimal separator and the thousands separator.
    numbers: Option<(char, char)>,
    days: Option<First>,
}

impl Spelling {
    /// The spelling of a language such as `de` or `pt-BR`.
    pub(super) fn of(language: &str) -> Self {
        let language = language.to_ascii_lowercase().replace('_', "-");
        let base = language.split('-').next().unwrap_or_default();
        if base == "en" {
            let days = match language.as_str() {
                "en-us" => First::Month,
                place if DAY_FIRST.contains(&place) => First::Day,
                _ => First::Unsaid,
            };
            return Self { numbers: Some(('.', ',')), days: Some(days) };
        }
        if !COMMA.contains(&base) {
            return Self::default();
        }
        let point = POINT.iter().find(|(region, _)| *region == language);
        let numbers = point.map_or((',', '.'), |(_, thousands)| ('.', *thousands));
        let days = (!YEAR_FIRST.contains(&base)).then_some(First::Day);
        Self { numbers: Some(numbers), days }
    }

    /// Parses a number in the stored form or in that of the language; `None`: it is not a number.
    ///
    /// # Errors
    /// For `1.500` if the language separates thousands with a point.
    pub(super) fn number(self, text: &str) -> Result<Option<Decimal>, Ambiguous> {
        let plain = Decimal::parse(text);
        let Some((decimal, thousands)) = self.numbers else { return Ok(plain) };
        if thousands == '.' && plain.is_some() && is_one_group(text) {
            let (whole, comma) = (text.replace('.', ""), text.replace('.', ","));
            let message = format!("{text} can mean {whole} or {comma}: write the one you mean");
            return Err(Ambiguous(message));
        }
        let spelled = || Decimal::parse(&without_groups(text, decimal, thousands)?);
        Ok(plain.or_else(spelled))
    }

    /// Parses a day in the form of the language: `24.11.2026`, `24/11/2026`, `24-11-2026`. `None`:
    /// it is not a day.
    ///
    /// # Errors
    /// For `3/4/2026` if either the day or the month may come first.
    pub(super) fn day(self, text: &str) -> Result<Option<Date>, Ambiguous> {
        let Some((one, two, year)) = self.days.and(numbers(text)) else { return Ok(None) };
        let day_first = Date::new(year, two, one).ok();
        let month_first = Date::new(year, one, two).ok();
        match (self.days, day_first, month_first) {
            (Some(First::Month), _, date) | (Some(First::Day), date, _) => Ok(date),
            (_, Some(a), Some(b)) if a != b => {
                Err(Ambiguous(format!("{text} can mean {a} or {b}: write the one you mean")))
            }
            (_, a, b) => Ok(a.or(b)),
        }
    }
}

/// Whether a number has the form of `1.500`: up to three digits, a point, three digits.
fn is_one_group(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let parts = digits.split_once('.');
    parts.is_some_and(|(whole, part)| {
        (1..=3).contains(&whole.len()) && !whole.starts_with('0') && part.len() == 3
    })
}

/// The stored form of a number with groups of thousands or with a decimal comma.
fn without_groups(text: &str, decimal: char, thousands: char) -> Option<String> {
    let sign = if text.starts_with('-') { "-" } else { "" };
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, part) = match digits.split_once(decimal) {
        Some((whole, part)) => (whole, Some(part)),
        None => (digits, None),
    };
    let is_group = |letter: &char| *letter == thousands || GROUPS.contains(letter);
    let whole = match whole.chars().find(is_group) {
        None => whole.to_owned(),
        Some(separator) => {
            let mut groups = whole.split(separator);
            let is_first = groups.next().is_some_and(|first| (1..=3).contains(&first.len()));
            let is_form = is_first && groups.all(|group| group.len() == 3);
            is_form.then(|| whole.replace(separator, ""))?
        }
    };
    Some(match part {
        None => format!("{sign}{whole}"),
        Some(part) => format!("{sign}{whole}.{part}"),
    })
}

/// The three numbers of a day that ends with the year and uses one separator twice.
fn numbers(text: &str) -> Option<(i8, i8, i16)> {
    let separator = text.chars().find(|letter| !letter.is_ascii_digit())?;
    let parts: Vec<&str> = text.split(separator).map(str::trim).collect();
    let [one, two, year] = parts[..] else { return None };
    let is_number = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_form = matches!(separator, '.' | '/' | '-')
        && is_number(one, 2)
        && is_number(two, 2)
        && is_number(year, 4)
        && year.len() == 4;
    is_form.then(|| Some((one.parse().ok()?, two.parse().ok()?, year.parse().ok()?)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_language_writes_them() {
        for (language, text, expected) in [
            ("", "1.5", "1.5"),
            ("", "1,5", "none"),
            ("ja", "1,5", "none"),
            ("de", "1,5", "1.5"),
            ("de-AT", "-1,5", "-1.5"),
            ("pt_BR", "1.234,50", "1234.5"),
            ("de", "1.5", "1.5"),
            ("de", "0.500", "0.5"),
            ("de", "1.500", "ambiguous"),
            ("de", "-12.500", "ambiguous"),
            ("de", "1.2345", "1.2345"),
            ("de", "1.500.000", "1500000"),
            ("de", "1.50.000", "none"),
            ("de", "1.500,0,0", "none"),
            ("fr", "1 500,25", "1500.25"),
            ("fr", "12\u{202f}500", "12500"),
            ("de", "1,", "none"),
            ("de", ",5", "none"),
            ("de-CH", "1’500.25", "1500.25"),
            ("de-CH", "1.500", "1.5"),
            ("de-CH", "1,5", "none"),
            ("de-CH", "1,500", "none"),
            ("de-LI", "1,500.25", "none"),
            ("it_CH", "1'500", "1500"),
            ("it-CH", "1,500", "none"),
            ("es-MX", "1,500.25", "1500.25"),
            ("en", "1,500", "1500"),
            ("en", "1,500.25", "1500.25"),
            ("en", "1.500", "1.5"),
            ("en", "1,5", "none"),
            ("de", "1e3", "none"),
            ("de", "ü,5", "none"),
            ("de", "1 ü00", "none"),
        ] {
            let read = Spelling::of(language).number(text);
            let read = read.map_or_else(
                |_| "ambiguous".to_owned(),
                |number| number.map_or("none".to_owned(), |number| number.to_string()),
            );
            assert_eq!(read, expected, "{language} {text}");
        }
    }

    #[test]
    fn days_are_read_as_the_language_writes_them() {
        for (language, text, expected) in [
            ("de", "24.11.2026", "2026-11-24"),
            ("de", "4. 3. 2026", "2026-03-04"),
            ("fr", "04/03/2026", "2026-03-04"),
            ("nl", "4-3-2026", "2026-03-04"),
            ("de", "11.24.2026", "none"),
            ("de", "24.11.26", "none"),
            ("de", "24.11/2026", "none"),
            ("de", "2026-11-24", "none"),
            ("sv", "24/11/2026", "none"),
            ("", "24.11.2026", "none"),
            ("en", "24/11/2026", "2026-11-24"),
            ("en", "11/24/2026", "2026-11-24"),
            ("en", "3/4/2026", "ambiguous"),
            ("en", "4/4/2026", "2026-04-04"),
            ("en-GB", "3/4/2026", "2026-04-03"),
            ("en-US", "3/4/2026", "2026-03-04"),
            ("en", "31/31/2026", "none"),
            ("de", "é.1.2026", "none"),
        ] {
            let read = Spelling::of(language).day(text);
            let read = read.map_or_else(
                |_| "ambiguous".to_owned(),
                |day| day.map_or("none".to_owned(), |day| day.to_string()),
            );
            assert_eq!(read, expected, "{language} {text}");
        }
    }
}
