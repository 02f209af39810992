//! Names and places, in parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    Context,
    countries::{country, declared},
    kind::{Kind, Refusal, refuse, text_of},
    postal_code::postal_code,
    text,
};

/// Members of an answer that has parts.
struct Parts<'a> {
    allowed: &'a [String],
    required: &'a [String],
}

impl Parts<'_> {
    /// Takes each part by `one`. Blank parts are left out.
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
    /// ISO 3166-1 codes; all when empty. The only one is that of addresses without a country.
    allowed_countries: Vec<String>,
}

const ADDRESS_PARTS: [&str; 6] = ["street", "street2", "postal_code", "city", "state", "country"];
/// Characters of a part at most.
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
        // The country of the answer, else the only one that there may be.
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
