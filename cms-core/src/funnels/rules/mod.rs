//! Mail rules: who is written to when a visit ends, and when.

mod own;
mod read;

pub(super) use own::{Own, is_known};
pub(super) use read::read;

use serde_json::Value as Json;

use super::record::EmailRouting;

/// A mail rule. Of those for an event the first that matches writes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// 0 while it is new.
    pub(crate) id: i64,
    /// None matches always.
    pub(crate) condition: Option<Json>,
    /// Addresses and tokens, with commas or line ends between them.
    pub(crate) recipients: String,
    pub(crate) cc: String,
    pub(crate) bcc: String,
    pub(crate) subject: String,
    pub(crate) body_html: String,
    /// Whether the visitor gets a confirmation.
    pub(crate) auto_reply_enabled: bool,
    pub(crate) auto_reply_subject: String,
    pub(crate) auto_reply_body_html: String,
    pub(crate) trigger: Trigger,
    pub(crate) sort_order: i64,
    pub(crate) is_active: bool,
}

/// The end of a visit that a rule is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// It was completed.
    #[default]
    Completed,
    /// The visitor went away.
    Abandoned,
}

impl Trigger {
    pub(crate) const ALL: [Self; 2] = [Self::Completed, Self::Abandoned];

    /// The value of `trigger_event`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trigger| trigger.as_str() == name)
    }
}

impl Rule {
    /// The texts that tokens stand in, with the names of their members.
    pub(in crate::funnels) fn texts(&self) -> [(&'static str, &str); 7] {
        [
            ("recipients", &self.recipients),
            ("cc", &self.cc),
            ("bcc", &self.bcc),
            ("subject", &self.subject),
            ("body_html", &self.body_html),
            ("auto_reply_subject", &self.auto_reply_subject),
            ("auto_reply_body_html", &self.auto_reply_body_html),
        ]
    }
}

impl From<EmailRouting> for Rule {
    fn from(row: EmailRouting) -> Self {
        Self {
            id: row.id,
            condition: row.condition_json,
            recipients: row.recipients,
            cc: row.cc,
            bcc: row.bcc,
            subject: row.subject,
            body_html: row.body_html,
            auto_reply_enabled: row.auto_reply_enabled != 0,
            auto_reply_subject: row.auto_reply_subject,
            auto_reply_body_html: row.auto_reply_body_html,
            trigger: Trigger::named(&row.trigger_event).unwrap_or_default(),
            sort_order: row.sort_order,
            is_active: row.is_active != 0,
        }
    }
}

/// The entries of a list of recipients: between commas and line ends, without blanks around them.
pub(crate) fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split([',', ';', '\n', '\r']).map(str::trim).filter(|entry| !entry.is_empty())
}

/// What stands between the braces of a token, when the whole entry is one.
pub(crate) fn token(entry: &str) -> Option<&str> {
    let inner = entry.strip_prefix("{{")?.strip_suffix("}}")?;
    let name = inner.split_once('|').map_or(inner, |(name, _)| name).trim();
    (!name.is_empty() && !name.contains(['{', '}'])).then_some(name)
}

/// The names of all tokens in a text, without their fallbacks. A backslash before the braces makes
/// them text.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find("{{")?;
            let is_text = rest[..start].ends_with('\\');
            let inner = &rest[start + 2..];
            // Once nothing closes, nothing later does.
            let end = inner.find("}}")?;
            let name = inner[..end].rsplit("{{").next().unwrap_or_default();
            let name = name.split_once('|').map_or(name, |(name, _)| name).trim();
            rest = if is_text { inner } else { &inner[end + 2..] };
            if !is_text && !name.is_empty() && !name.contains('{') {
                return Some(name);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_and_fallbacks_are_left_out() {
        let text = "a {{ mail }} {{name | you}} \\{{no}} {{}} {{ label:x }} {{*:table}} {{open";
        assert_eq!(tokens(text).collect::<Vec<_>>(), ["mail", "name", "label:x", "*:table"]);
        for (entry, expected) in [
            ("{{ mail }}", Some("mail")),
            ("{{mail|a@example.org}}", Some("mail")),
            ("a@example.org", None),
            ("x {{mail}}", None),
            ("{{a}}{{b}}", None),
            ("{{ }}", None),
        ] {
            assert_eq!(token(entry), expected, "{entry}");
        }
        let list = entries("a@example.org, b@example.org;\n {{mail}} \r\n");
        assert_eq!(list.collect::<Vec<_>>(), ["a@example.org", "b@example.org", "{{mail}}"]);
    }
}
