//! Mail rules against the fields of the funnel.

use std::collections::BTreeSet;

use super::{Findings, conditions::asked_for};
use crate::{
    conditions,
    funnels::{
        graph::Graph,
        problem::Problem,
        rules::{BuiltinToken, Rule, Token, Trigger, entries, is_known, token, tokens},
    },
};

/// Field types whose answers visitors write freely.
const FREE: [&str; 7] =
    ["short_text", "long_text", "url", "full_name", "address", "repeater", "hidden"];

/// Checks mail rules. `has_page`: whether the settings name the page that shows the funnel.
pub(super) fn check(graph: &Graph, rules: &[Rule], has_page: bool, found: &mut Findings) {
    for trigger in Trigger::ALL {
        let mut of: Vec<_> = rules.iter().enumerate().collect();
        of.retain(|rule| rule.1.trigger == trigger && rule.1.is_active);
        of.sort_by_key(|(at, rule)| (rule.sort_order, rule.id == 0, rule.id, *at));
        let first = of.iter().position(|(_, rule)| is_always(rule)).unwrap_or(of.len());
        for (at, _) in of.iter().skip(first + 1) {
            let message = "a rule before it always matches: this one never writes";
            let path = format!("email_routings[{at}]");
            found.warnings.push(Problem::new("mail_rule_after_catch_all", path, message));
        }
    }
    let mut asked = graph.nodes().iter().filter_map(|node| node.step());
    let asks_for_mail = asked.any(|step| step.fields.iter().any(|one| one.type_name() == "email"));
    for (at, rule) in rules.iter().enumerate() {
        if rule.auto_reply_enabled && !asks_for_mail {
            let message = "no step asks for an address of mail: nobody gets the reply";
            let path = format!("email_routings[{at}].auto_reply_enabled");
            found.warnings.push(Problem::new("auto_reply_without_email_field", path, message));
        }
        if rule.auto_reply_enabled && asks_for_mail && rule.trigger == Trigger::Completed {
            echoes(graph, at, rule, found);
        }
        recipients(graph, at, rule, found);
        for (member, text) in rule.texts() {
            for token in tokens(text) {
                if let Some(message) = blank(graph, rule.trigger, token, has_page) {
                    let path = format!("email_routings[{at}].{member}");
                    found.warnings.push(Problem::new("unknown_token", path, message));
                }
            }
        }
    }
}

/// Warns of a confirmation that repeats what visitors write: a visitor who enters the address of a
/// stranger could send any text there.
fn echoes(graph: &Graph, at: usize, rule: &Rule, found: &mut Findings) {
    let is_free = |name: &str| {
        let kind = asked_for(graph, name).and_then(|id| graph.field(id));
        name.ends_with(".other") || kind.is_some_and(|(_, one)| FREE.contains(&one.type_name()))
    };
    let fields = graph.nodes().iter().flat_map(|node| node.fields());
    let written: BTreeSet<_> = fields.map(|field| field.id()).filter(|id| is_free(id)).collect();
    let replies = rule.texts().into_iter().filter(|(name, _)| name.starts_with("auto_reply"));
    for (member, text) in replies {
        // Without a body a mail shows all answers.
        let is_bare = member.ends_with("html") && text.trim().is_empty();
        let names = || tokens(text).map(|token| token.name);
        let names: Vec<_> = match is_bare || names().any(|name| name.starts_with('*')) {
            true => written.iter().copied().collect(),
            false => names().filter(|name| is_free(name)).collect(),
        };
        if !names.is_empty() {
            let message = format!(
                "the confirmation repeats what visitors write ({}), also to strangers whose \
                 address they enter: leave these answers out",
                names.join(", ")
            );
            let path = format!("email_routings[{at}].{member}");
            found.warnings.push(Problem::new("auto_reply_echoes_text", path, message));
        }
    }
}

/// Why a token never gets a value; None: it can get one.
fn blank(graph: &Graph, trigger: Trigger, token: Token<'_>, has_page: bool) -> Option<String> {
    let name = token.name;
    if name == BuiltinToken::ResumeUrl.name() {
        let why = match trigger {
            Trigger::Completed => "a completed visit cannot be resumed",
            Trigger::Abandoned if has_page => return None,
            Trigger::Abandoned => "name the page that shows the funnel in settings_json.page_url",
        };
        return Some(format!("no value stands in the place of {name:?}: {why}"));
    }
    if name == BuiltinToken::SubmissionReference.name() && trigger == Trigger::Abandoned {
        return Some(format!("no value stands in the place of {name:?}: no visit was completed"));
    }
    let ends = if token.fallback.is_empty() { "is left blank" } else { "shows only its fallback" };
    if name.is_empty() {
        let mend = "a backslash before the braces makes text";
        return Some(format!("a token without a name {ends}; {mend}"));
    }
    let field = name.strip_prefix("label:").unwrap_or(name).trim();
    let is_blank = !is_known(name) && asked_for(graph, field).is_none();
    is_blank.then(|| format!("no step asks for {name:?}: it {ends}"))
}

/// Whether a rule matches whatever the answers are.
fn is_always(rule: &Rule) -> bool {
    rule.condition.as_ref().is_none_or(|one| conditions::check(one).stored.is_null())
}

/// Refuses tokens in the list of recipients unless they name a field of type `email`: only its
/// answers are checked as addresses, and anybody can set hidden fields.
fn recipients(graph: &Graph, at: usize, rule: &Rule, found: &mut Findings) {
    for name in entries(&rule.recipients).filter_map(token) {
        let wrong = match graph.field(name).map(|(_, field)| field.type_name()) {
            Some("email") => continue,
            Some(kind) => format!("{name:?} is of the type {kind}: mails go only to type email"),
            None => {
                format!("no step asks for {name:?}: only fields of the type email are written to")
            }
        };
        let path = format!("email_routings[{at}].recipients");
        found.errors.push(Problem::new("bad_recipient", path, wrong));
    }
}
