//! Finds everything that is wrong with a funnel, at once. Pure. This file checks the drawing, its
//! fields and its mail rules; `conditions` checks conditions, the fields that they read, and when
//! these are asked.

mod conditions;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value as Json;

use self::conditions::asked_for;
use super::{
    graph::{Branch, EndKind, Graph, Node},
    record::Problem,
    rules::{BuiltinToken, Rule, Token, Trigger, entries, is_known, token, tokens},
    settings::FunnelSettings,
};
use crate::{
    events,
    fields::{Field, OTHER, broken_links},
};

/// Findings, grouped by their effect.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The funnel cannot be stored.
    pub(super) errors: Vec<Problem>,
    /// The funnel can be stored but not published.
    pub(super) blockers: Vec<Problem>,
    /// Hints for the author. Only `strict` refuses a funnel for them.
    pub(super) warnings: Vec<Problem>,
}

/// Checks a funnel that was read with the faults `errors`.
pub(super) fn check(
    graph: &Graph,
    rules: &[Rule],
    settings: &FunnelSettings,
    errors: Vec<Problem>,
) -> Findings {
    let mut found = Findings { errors, ..Findings::default() };
    found.warnings.extend(settings.misspelt());
    structure(graph, &mut found);
    check_fields(graph, &mut found);
    computed(graph, &mut found);
    conditions::check(graph, rules, &mut found);
    check_publish(graph, &mut found);
    ways(graph, &mut found);
    conditions::reads(graph, rules, &mut found);
    check_mails(graph, rules, settings.page_url.is_some(), &mut found);
    found
}

/// Maximum number of cycles that are reported.
const CYCLES: usize = 20;

/// Faults that keep a funnel from being stored: an invalid start, edges that leave an end, cycles.
fn structure(graph: &Graph, found: &mut Findings) {
    let errors = &mut found.errors;
    let start = "funnel.start_node_id";
    // Nodes that could not be read are reported already.
    let is_read = errors.iter().all(|problem| !problem.path.starts_with("nodes["));
    match (graph.start_id(), graph.start()) {
        (Some(_), None) if is_read => {
            let message = "the id of one of the funnel's nodes is expected";
            errors.push(Problem::new("start_missing", start, message));
        }
        (Some(id), Some(node)) if node.step().is_none() => {
            let message = format!("a step is expected, {} is none", node.title());
            errors.push(Problem::new("start_not_step", start, message).of(id));
        }
        _ => {}
    }
    for edge in graph.edges() {
        if let Some(node) = graph.node(edge.from).filter(|node| node.end().is_some()) {
            let message = format!("{} is an end: no edge leaves it", node.title());
            errors.push(Problem::new("edge_from_end", edge.path(), message).of(node.id));
        }
    }
    for cycle in graph.cycles(CYCLES) {
        let title = |id: &i64| graph.node(*id).map(|node| node.title()).unwrap_or_default();
        let names = cycle.iter().chain(cycle.first()).map(title).collect::<Vec<_>>().join(" → ");
        let ids = cycle.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let message = format!("a visit would never end: {names} (nodes {ids})");
        let problem = Problem::new("cycle", "edges", message);
        errors.push(match cycle.first() {
            Some(first) => problem.of(*first),
            None => problem,
        });
    }
}

/// Faults that would strand visitors.
fn check_publish(graph: &Graph, found: &mut Findings) {
    let blockers = &mut found.blockers;
    if !graph.nodes().iter().any(|node| node.step().is_some()) {
        blockers.push(Problem::new("no_step", "nodes", "at least one step is expected"));
    }
    if !graph.nodes().iter().any(|node| node.end().is_some()) {
        blockers.push(Problem::new("no_end", "nodes", "at least one end is expected"));
    }
    if graph.start_id().is_none() {
        let message = "the step that a visit begins with is expected";
        blockers.push(Problem::new("no_start", "funnel.start_node_id", message));
    }
    for node in graph.nodes() {
        for field in node.fields().filter(|field| field.type_name() == "payment") {
            let message = format!("funnels take no payments yet: leave {:?} out", field.id());
            let path = node.path_of(field);
            blockers.push(Problem::new("unknown_field_type", path, message).of(node.id));
        }
        // Where allow_other is set, the ids of options end with its own.
        let is_twice = |ids: Vec<&str>| ids.iter().filter(|id| **id == OTHER).count() > 1;
        for field in node.fields().filter(|field| field.options(None).is_some_and(is_twice)) {
            let message = format!(
                "{OTHER:?} is the id of answers of one's own, which {:?} allows: give the option \
                 another id",
                field.id()
            );
            let path = format!("{}.options", node.path_of(field));
            blockers.push(Problem::new("bad_config", path, message).of(node.id));
        }
        for field in node.fields() {
            let Some(lacks) = field.unanswerable() else { continue };
            let message = format!("nobody can answer {:?}, which is required: {lacks}", field.id());
            let path = node.path_of(field);
            blockers.push(Problem::new("bad_config", path, message).of(node.id));
        }
    }
    for node in graph.nodes().iter().filter(|node| node.kind.is_condition()) {
        let has = |branch| graph.edge(node.id, branch).is_some();
        let leads_on = has(Branch::Default) || (has(Branch::True) && has(Branch::False));
        if !leads_on {
            let message = format!(
                "{} needs an edge for true and one for false, or one by default",
                node.title()
            );
            blockers.push(Problem::new("missing_branch", node.path(), message).of(node.id));
        }
    }
}

/// Warns of nodes that no visit reaches, of ways and ends that lead nowhere, and of edges that
/// are never taken.
fn ways(graph: &Graph, found: &mut Findings) {
    let warnings = &mut found.warnings;
    let starts: Vec<_> = graph.start_id().into_iter().collect();
    let reached = graph.reached(&starts, |_| false);
    for (place, node) in graph.nodes().iter().enumerate() {
        if !starts.is_empty() && !reached[place] {
            let message = format!("no way leads from the start to {}", node.title());
            warnings.push(Problem::new("unreachable_node", node.path(), message).of(node.id));
        }
        if node.step().is_some() && graph.out(node.id).next().is_none() {
            let message =
                format!("no edge leaves {}: the visit ends there without an end", node.title());
            warnings.push(Problem::new("dead_end_step", node.path(), message).of(node.id));
        }
        let end = node.end().filter(|end| end.kind == EndKind::Redirect);
        if end.is_some_and(|end| end.redirect_url.is_none()) {
            let message =
                format!("{} is a redirect to nowhere: name the page in redirect_url", node.title());
            let path = format!("{}.config_json.redirect_url", node.path());
            warnings.push(Problem::new("redirect_without_url", path, message).of(node.id));
        }
    }
    if let Some(start) = graph.start() {
        let is_end = |place: usize| graph.nodes()[place].end().is_some();
        let comes_to_end = (0..reached.len()).any(|place| reached[place] && is_end(place));
        if !comes_to_end && (0..reached.len()).any(is_end) {
            let message = format!("no way leads from {} to an end", start.title());
            warnings.push(Problem::new("end_not_reachable", start.path(), message).of(start.id));
        }
    }
    let mut taken = HashMap::new();
    for edge in graph.edges() {
        if taken.insert((edge.from, edge.branch), edge.id).is_some() {
            let label = edge.branch.as_str();
            let message = format!(
                "an earlier edge of this node has the label {label}: nobody takes this one"
            );
            warnings.push(Problem::new("shadowed_edge", edge.path(), message).of(edge.from));
        }
    }
}

/// Refuses fields that are asked twice, where one answer would overwrite another, and invalid
/// addresses in settings.
fn check_fields(graph: &Graph, found: &mut Findings) {
    let mut asked: BTreeMap<&str, Vec<(usize, &Node, &Field)>> = BTreeMap::new();
    for (place, node) in graph.nodes().iter().enumerate() {
        for field in node.fields() {
            asked.entry(field.id()).or_default().push((place, node, field));
        }
    }
    let beyond = graph.beyond();
    for (id, steps) in asked {
        for (index, (place, node, field)) in steps.iter().enumerate() {
            let clash = steps[..index].iter().find_map(|(before, first, earlier)| {
                let follows = beyond[*before].has(*place) || beyond[*place].has(*before);
                let differs = earlier.type_name() != field.type_name();
                (follows || differs).then(|| match follows {
                    true => format!("{} asks for {id:?} on the same way", first.title()),
                    false => format!("{} asks for {id:?} with another type", first.title()),
                })
            });
            if let Some(message) = clash {
                let path = node.path_of(field);
                found.errors.push(Problem::new("duplicate_field", path, message).of(node.id));
            }
        }
        let (_, node, field) = steps[0];
        if id.starts_with('_') {
            let message = "ids that begin with _ are the service's own";
            let path = format!("{}.id", node.path_of(field));
            found.errors.push(Problem::new("bad_id", path, message).of(node.id));
        }
        if events::is_removed(id) {
            let message = format!(
                "receivers of webhooks that read answers by their ids lose {id:?}: the payload \
                 filter removes such names"
            );
            let path = format!("{}.id", node.path_of(field));
            let problem = Problem::new("field_id_stripped_by_webhook_filter", path, message);
            found.warnings.push(problem.of(node.id));
        }
    }
    for node in graph.nodes().iter().filter(|node| node.step().is_some()) {
        for fault in broken_links(node.config.get("fields").unwrap_or(&Json::Null)) {
            let path = format!("{}.config_json.fields{}", node.path(), fault.field);
            found.errors.push(Problem::new(fault.code, path, fault.message).of(node.id));
        }
    }
}

/// Maximum number of computed fields of a funnel: each answered step computes them again.
const MOST_COMPUTED: usize = 100;

/// Checks computed fields: each source must be a field that is asked for, or one that can be
/// computed itself.
fn computed(graph: &Graph, found: &mut Findings) {
    let computed = |node: &Node| node.fields().filter(|f| f.computed_from().is_some()).count();
    let count: usize = graph.nodes().iter().map(computed).sum();
    if count > MOST_COMPUTED {
        let message = format!("at most {MOST_COMPUTED} computed fields are expected, not {count}");
        return found.errors.push(Problem::new("too_large", "nodes", message));
    }
    for node in graph.nodes() {
        for field in node.fields() {
            let Some(names) = field.computed_from() else { continue };
            let path = format!("{}.expression", node.path_of(field));
            let mut wrong = |message: String| {
                let problem = Problem::new("bad_config", path.clone(), message);
                found.errors.push(problem.of(node.id));
            };
            for name in names.into_iter().filter(|name| graph.field(name).is_none()) {
                wrong(format!("no step asks for {name:?}"));
            }
            if graph.circular().iter().any(|id| id == field.id()) {
                wrong(format!("{:?} counts on itself, or on a field that does", field.id()));
            }
        }
    }
}

/// Field types whose answers visitors write freely.
const FREE: [&str; 7] =
    ["short_text", "long_text", "url", "full_name", "address", "repeater", "hidden"];

/// Checks mail rules. `has_page`: whether the settings name the page that shows the funnel.
fn check_mails(graph: &Graph, rules: &[Rule], has_page: bool, found: &mut Findings) {
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
    rule.condition.as_ref().is_none_or(|one| crate::conditions::check(one).stored.is_null())
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
