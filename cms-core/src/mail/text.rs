//! Texts in mails: subjects, values in HTML, what is too long. Pure.

use std::borrow::Cow;

use crate::ground::plain;

/// Characters of a subject at most.
const MOST_SUBJECT: usize = 200;

/// A subject: one line of 200 characters at most, without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(String);

impl Subject {
    /// Makes a subject of any text: line ends, control characters and runs of blanks become one
    /// blank.
    ///
    /// ```
    /// use cms_core::mail::Subject;
    /// assert_eq!(Subject::of("Hello\r\nBcc: x@example.org").as_str(), "Hello Bcc: x@example.org");
    /// ```
    #[must_use]
    pub fn of(text: &str) -> Self {
        let visible = text.replace(plain::is_hidden, " ");
        let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
        Self(shortened(&line, MOST_SUBJECT).into_owned())
    }

    /// The subject as it is stored and sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A value for the HTML part of a mail: markup is shown, never obeyed, and line ends are kept.
///
/// ```
/// use cms_core::mail::escape_html;
/// assert_eq!(escape_html("<b>A & \"B\"</b>\n"), "&lt;b&gt;A &amp; &quot;B&quot;&lt;/b&gt;<br>\n");
/// ```
#[must_use]
pub fn escape_html(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len() + value.len() / 8);
    for c in value.replace("\r\n", "\n").chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\r' => escaped.push_str("<br>\n"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The first `most` characters of a text; a longer one ends in "…".
#[must_use]
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let kept = text.char_indices().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", &text[..kept]))
        }
    }
}

/// A body with LF at its line ends and no other control character but tabs.
pub(super) fn body(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_one_short_line() {
        for (given, subject) in [
            ("Your order", "Your order"),
            ("  a \t b\u{a0}c ", "a b c"),
            ("a\r\nBcc: b@c.org\0\u{202e}", "a Bcc: b@c.org"),
            ("\u{85}\u{2028}x\n", "x"),
            ("", ""),
            ("O'Neill & <Sons>", "O'Neill & <Sons>"),
        ] {
            assert_eq!(Subject::of(given).as_str(), subject, "{given:?}");
        }
        let long = Subject::of(&"ä".repeat(10 << 20));
        assert_eq!(long.as_str().chars().count(), 200);
        assert!(long.as_str().ends_with("ä…"));
    }

    #[test]
    fn values_are_shown_and_never_obeyed() {
        let hostile = "<script>alert('x')</script>\" onload=\"y\"&lt;";
        let escaped = escape_html(hostile);
        assert!(!escaped.contains(['<', '>', '"', '\'']), "{escaped}");
        assert_eq!(escape_html("a\r\nb\rc"), "a<br>\nb<br>\nc");
    }

    #[test]
    fn texts_are_cut_at_characters() {
        for (text, most, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            // Characters are counted, not bytes.
            ("äöü", 2, "ä…"),
            ("", 0, ""),
            ("a", 0, "…"),
        ] {
            assert_eq!(shortened(text, most), expected);
        }
    }

    #[test]
    fn bodies_hold_lines_and_tabs() {
        assert_eq!(body("a\r\nb\rc\td\0\u{1b}[2J\u{85}"), "a\nb\nc\td[2J");
    }
}
