//! Mail rules against the fields of the funnel.

use super::{Findings, reads::asked_for};
use crate::{
    conditions,
    funnels::{
        graph::Graph,
        problem::Problem,
        rules::{Own, Rule, Trigger, entries, is_known, token, tokens},
    },
};

/// `has_page`: whether the settings say where the funnel is shown.
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
        recipients(graph, at, rule, found);
        for (member, text) in rule.texts() {
            for name in tokens(text) {
                if let Some(message) = blank(graph, rule.trigger, name, has_page) {
                    let path = format!("email_routings[{at}].{member}");
                    found.warnings.push(Problem::new("unknown_token", path, message));
                }
            }
        }
    }
}

/// Why nothing ever stands in the place of a token.
fn blank(graph: &Graph, trigger: Trigger, name: &str, has_page: bool) -> Option<String> {
    if name == Own::ResumeUrl.name() {
        let why = match trigger {
            Trigger::Completed => "a completed visit cannot be resumed",
            Trigger::Abandoned if has_page => return None,
            Trigger::Abandoned => "name the page that shows the funnel in settings_json.page_url",
        };
        return Some(format!("nothing stands in the place of {name:?}: {why}"));
    }
    if name == Own::SubmissionReference.name() && trigger == Trigger::Abandoned {
        return Some(format!("nothing stands in the place of {name:?}: no visit was completed"));
    }
    let field = name.strip_prefix("label:").unwrap_or(name).trim();
    let is_blank = !is_known(name) && asked_for(graph, field).is_none();
    is_blank.then(|| format!("no step asks for {name:?}: nothing stands in its place"))
}

/// Whether a rule matches whatever the answers are.
fn is_always(rule: &Rule) -> bool {
    rule.condition.as_ref().is_none_or(|one| conditions::check(one).stored.is_null())
}

/// Only answers that were checked as addresses are written to. What comes with the visitor is
/// anybody's.
fn recipients(graph: &Graph, at: usize, rule: &Rule, found: &mut Findings) {
    for name in entries(&rule.recipients).filter_map(token) {
        let wrong = match graph.field(name).map(|(_, field)| field.type_name()) {
            Some("email") => continue,
            Some(kind) => format!("{name:?} is of the type {kind}: only email is written to"),
            None => {
                format!("no step asks for {name:?}: only fields of the type email are written to")
            }
        };
        let path = format!("email_routings[{at}].recipients");
        found.errors.push(Problem::new("bad_recipient", path, wrong));
    }
}
