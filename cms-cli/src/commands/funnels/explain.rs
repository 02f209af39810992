//! `cms funnels explain` and `cms funnels test`: conditions and ways, with reasons

use std::path::Path;

use cms_core::{
    conditions::Traced,
    funnels::{Tried, WhichFunnel},
};
use cms_http::{
    client::Client,
    wire::{
        funnel_logic::{Explain, Explained, RoutingTest, RoutingTrial, Test, Trial},
        parameters::NoQuery,
    },
};
use serde_json::{Map, Value as Json};

use crate::{
    input,
    output::{Done, Failure, Output},
    reply,
};

/// Evaluates a condition over answers. Exits with 0 also when it does not hold.
pub(super) async fn explain(
    out: &Output,
    client: &Client,
    condition: &Path,
    answers: Option<&Path>,
    validate: bool,
) -> Done {
    let text = input::text(condition)?;
    let condition: Json = serde_json::from_str(&text)
        .map_err(|why| Failure::usage(format!("{}: {why}", condition.display())))?;
    let asked = Explained { condition, answers: given(answers)?, validate };
    let (answer, said) = reply::call::<Explain>(client, &NoQuery {}, &asked).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let said = said.data;
    for line in lines(&said.trace) {
        out.line(&line)?;
    }
    for problem in &said.problems {
        out.note(&format!("{} ({}): {}", problem.path, problem.code, problem.message));
    }
    Ok(out.line(if said.result {
        "The condition holds."
    } else {
        "The condition does not hold."
    })?)
}

/// Walks a funnel with answers.
pub(super) async fn test(
    out: &Output,
    client: &Client,
    funnel: &str,
    answers: Option<&Path>,
) -> Done {
    let id = WhichFunnel::from(funnel.to_owned());
    let asked = Trial { id, answers: given(answers)? };
    let (answer, tried) = reply::call::<Test>(client, &NoQuery {}, &asked).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let Tried { path, completes, ignored, .. } = tried.data;
    for (at, node) in path.iter().enumerate() {
        let branch = node.branch.as_deref().filter(|branch| *branch != "default");
        let branch = branch.map(|branch| format!(" → {branch}")).unwrap_or_default();
        out.line(&format!("{}. {} {} {:?}{branch}", at + 1, node.kind, node.id, node.name))?;
        for line in lines(&node.trace) {
            out.line(&format!("   {line}"))?;
        }
        for fault in &node.errors {
            out.line(&format!("   {}: {} ({})", fault.field, fault.message, fault.code))?;
        }
    }
    if !ignored.is_empty() {
        out.note(&format!("No step on this way asks for {}.", ignored.join(", ")));
    }
    let end = match (completes, path.last()) {
        (true, Some(node)) if node.kind == "end" => format!("The visit ends at {:?}.", node.name),
        (true, _) => "The visit ends: no edge leads on.".to_owned(),
        (false, Some(node)) => format!("The visit stops at {:?}.", node.name),
        (false, None) => "The funnel has no start.".to_owned(),
    };
    Ok(out.line(&end)?)
}

/// Says which mail rule would send what to whom.
pub(super) async fn routing(
    out: &Output,
    client: &Client,
    funnel: &str,
    trigger: String,
    answers: Option<&Path>,
) -> Done {
    let funnel_id = WhichFunnel::from(funnel.to_owned());
    let asked = RoutingTrial { funnel_id, trigger, answers: given(answers)? };
    let (answer, tried) = reply::call::<RoutingTest>(client, &NoQuery {}, &asked).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let tried = tried.data;
    for rule in &tried.rules {
        let is_chosen = tried.chosen == Some(rule.id);
        let verdict = match (is_chosen, rule.matches) {
            (true, _) => "writes",
            (false, true) => "matches, but an earlier rule writes",
            (false, false) => "does not match",
        };
        out.line(&format!("rule {} {verdict}", rule.id))?;
        for line in lines(&rule.trace) {
            out.line(&format!("   {line}"))?;
        }
    }
    for mail in &tried.mails {
        out.line(&format!("{} to {}: {}", mail.kind, mail.to, mail.subject))?;
    }
    for why in &tried.skipped {
        out.note(why);
    }
    if tried.chosen.is_none() {
        out.line("No rule matches: nobody is written to.")?;
    }
    Ok(())
}

fn given(answers: Option<&Path>) -> Done<Map<String, Json>> {
    answers.map_or_else(|| Ok(Map::new()), input::object)
}

/// A line for each rule and group.
fn lines(trace: &[Traced]) -> Vec<String> {
    let mark = |holds: bool| if holds { "✓" } else { "✗" };
    let line = |traced: &Traced| match traced {
        Traced::Rule { path, field, op, value, answer, result } => {
            let value = value.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
            format!("{} {path}: {field} {op}{value} (answer: {answer})", mark(*result))
        }
        Traced::Group { path, operator, result } => {
            format!("{} {path}: {operator}", mark(*result))
        }
        Traced::Unreadable { path, result } => {
            format!("{} {path}: cannot be read", mark(*result))
        }
    };
    trace.iter().map(line).collect()
}
