//! JSON → mail rules, with every fault.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::{Rule, Trigger, entries, token};
use crate::{
    fields::address,
    funnels::{problem::Problem, settings::truth},
    ground::html::sanitize,
};

/// Mail rules of a funnel at most.
const MOST: usize = 100;
/// Addresses of a list at most.
const RECIPIENTS: usize = 20;
/// Characters of a subject at most.
const SUBJECT: usize = 500;
/// Bytes of a mail's text at most.
const BODY: usize = 64 * 1024;

/// Reads rules; every fault is told. `path` is that of the list.
pub(in crate::funnels) fn read(list: &[Json], path: &str) -> (Vec<Rule>, Vec<Problem>) {
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
    "id",
    "client_id",
    "funnel_id",
    "condition_json",
    "recipients",
    "cc",
    "bcc",
    "subject",
    "body_html",
    "auto_reply_enabled",
    "auto_reply_subject",
    "auto_reply_body_html",
    "trigger_event",
    "sort_order",
    "is_active",
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

    /// What runs is left out before the rest is measured.
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
