//! A mail as a room queues it: its subject, its bodies, values in HTML, and whether it can be sent.

use std::borrow::Cow;

use super::MailAddress;
use crate::{Error, FieldError, Result, ground::plain};

/// Maximum bytes of a mail's text and HTML together.
pub const MAX_MAIL_BYTES: usize = 1 << 20;
/// Maximum bytes of `cause`, and of `once`.
const MOST_KEY: usize = 200;

/// A mail to one person. For three recipients queue three mails.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Mail {
    /// What it is for, such as `form.notice`: 1 to 64 lower-case letters, digits, `.`, `_`, `-`.
    pub purpose: &'static str,
    /// What it is about, as the log shows it: `submission 17`. One line of 200 bytes at most.
    pub cause: Option<String>,
    /// A second mail with this key is not queued.
    pub once: Option<String>,
    /// Who gets it.
    pub to: MailAddress,
    /// Who gets replies; None: the sender.
    pub reply_to: Option<MailAddress>,
    /// The subject.
    pub subject: Subject,
    /// The plain part. Control characters other than tabs and line ends are removed.
    pub text: String,
    /// The HTML part. Escape values with [`escape_html`].
    pub html: Option<String>,
    /// Whether the mail is an automatic reply to the person who entered the address: such mails
    /// are rationed.
    pub auto_reply: bool,
}

impl Mail {
    /// A mail with a plain part only.
    #[must_use]
    pub fn new(
        purpose: &'static str,
        to: MailAddress,
        subject: Subject,
        text: impl Into<String>,
    ) -> Self {
        Self {
            purpose,
            cause: None,
            once: None,
            to,
            reply_to: None,
            subject,
            text: text.into(),
            html: None,
            auto_reply: false,
        }
    }

    /// The mail with its bodies as they are sent.
    pub(super) fn checked(&self) -> Result<Self> {
        let problems: Vec<_> = self.problems().collect();
        if !problems.is_empty() {
            return Err(Error::invalid(problems));
        }
        let html = self.html.as_deref().map(body);
        Ok(Self { text: body(&self.text), html, ..self.clone() })
    }

    fn problems(&self) -> impl Iterator<Item = FieldError> {
        let is_line = |text: &Option<String>| {
            text.as_ref().is_none_or(|text| {
                (1..=MOST_KEY).contains(&text.len()) && !text.contains(char::is_control)
            })
        };
        let is_purpose =
            |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"._-".contains(&c);
        let bytes = self.text.len() + self.html.as_ref().map_or(0, String::len);
        let line = format!("one line of 1 to {MOST_KEY} bytes");
        let rules = [
            (
                "purpose",
                "format",
                (1..=64).contains(&self.purpose.len()) && self.purpose.bytes().all(is_purpose),
                "1 to 64 lower-case letters, digits, dots, dashes, such as form.notice".to_owned(),
            ),
            ("cause", "format", is_line(&self.cause), line.clone()),
            ("once", "format", is_line(&self.once), line),
            (
                "text",
                "max_length",
                bytes <= MAX_MAIL_BYTES,
                format!("text and html hold {bytes} bytes; {MAX_MAIL_BYTES} are the most"),
            ),
        ];
        rules
            .into_iter()
            .filter(|(_, _, holds, _)| !holds)
            .map(|(field, code, _, message)| FieldError { field: field.to_owned(), code, message })
    }
}

/// Maximum characters of a subject.
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

/// Escapes a value for the HTML part of a mail: markup is shown as text, and line ends are kept.
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
fn body(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail() -> Mail {
        let to = MailAddress::parse("ana@example.org").expect("an address");
        Mail::new("form.notice", to, Subject::of("Hello"), "a\r\nb\0")
    }

    #[test]
    fn what_cannot_be_sent_is_named() {
        type Spoil = fn(&mut Mail);
        let table: [(Spoil, Option<&str>); 9] = [
            (|_| {}, None),
            (|m| m.purpose = "", Some("purpose")),
            (|m| m.purpose = "Form notice", Some("purpose")),
            (|m| m.cause = Some("a\nb".into()), Some("cause")),
            (|m| m.cause = Some("submission 17".into()), None),
            (|m| m.once = Some("x".repeat(201)), Some("once")),
            (|m| m.text = "x".repeat(10 << 20), Some("text")),
            (|m| m.html = Some("x".repeat(1 << 20)), Some("text")),
            (|m| m.html = Some("x".repeat(1 << 19)), None),
        ];
        for (spoil, expected) in table {
            let mut mail = mail();
            spoil(&mut mail);
            let found = mail.checked().err().map(|error| error.fields()[0].field.clone());
            assert_eq!(found.as_deref(), expected);
        }
    }

    #[test]
    fn bodies_lose_what_no_mail_may_hold() {
        assert_eq!(mail().checked().expect("good").text, "a\nb");
    }

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
