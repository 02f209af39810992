//! Characters that a reader does not see and a terminal obeys: control characters, and those that
//! change the direction of text. Names and addresses with such characters are refused; everything
//! else is shown with the characters escaped.

use std::{borrow::Cow, fmt::Write as _};

use super::FieldError;

/// The hidden characters, as part of a class of a regular expression.
macro_rules! hidden {
    () => {
        r"\x00-\x1F\x7F-\x9F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069"
    };
}
pub(crate) use hidden;

/// Names with at least one visible character, and no hidden one.
pub(crate) const NAME_PATTERN: &str =
    concat!("^[^", hidden!(), r"]*[^\s", hidden!(), "][^", hidden!(), "]*$");

/// Whether a terminal would obey the character instead of showing it: controls, line and paragraph
/// separators, marks and embeddings of direction.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// The text with hidden characters as `\u001b`, except line ends and tabs. JSON that `cms` writes
/// keeps its value, because it holds such characters only within strings.
///
/// ```
/// assert_eq!(cms_core::plain::shown("a\u{9b}2J\u{202e}\n"), "a\\u009b2J\\u202e\n");
/// ```
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    let hides = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t');
    if !text.contains(hides) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hides(c) {
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// What is wrong with a name or an address that holds a hidden character.
pub(crate) fn problem(field: &str, text: &str) -> Option<FieldError> {
    let found = text.chars().find(|c| is_hidden(*c))?;
    let message = format!(
        "no control characters and none that turn the direction of text: it holds U+{:04X}",
        u32::from(found)
    );
    Some(FieldError { field: field.to_owned(), code: "format", message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_all_else_stays() {
        for (text, expected) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[2J\u{7f}\r", "\\u001b[2J\\u007f\\u000d"),
            ("\u{85}\u{9b}\u{9f}", "\\u0085\\u009b\\u009f"),
            ("\u{202e}txt\u{2069}\u{200f}", "\\u202etxt\\u2069\\u200f"),
            ("größe שלום \u{a0}", "größe שלום \u{a0}"),
            ("👩‍👩‍👧", "👩‍👩‍👧"),
        ] {
            assert_eq!(shown(text), expected);
        }
        let json = serde_json::json!({"a\u{9b}": "\u{7f}\u{202e}\\"}).to_string();
        let read: serde_json::Value = serde_json::from_str(&shown(&json)).expect("JSON");
        assert_eq!(read.to_string(), json, "the same value");
    }

    #[test]
    fn names_with_them_are_refused_with_the_character() {
        assert!(problem("name", "größe שלום").is_none());
        for (text, found) in [("a\u{202e}b", "U+202E"), ("a\nb", "U+000A"), ("\u{9f}", "U+009F")] {
            let problem = problem("name", text).expect("a problem");
            assert!(problem.message.ends_with(found) && problem.code == "format");
        }
    }
}
