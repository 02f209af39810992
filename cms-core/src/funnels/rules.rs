//! Mail rules: who gets a mail when a visit ends, and when. Rules are read from JSON, with every
//! fault. The service's own tokens are listed once, here: rules are checked against the list, and
//! mails are filled from it.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::{
    record::{EmailRouting, Problem},
    settings::truth,
};
use crate::{conditions::AROUND, fields::address, ground::html::sanitize};

/// A mail rule. The first matching rule for an event sends its mails.
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
    /// The visit was completed.
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
    /// The texts that may hold tokens, with the names of their members.
    pub(super) fn texts(&self) -> [(&'static str, &str); 7] {
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

/// The name of a token, when the whole entry is one token.
pub(crate) fn token(entry: &str) -> Option<&str> {
    let inner = entry.strip_prefix("{{")?.strip_suffix("}}")?;
    let name = inner.split_once('|').map_or(inner, |(name, _)| name).trim();
    (!name.is_empty() && !name.contains(['{', '}'])).then_some(name)
}

/// A token in a text, such as `{{ name | otherwise }}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// Where its braces begin, in bytes.
    pub(super) start: usize,
    /// Where they end.
    pub(super) end: usize,
    /// Blank in `{{}}`.
    pub(super) name: &'a str,
    /// The text to show when the value is blank.
    pub(super) fallback: &'a str,
}

/// The tokens of a text, from left to right. Each begins at the last `{{` before a `}}`; earlier
/// braces are text. A backslash before the braces makes two or three of them text.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let close = from + text[from..].find("}}")?;
            let opened = text[from..close].rfind("{{").map(|at| from + at);
            from = close + 2;
            let is_text = |at: usize| {
                let before = text[..at].trim_end_matches('{');
                before.ends_with('\\') && at - before.len() < 2
            };
            let Some(start) = opened.filter(|at| !is_text(*at)) else { continue };
            let inner = &text[start + 2..close];
            let (name, fallback) = inner.split_once('|').unwrap_or((inner, ""));
            return Some(Token { start, end: from, name: name.trim(), fallback: fallback.trim() });
        }
    })
}

/// The tokens that only mails know, beside answers and the names that conditions know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuiltinToken {
    FunnelName,
    FunnelSlug,
    SubmissionId,
    SubmissionReference,
    SubmissionUrl,
    EndName,
    Date,
    ResumeUrl,
}

/// Tokens for all answers, as a list and as a table.
const ALL_ANSWERS: [&str; 2] = ["*", "*:table"];

impl BuiltinToken {
    const ALL: [Self; 8] = [
        Self::FunnelName,
        Self::FunnelSlug,
        Self::SubmissionId,
        Self::SubmissionReference,
        Self::SubmissionUrl,
        Self::EndName,
        Self::Date,
        Self::ResumeUrl,
    ];

    /// The text between the braces.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::FunnelName => "_funnel.name",
            Self::FunnelSlug => "_funnel.slug",
            Self::SubmissionId => "_submission.id",
            Self::SubmissionReference => "_submission.reference",
            Self::SubmissionUrl => "_submission.url",
            Self::EndName => "_end.name",
            Self::Date => "_date",
            Self::ResumeUrl => "_resume_url",
        }
    }

    /// The names of all these tokens, with their values.
    pub(super) fn with_values(value: impl Fn(Self) -> String) -> Vec<(&'static str, String)> {
        Self::ALL.into_iter().map(|token| (token.name(), value(token))).collect()
    }
}

/// Whether mails know a token of this name that is not an answer.
pub(super) fn is_known(name: &str) -> bool {
    let is_builtin = BuiltinToken::ALL.into_iter().any(|token| token.name() == name);
    is_builtin || ALL_ANSWERS.contains(&name) || AROUND.contains(&name)
}

/// Maximum number of mail rules of a funnel.
const MOST: usize = 100;
/// Maximum number of addresses in a list.
const RECIPIENTS: usize = 20;
/// Maximum characters of a subject.
const SUBJECT: usize = 500;
/// Maximum bytes of a mail's text.
const BODY: usize = 64 * 1024;

/// Reads rules and reports every fault. `path`: the path of the list.
pub(super) fn read(list: &[Json], path: &str) -> (Vec<Rule>, Vec<Problem>) {
    if list.len() > MOST {
        let message = format!("at most {MOST} mail rules are expected");
        return (Vec::new(), vec![Problem::new("too_large", path, message)]);
    }
    let (mut rules, mut problems) = (Vec::new(), Vec::new());
    for (at, given) in list.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Some(given) = given.as_object() else {
            problems.push(Problem::new("bad_config", path, "an object is expected"));
            continue;
        };
        let mut reading = Reading { given, path, problems: Vec::new() };
        rules.push(reading.rule(i64::try_from(at).unwrap_or_default()));
        problems.extend(reading.problems);
    }
    (rules, problems)
}

struct Reading<'a> {
    given: &'a Map<String, Json>,
    path: String,
    problems: Vec<Problem>,
}

const MEMBERS: [&str; 15] = [
    "id", "client_id", "funnel_id", "condition_json", "recipients", "cc", "bcc", "subject",
    "body_html", "auto_reply_enabled", "auto_reply_subject", "auto_reply_body_html",
    "trigger_event", "sort_order", "is_active",
];

impl Reading<'_> {
    fn wrong(&mut self, code: &'static str, member: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(code, format!("{}.{member}", self.path), message));
    }

    fn member(&self, name: &str) -> Option<&Json> {
        self.given.get(name).filter(|value| !value.is_null())
    }

    fn rule(&mut self, listed: i64) -> Rule {
        let given = self.given;
        for name in given.keys().filter(|name| !MEMBERS.contains(&name.as_str())) {
            self.wrong("unknown", name, "a mail rule has no such member");
        }
        let trigger = match self.member("trigger_event") {
            None => Trigger::default(),
            Some(value) => value.as_str().and_then(Trigger::named).unwrap_or_else(|| {
                self.wrong("bad_config", "trigger_event", "completed or abandoned is expected");
                Trigger::default()
            }),
        };
        Rule {
            id: self.id(),
            condition: self.member("condition_json").cloned(),
            recipients: self.addresses("recipients", true),
            cc: self.addresses("cc", false),
            bcc: self.addresses("bcc", false),
            subject: self.line("subject"),
            body_html: self.body("body_html"),
            auto_reply_enabled: self.truth("auto_reply_enabled", false),
            auto_reply_subject: self.line("auto_reply_subject"),
            auto_reply_body_html: self.body("auto_reply_body_html"),
            trigger,
            sort_order: self.sort_order(listed),
            is_active: self.truth("is_active", true),
        }
    }

    /// Negative ids are those of new rules.
    fn id(&mut self) -> i64 {
        let Some(given) = self.member("id").or(self.member("client_id")) else { return 0 };
        let id = given.as_i64();
        if id.is_none() {
            self.wrong(
                "bad_id",
                "id",
                "the id of a stored rule is expected, or none for a new one",
            );
        }
        id.unwrap_or_default().max(0)
    }

    fn sort_order(&mut self, listed: i64) -> i64 {
        let Some(given) = self.member("sort_order") else { return listed };
        let order = given.as_i64();
        if order.is_none() {
            self.wrong("bad_config", "sort_order", "a whole number is expected");
        }
        order.unwrap_or(listed)
    }

    fn truth(&mut self, name: &str, otherwise: bool) -> bool {
        let Some(given) = self.member(name) else { return otherwise };
        let read = truth(given);
        if read.is_none() {
            self.wrong("bad_config", name, "true or false is expected, or 1 or 0");
        }
        read.unwrap_or(otherwise)
    }

    fn text(&mut self, name: &str) -> String {
        match self.member(name) {
            None => String::new(),
            Some(Json::String(text)) if !text.contains('\0') => text.clone(),
            Some(_) => {
                self.wrong("bad_config", name, "a text is expected");
                String::new()
            }
        }
    }

    fn line(&mut self, name: &str) -> String {
        let text = self.text(name);
        if text.chars().count() > SUBJECT || text.contains(char::is_control) {
            let message = format!("one line of up to {SUBJECT} characters is expected");
            self.wrong("bad_config", name, message);
        }
        text
    }

    /// Scripts are removed before the text is measured.
    fn body(&mut self, name: &str) -> String {
        let text = sanitize(&self.text(name));
        if text.len() > BODY {
            self.wrong("too_large", name, format!("up to {BODY} bytes are expected"));
        }
        text
    }

    /// A list as text, or as a list of texts.
    fn addresses(&mut self, name: &str, takes_tokens: bool) -> String {
        let list: Cow<'_, str> = match self.member(name) {
            None => return String::new(),
            Some(Json::String(text)) => text.as_str().into(),
            Some(Json::Array(list)) if list.iter().all(Json::is_string) => {
                list.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", ").into()
            }
            Some(_) => {
                self.wrong(
                    "bad_recipient",
                    name,
                    "addresses with commas between them are expected",
                );
                return String::new();
            }
        };
        let list = list.into_owned();
        if entries(&list).count() > RECIPIENTS {
            let message = format!("at most {RECIPIENTS} addresses are expected");
            self.wrong("bad_recipient", name, message);
            return list;
        }
        for entry in entries(&list) {
            match token(entry) {
                Some(_) if takes_tokens => {}
                Some(_) => {
                    let message = format!("{entry}: answers are for recipients, not for cc or bcc");
                    self.wrong("bad_recipient", name, message);
                }
                None => {
                    if let Err(why) = address(entry) {
                        self.wrong("bad_recipient", name, format!("{entry:?}: {why}"));
                    }
                }
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_and_fallbacks_are_left_out() {
        for (text, expected) in [
            (
                "a {{ mail }} {{name | you}} \\{{no}} {{ label:x }} {{*:table}} {{open",
                &["mail", "name", "label:x", "*:table"][..],
            ),
            ("{{}} {{ | you }}", &["", ""]),
            ("{{{who}}} }} {{ {{ who }} }} {{ open {{link}}", &["who", "who", "link"]),
            ("\\{{{no}} {{no \\{{no}} {{a{b}}", &["a{b"]),
            ("\\{{{{who}} }}", &["who"]),
        ] {
            let names: Vec<_> = tokens(text).map(|token| token.name).collect();
            assert_eq!(names, expected, "{text}");
        }
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
