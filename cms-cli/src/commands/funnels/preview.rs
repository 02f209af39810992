//! `cms funnels preview`: where answers lead from a step, and why

use std::path::PathBuf;

use clap::Args;
use cms_core::{
    conditions::Traced,
    funnels::{Previewed, Taken, WhichFunnel},
};
use cms_http::{
    client::Client,
    wire::funnels::{LookAt, MayNameFunnel},
};
use serde_json::Value as Json;

use crate::{
    input,
    output::{Done, Output},
    reply,
};

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

pub(super) async fn run(out: &Output, client: &Client, args: &PreviewArgs) -> Done {
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

fn edge(out: &Output, taken: &Taken) -> Done {
    let Taken { from_node_id, to_node_id, branch_label, .. } = taken;
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
