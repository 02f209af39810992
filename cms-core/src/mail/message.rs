//! A mail as a room queues it, and whether it can be sent.

use super::{MailAddress, Subject, text};
use crate::{Error, FieldError, Result};

/// Bytes that text and HTML of a mail may have together.
pub const MAX_MAIL_BYTES: usize = 1 << 20;
/// Bytes of `cause` and `once`.
const MOST_KEY: usize = 200;

/// A mail to one person. For three recipients queue three mails.
#[derive(Clone, Debug)]
pub struct Mail {
    /// What it is for, such as `form.notice`: 1 to 64 lower-case letters, digits, `.`, `_`, `-`.
    pub purpose: &'static str,
    /// What it is about, as the log shows it: `submission 17`. One line of 200 bytes at most.
    pub cause: Option<String>,
    /// A second mail with this key is not queued.
    pub once: Option<String>,
    /// Who gets it.
    pub to: MailAddress,
    /// Who gets the answer; else the sender.
    pub reply_to: Option<MailAddress>,
    /// The subject.
    pub subject: Subject,
    /// The plain part. Control characters but tabs and line ends are removed.
    pub text: String,
    /// The HTML part. Escape values with [`escape_html`](super::escape_html).
    pub html: Option<String>,
    /// Whether it answers a person who entered the address: such mails are rationed.
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
    ///
    /// # Errors
    /// `validation_failed` for all that cannot be sent.
    pub(super) fn checked(&self) -> Result<Self> {
        let problems: Vec<_> = self.problems().collect();
        if !problems.is_empty() {
            return Err(Error::invalid(problems));
        }
        let html = self.html.as_deref().map(text::body);
        Ok(Self { text: text::body(&self.text), html, ..self.clone() })
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
}
