//! Telephone numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Context,
    countries::{Country, country, declared, is_number_of},
    kind::{Kind, Refusal, refuse, text_of},
    text,
};

/// A telephone number, stored as `+` and its digits (ITU-T E.164).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Phone {
    /// Whose national form is understood, as an ISO 3166-1 code.
    default_country: Option<String>,
    /// Whose numbers are accepted; all when empty.
    allowed_countries: Vec<String>,
}

impl Phone {
    fn international(&self, digits: &str) -> Result<String, Refusal> {
        if let Some(digits) = digits.strip_prefix('+').or_else(|| digits.strip_prefix("00")) {
            return Ok(format!("+{digits}"));
        }
        let Some(code) = &self.default_country else {
            return refuse("format", "a number with + and the country's code is expected");
        };
        let Country { calling, trunk, .. } = declared(code, "default_country")?;
        let national = if trunk.is_empty() { None } else { digits.strip_prefix(trunk) };
        Ok(format!("+{calling}{}", national.unwrap_or(digits)))
    }
}

impl Kind for Phone {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let line = text::line(text_of(given)?)?;
        // "(0)" is the national prefix within an international number.
        let line = if line.starts_with('+') { line.replace("(0)", "") } else { line };
        let is_between = |c: &char| matches!(c, ' ' | '\u{a0}' | '-' | '.' | '/' | '(' | ')');
        let digits: String = line.chars().filter(|c| !is_between(c)).collect();
        let number = self.international(&digits)?;
        let rest = number.trim_start_matches('+');
        let is_form = number.len() == rest.len() + 1
            && rest.bytes().all(|byte| byte.is_ascii_digit())
            && (7..=15).contains(&rest.len())
            && !rest.starts_with('0');
        if !is_form {
            return refuse("format", "a number such as +49 30 901820 is expected");
        }
        let allowed = self.allowed_countries.iter().filter_map(|code| country(code));
        if !self.allowed_countries.is_empty()
            && !allowed.into_iter().any(|country| is_number_of(country, &number))
        {
            let codes = self.allowed_countries.join(", ");
            return refuse("country", format!("a number of one of these is expected: {codes}"));
        }
        Ok(number.into())
    }

    fn check(&self) -> Result<(), Refusal> {
        if let Some(code) = &self.default_country {
            declared(code, "default_country")?;
        }
        for code in &self.allowed_countries {
            declared(code, "allowed_countries")?;
        }
        Ok(())
    }
}
