//! Characters that a reader does not see and a terminal obeys: control characters, and those that
//! change the direction of text. Names and addresses with such characters are refused; everything
//! else is shown with the characters escaped.

use std::{borrow::Cow, fmt::Write as _};

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use super::FieldError;

/// Declares a set of characters once: `$class!()` is part of a class of a regular expression, and
/// `$test` tells whether a character is in the set.
macro_rules! characters {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $test:ident, $class:ident: $($first:literal..$last:literal),*
    ) => {
        macro_rules! $class {
            () => {
                concat!($("\\u", $first, "-\\u", $last),*)
            };
        }
        pub(crate) use $class;

        $(#[$attribute])*
        $visibility fn $test(c: char) -> bool {
            let c = u32::from(c);
            $((const { code_point($first) }..=const { code_point($last) }).contains(&c))||*
        }
    };
}

const fn code_point(digits: &str) -> u32 {
    match u32::from_str_radix(digits, 16) {
        Ok(code_point) => code_point,
        Err(_) => panic!("hexadecimal digits are expected"),
    }
}

characters! {
    /// Whether a terminal would obey the character instead of showing it: controls, line and
    /// paragraph separators, marks and embeddings of direction.
    #[must_use]
    pub fn is_hidden, hidden:
    "0000".."001F", "007F".."009F", "061C".."061C", "200E".."200F", "2028".."202E", "2066".."2069"
}

characters! {
    /// Whether the character shows nothing and no name may hold it.
    fn is_unseen, unseen:
    "00AD".."00AD", "034F".."034F", "115F".."1160", "17B4".."17B5", "180B".."180F", "200B".."200B",
    "2060".."2064", "3164".."3164", "FEFF".."FEFF", "FFA0".."FFA0"
}

/// What a name begins and ends with, but for blanks: the class of the characters that are seen.
macro_rules! seen {
    () => {
        concat!(r"[^\s\u200C\u200D", hidden!(), unseen!(), "]")
    };
}

/// Blanks around a name.
macro_rules! blanks {
    () => {
        concat!(r"[^\S", hidden!(), unseen!(), "]*")
    };
}

/// Names that [`name_problem`] accepts, with at least one visible character.
pub(crate) const NAME_PATTERN: &str = concat!(
    "^",
    blanks!(),
    seen!(),
    "([^",
    hidden!(),
    unseen!(),
    "]*",
    seen!(),
    ")?",
    blanks!(),
    "$",
);

/// Whether the character joins letters or emoji. Joiners show nothing by themselves.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether a reader sees nothing of the text. Control characters count as seen.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        let is_obeyed = is_hidden(c) && !c.is_control();
        c.is_whitespace() || is_unseen(c) || is_joiner(c) || is_obeyed
    })
}

/// The text composed (NFC): what looks the same is the same.
pub(crate) fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// The text decomposed (NFD): a letter, then its marks.
pub(crate) fn decomposed(text: &str) -> String {
    text.nfd().collect()
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

/// What is wrong with a name: as [`problem`], and characters that show nothing. Joiners stand
/// between other characters only.
pub(crate) fn name_problem(field: &str, name: &str) -> Option<FieldError> {
    problem(field, name).or_else(|| {
        let inner = name.trim();
        let mut ends = inner.chars().next().into_iter().chain(inner.chars().next_back());
        let unseen = name.chars().find(|&c| is_unseen(c));
        let found = u32::from(unseen.or_else(|| ends.find(|&c| is_joiner(c)))?);
        let message = format!("no characters that show nothing: it holds U+{found:04X}");
        Some(FieldError { field: field.to_owned(), code: "format", message })
    })
}

/// Whether a text may name a language: `en`, `pt-BR`, and `de_DE` as other systems write it.
pub(crate) fn is_language(text: &str) -> bool {
    (1..=35).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
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

    #[test]
    fn names_hold_nothing_that_nobody_sees() {
        for name in ["größe שלום", "👩\u{200d}👧", "می\u{200c}خ", "a\u{202f}b"] {
            assert!(name_problem("name", name).is_none(), "{name:?}");
        }
        for (name, found) in [
            ("bob\u{200b}", "U+200B"),
            ("\u{3164}", "U+3164"),
            ("a\u{ad}b", "U+00AD"),
            ("\u{200d}a", "U+200D"),
            ("a\u{200c} ", "U+200C"),
            ("a\u{202e}b", "U+202E"),
        ] {
            let problem = name_problem("name", name).expect("a problem");
            assert!(problem.message.ends_with(found) && problem.code == "format", "{name:?}");
        }
    }

    #[test]
    fn a_text_of_which_nothing_is_seen_is_blank() {
        for (text, blank) in [
            ("", true),
            (" \u{200b}\u{feff}", true),
            ("\u{200d}\u{202e}", true),
            ("\u{1b}", false),
            ("\u{200b}a", false),
        ] {
            assert_eq!(is_blank(text), blank, "{text:?}");
        }
    }

    #[test]
    fn both_spellings_of_a_letter_are_composed() {
        for text in ["zoe\u{308}", "zo\u{eb}"] {
            assert_eq!(composed(text), "zo\u{eb}");
            assert_eq!(decomposed(text), "zoe\u{308}");
        }
    }
}
