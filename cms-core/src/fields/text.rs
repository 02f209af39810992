//! Texts, and their stored forms.

use std::sync::OnceLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use unicode_normalization::UnicodeNormalization as _;

use super::{
    Context,
    kind::{Kind, Refusal, ordered, refuse, text_of},
};

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ShortText {
    /// Characters at least.
    min_length: usize,
    /// Characters at most.
    max_length: usize,
    /// A regular expression that the whole line matches.
    pattern: Option<String>,
    /// What browsers fill in, such as `organization` (HTML, autofill).
    autocomplete: Option<String>,
    /// The pattern, once it is compiled.
    #[serde(skip)]
    compiled: OnceLock<Regex>,
}

impl Default for ShortText {
    fn default() -> Self {
        Self {
            min_length: 0,
            max_length: 255,
            pattern: None,
            autocomplete: None,
            compiled: OnceLock::new(),
        }
    }
}

/// Maximum size of a compiled pattern in bytes, so that a pattern cannot use up the memory.
const PATTERN_SIZE: usize = 1 << 18;

fn whole(pattern: &str) -> Result<Regex, Refusal> {
    let whole = format!("^(?:{pattern})$");
    let built = regex::RegexBuilder::new(&whole).size_limit(PATTERN_SIZE).build();
    built.or_else(|error| refuse("bad_config", format!("pattern: {error}")))
}

impl ShortText {
    /// The compiled pattern; compiles it on first use.
    fn compiled(&self) -> Result<Option<&Regex>, Refusal> {
        match (&self.pattern, self.compiled.get()) {
            (Some(pattern), None) => {
                let compiled = whole(pattern)?;
                Ok(Some(self.compiled.get_or_init(|| compiled)))
            }
            (_, compiled) => Ok(compiled),
        }
    }
}

impl Kind for ShortText {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let line = line(text_of(given)?)?;
        length(&line, self.min_length, self.max_length)?;
        match self.compiled()? {
            Some(pattern) if !pattern.is_match(&line) => {
                refuse("pattern", "the text does not have the expected form")
            }
            _ => Ok(line.into()),
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        ordered(self.min_length, self.max_length, "min_length", "max_length")?;
        self.compiled().map(drop)
    }
}

/// Several lines. They are never read as HTML.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LongText {
    /// Characters at least.
    min_length: usize,
    /// Characters at most.
    max_length: usize,
}

impl Default for LongText {
    fn default() -> Self {
        Self { min_length: 0, max_length: 5000 }
    }
}

impl Kind for LongText {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let lines = lines(text_of(given)?)?;
        length(&lines, self.min_length, self.max_length)?;
        Ok(lines.into())
    }

    fn check(&self) -> Result<(), Refusal> {
        ordered(self.min_length, self.max_length, "min_length", "max_length")
    }
}

/// One line: composed (NFC), without blanks around it, and without control characters and what
/// else ends a line.
pub(super) fn line(text: &str) -> Result<String, Refusal> {
    let text: String = text.trim().nfc().collect();
    if text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        return refuse("characters", "one line without control characters is expected");
    }
    Ok(text)
}

/// Several lines: composed, with LF at their ends, and no control characters except tabs.
fn lines(text: &str) -> Result<String, Refusal> {
    let text: String = text.replace("\r\n", "\n").trim().nfc().collect();
    if text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n')) {
        return refuse("characters", "text without control characters is expected");
    }
    Ok(text)
}

/// Checks the number of characters of a text.
pub(super) fn length(text: &str, least: usize, most: usize) -> Result<(), Refusal> {
    let count = text.chars().count();
    if count < least {
        return refuse("min_length", format!("at least {least} characters are expected"));
    }
    if count > most {
        return refuse("max_length", format!("at most {most} characters are expected"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_compiled_once() {
        let field = ShortText { pattern: Some("a+".to_owned()), ..ShortText::default() };
        field.check().expect("a pattern");
        let first = field.compiled().expect("a pattern").expect("one");
        assert!(field.take(&"aa".into(), &Context::at(0)).is_ok());
        assert!(std::ptr::eq(first, field.compiled().expect("a pattern").expect("one")));
    }
}
