//! Names and postal addresses, in parts; countries; postal codes by country.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    Context,
    kind::{Kind, Refusal, refuse, text_of},
    phone::{country, declared},
    text,
};

/// The parts of an answer.
struct Parts<'a> {
    allowed: &'a [String],
    required: &'a [String],
}

impl Parts<'_> {
    /// Converts each part with `one`. Leaves out blank parts.
    fn take(
        &self,
        given: &Json,
        mut one: impl FnMut(&str, &Json) -> Result<Json, Refusal>,
    ) -> Result<Json, Refusal> {
        let Some(given) = given.as_object() else {
            return refuse("type", format!("an object of these is expected: {}", self.names()));
        };
        if let Some(name) = given.keys().find(|name| !self.allowed.contains(name)) {
            let names = self.names();
            return refuse("unknown_part", format!("{name:?} is none of the parts: {names}"));
        }
        let mut answer = Map::new();
        for name in self.allowed {
            match given.get(name).filter(|given| !super::is_blank(given)) {
                Some(given) => {
                    let part = one(name, given).map_err(|refusal| Refusal {
                        message: format!("{name}: {}", refusal.message),
                        ..refusal
                    })?;
                    answer.insert(name.clone(), part);
                }
                None if self.required.contains(name) => {
                    return refuse("required", format!("{name} is expected"));
                }
                None => {}
            }
        }
        Ok(answer.into())
    }

    fn names(&self) -> String {
        self.allowed.join(", ")
    }

    fn check(&self, known: &[&str]) -> Result<(), Refusal> {
        if let Some(part) = self.allowed.iter().find(|part| !known.contains(&part.as_str())) {
            return refuse(
                "bad_config",
                format!("parts: {part:?} is none of {}", known.join(", ")),
            );
        }
        match self.required.iter().find(|part| !self.allowed.contains(part)) {
            Some(part) => refuse("bad_config", format!("required_parts: {part:?} is not in parts")),
            None => Ok(()),
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A person's name in parts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FullName {
    /// Of `salutation`, `first`, `middle`, `last`, `suffix`.
    parts: Vec<String>,
    required_parts: Vec<String>,
    /// Characters of a part at most.
    max_length: usize,
}

impl Default for FullName {
    fn default() -> Self {
        let parts = words(&["first", "last"]);
        Self { required_parts: parts.clone(), parts, max_length: 100 }
    }
}

impl Kind for FullName {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let parts = Parts { allowed: &self.parts, required: &self.required_parts };
        parts.take(given, |_, given| {
            let line = text::line(text_of(given)?)?;
            text::length(&line, 0, self.max_length)?;
            Ok(line.into())
        })
    }

    fn text(&self, answer: &Json) -> String {
        let parts = self.parts.iter().filter_map(|part| answer[part].as_str());
        parts.collect::<Vec<_>>().join(" ")
    }

    fn check(&self) -> Result<(), Refusal> {
        let parts = Parts { allowed: &self.parts, required: &self.required_parts };
        parts.check(&["salutation", "first", "middle", "last", "suffix"])
    }
}

/// A postal address in parts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Address {
    /// Of `street`, `street2`, `postal_code`, `city`, `state`, `country`.
    parts: Vec<String>,
    required_parts: Vec<String>,
    /// ISO 3166-1 codes; empty allows all. A single code also counts for addresses without a
    /// country.
    allowed_countries: Vec<String>,
}

const ADDRESS_PARTS: [&str; 6] = ["street", "street2", "postal_code", "city", "state", "country"];
/// Maximum length of a part, in characters.
const ADDRESS_LENGTH: usize = 200;

impl Default for Address {
    fn default() -> Self {
        Self {
            parts: words(&ADDRESS_PARTS),
            required_parts: words(&["street", "postal_code", "city", "country"]),
            allowed_countries: Vec::new(),
        }
    }
}

impl Kind for Address {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let parts = Parts { allowed: &self.parts, required: &self.required_parts };
        let mut answer = parts.take(given, |name, given| {
            if name == "country" {
                return country_of(given, &self.allowed_countries);
            }
            let line = text::line(text_of(given)?)?;
            text::length(&line, 0, ADDRESS_LENGTH)?;
            Ok(line.into())
        })?;
        // The country of the answer, or else the only allowed one.
        let country = match (answer["country"].as_str(), &self.allowed_countries[..]) {
            (Some(code), _) => country(code),
            (None, [only]) => country(only),
            _ => None,
        };
        if let (Some(code), Some(country)) = (answer["postal_code"].as_str(), country) {
            let code = postal_code(code, country.code)?;
            answer["postal_code"] = code.into();
        }
        Ok(answer)
    }

    fn text(&self, answer: &Json) -> String {
        let parts = self.parts.iter().filter_map(|part| answer[part].as_str());
        parts.collect::<Vec<_>>().join(", ")
    }

    fn check(&self) -> Result<(), Refusal> {
        for code in &self.allowed_countries {
            declared(code, "allowed_countries")?;
        }
        let parts = Parts { allowed: &self.parts, required: &self.required_parts };
        parts.check(&ADDRESS_PARTS)
    }
}

/// A country, stored as its ISO 3166-1 code of two letters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Country {
    /// All when empty.
    allowed: Vec<String>,
    /// Those that stand at the top of the list.
    preferred: Vec<String>,
    /// The one chosen at first.
    default: Option<String>,
}

fn country_of(given: &Json, allowed: &[String]) -> Result<Json, Refusal> {
    let Some(country) = country(text_of(given)?) else {
        return refuse("format", "a country's code of two letters is expected (ISO 3166-1)");
    };
    if !allowed.is_empty() && !allowed.iter().any(|code| code.eq_ignore_ascii_case(country.code)) {
        let codes = allowed.join(", ");
        return refuse("country", format!("one of these is expected: {codes}"));
    }
    Ok(country.code.into())
}

impl Kind for Country {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        country_of(given, &self.allowed)
    }

    fn check(&self) -> Result<(), Refusal> {
        for code in self.allowed.iter().chain(&self.preferred).chain(&self.default) {
            declared(code, "countries")?;
        }
        Ok(())
    }
}

/// Forms by country: `9` is a digit, `A` a letter, `*` either; blanks and hyphens may be left out.
/// Codes of other countries are accepted unchanged.
const FORMS: &str = "\
AT 9999;AU 9999;BE 9999;BG 9999;BR 99999-999;CA A9A 9A9;CH 9999;CN 999999;CY 9999;CZ 999 99;\
DE 99999;DK 9999;EE 99999;ES 99999;FI 99999;FR 99999;GB A9 9AA|A9A 9AA|A99 9AA|AA9 9AA|AA9A 9AA|\
AA99 9AA|AAA 9AA;GR 999 99;HR 99999;HU 9999;IE A9* ****;IL 9999999|99999;IN 999999;IS 999;\
IT 99999;JP 999-9999;KR 99999;LI 9999;LT 99999;LU 9999;LV 9999;MT AAA 9999;MX 99999;NL 9999 AA;\
NO 9999;NZ 9999;PL 99-999;PT 9999-999;RO 999999;RS 99999;RU 999999;SE 999 99;SG 999999;SI 9999;\
SK 999 99;TR 99999;UA 99999;US 99999|99999-9999;ZA 9999";

/// A code in its country's form. `country`: two capital letters.
fn postal_code(code: &str, country: &str) -> Result<String, Refusal> {
    let found = FORMS.split(';').find_map(|one| one.strip_prefix(country)?.strip_prefix(' '));
    let Some(forms) = found else { return Ok(code.to_owned()) };
    let upper = code.to_uppercase();
    // For example D-10115, a form that mail from abroad needs.
    let own = upper.split_once('-').filter(|(before, _)| {
        !before.is_empty() && country.starts_with(before) && country.is_ascii()
    });
    let own = own.map_or(upper.as_str(), |(_, own)| own);
    match forms.split('|').find_map(|form| fitted(own, form)) {
        Some(fitted) => Ok(fitted),
        None => {
            let forms = forms.replace('|', ", ");
            let message = format!(
                "a postal code of {country} is expected, such as {forms} (9 stands for a digit, A \
                 for a letter)"
            );
            refuse("postal_code", message)
        }
    }
}

/// A code in this form, if it fits.
fn fitted(code: &str, form: &str) -> Option<String> {
    let mut letters = code.chars().filter(|letter| !matches!(letter, ' ' | '-'));
    let mut fitted = String::new();
    for place in form.chars() {
        if matches!(place, ' ' | '-') {
            fitted.push(place);
            continue;
        }
        let letter = letters.next()?;
        let fits = match place {
            '9' => letter.is_ascii_digit(),
            'A' => letter.is_ascii_uppercase(),
            _ => letter.is_ascii_digit() || letter.is_ascii_uppercase(),
        };
        fits.then(|| fitted.push(letter))?;
    }
    letters.next().is_none().then_some(fitted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::phone;

    #[test]
    fn codes_are_judged_by_their_country() {
        for (country, code, expected) in [
            ("DE", "10115", Some("10115")),
            ("DE", "D-10115", Some("10115")),
            ("DE", "DE-10115", Some("10115")),
            ("DE", "1011", None),
            ("DE", "1O115", None),
            ("DE", "101155", None),
            ("AT", "1010", Some("1010")),
            ("AT", "D-1010", None),
            ("GB", "sw1a1aa", Some("SW1A 1AA")),
            ("GB", "M1 1AE", Some("M1 1AE")),
            ("GB", "gir 0aa", Some("GIR 0AA")),
            ("GB", "12345", None),
            ("NL", "1234ab", Some("1234 AB")),
            ("PL", "00950", Some("00-950")),
            ("US", "90210-1234", Some("90210-1234")),
            ("US", "902101234", Some("90210-1234")),
            ("US", "9021", None),
            ("IE", "d6w xy12", Some("D6W XY12")),
            ("PT", "1000-001", Some("1000-001")),
            ("SE", "SE-114 55", Some("114 55")),
            ("DE", "١٠١١٥", None),
            ("GM", "as it is", Some("as it is")),
        ] {
            let read = postal_code(code, country);
            assert_eq!(read.as_deref().ok(), expected, "{country} {code}");
            if let Ok(read) = read {
                assert_eq!(postal_code(&read, country).as_ref(), Ok(&read), "{read}");
            }
        }
    }

    #[test]
    fn forms_are_of_countries() {
        for one in FORMS.split(';') {
            let (country, forms) = one.split_once(' ').expect("a country and its forms");
            assert!(phone::country(country).is_some(), "{country}");
            assert!(forms.chars().all(|place| "9A* -|".contains(place)), "{forms}");
        }
    }
}
