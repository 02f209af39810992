//! `cms funnels explain`, `test`, `preview` and `try`: evaluates conditions and ways, with reasons

use std::path::{Path, PathBuf};

use clap::Args;
use cms_core::{
    conditions::Traced,
    funnels::{Previewed, StartVisit, TakenEdge, Tried, WhichFunnel},
};
use cms_http::{
    client::Client,
    wire::{
        funnel_logic::{Explain, Explained, RoutingTest, RoutingTrial, Test, Trial},
        funnels::{LookAt, MayNameFunnel, StartTest},
        parameters::NoQuery,
    },
};
use serde_json::{Map, Value as Json};

use crate::{
    input,
    output::{Done, Failure, Output},
    reply,
};

/// Evaluates a condition over answers. Exits with 0 even when it does not hold.
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
    for fault in &tried.errors {
        out.note(&format!("{}: {} ({})", fault.field, fault.message, fault.code));
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

#[derive(Args, Debug)]
#[command(after_help = "Example:
  echo '{\"mail\": \"ada@example.org\"}' | cms funnels preview leads --answers -")]
pub(crate) struct PreviewArgs {
    /// Id or slug of the funnel
    funnel: String,
    /// Id of the step; the start by default
    #[arg(long, value_name = "ID")]
    node: Option<i64>,
    /// File with a JSON object of answers; - for standard input
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
}

pub(super) async fn preview(out: &Output, client: &Client, args: &PreviewArgs) -> Done {
    let answers = args.answers.as_deref().map(input::object).transpose()?.unwrap_or_default();
    let asked = Previewed {
        funnel_id: Some(WhichFunnel::from(args.funnel.clone())),
        node_id: args.node,
        answers,
        ..Previewed::default()
    };
    let (answer, shown) = reply::call::<LookAt>(client, &MayNameFunnel::default(), &asked).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let shown = shown.data;
    out.line(&title(&shown.node))?;
    for field in shown.node["config"]["fields"].as_array().into_iter().flatten() {
        let text = |name: &str| field[name].as_str().unwrap_or_default();
        out.line(&format!("    {} ({}) {}", text("id"), text("type"), text("label")))?;
    }
    for error in &shown.errors {
        out.line(&format!("  {}: {} ({})", error.field, error.message, error.code))?;
    }
    for taken in &shown.trace {
        edge(out, taken)?;
    }
    match &shown.next {
        Some(next) => out.line(&format!("→ {}", title(next)))?,
        None if shown.can_complete => out.line("→ the end of the visit")?,
        None => {}
    }
    Ok(())
}

fn title(node: &Json) -> String {
    let text = |name: &str| node[name].as_str().unwrap_or_default();
    format!("{} {} {:?}", node["id"], text("type"), text("name"))
}

fn edge(out: &Output, taken: &TakenEdge) -> Done {
    let TakenEdge { from_node_id, to_node_id, branch_label, .. } = taken;
    out.line(&format!("  {from_node_id} → {to_node_id} ({branch_label})"))?;
    for rule in &taken.rules {
        let line = match rule {
            Traced::Rule { field, op, value, answer, result, .. } => {
                let value = value.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
                format!("{} {field} {op}{value}: the answer is {answer}", mark(*result))
            }
            Traced::Group { operator, result, .. } => format!("{} {operator}", mark(*result)),
            Traced::Unreadable { result, .. } => format!("{} cannot be read", mark(*result)),
        };
        out.line(&format!("      {line}"))?;
    }
    Ok(())
}

fn mark(result: bool) -> char {
    if result { '✓' } else { '✗' }
}

pub(super) async fn start_test(
    out: &Output,
    client: &Client,
    funnel: String,
    language: Option<String>,
) -> Done {
    let mut visit = StartVisit::of(funnel);
    visit.language = language;
    let (answer, begun) = reply::call::<StartTest>(client, &NoQuery {}, &visit).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let begun = begun.data;
    if let Some(url) = begun.url {
        return Ok(out.line(&url)?);
    }
    out.line(&begun.started.session_uuid)?;
    out.note(
        "This is the session_uuid. There is no address: set page_url of the funnel's settings.",
    );
    Ok(())
}
