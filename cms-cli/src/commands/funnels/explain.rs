//! `cms funnels explain`, `test`, `preview` and `try`: evaluates conditions and ways, with reasons.
//! `cms funnels routing`: mail rules

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cms_core::{
    conditions::Traced,
    funnels::{Previewed, Routings, StartVisit, TakenEdge, Tried, WhichFunnel},
};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        funnel_logic::{Explain, Explained, RoutingTest, RoutingTrial, Test, Trial},
        funnels::{EmailRoutings, LookAt, MayNameFunnel, OfFunnel, SaveEmailRoutings, StartTest},
        parameters::NoQuery,
    },
};
use serde_json::{Map, Value as Json};

use super::{drawn, warned};
use crate::{
    input,
    output::{Done, Failure, Output, counted},
    reply,
};

#[derive(Args, Debug)]
#[command(after_help = "Example:
  cms funnels explain --condition rules.json --answers answers.json")]
pub(crate) struct ExplainArgs {
    /// File with the condition as JSON; - for standard input
    #[arg(long, value_name = "FILE")]
    condition: PathBuf,
    /// File with answers: a JSON object
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Refuse a condition that could not be saved
    #[arg(long)]
    validate: bool,
}

/// Evaluates a condition over answers. Exits with 0 even when it does not hold.
pub(super) async fn explain(out: &Output, client: &Client, args: &ExplainArgs) -> Done {
    let ExplainArgs { condition, answers, validate } = args;
    let condition: Json = serde_json::from_str(&input::text(condition)?)
        .map_err(|why| Failure::usage(format!("{}: {why}", condition.display())))?;
    let asked = Explained { condition, answers: given(answers.as_deref())?, validate: *validate };
    reply::printed::<Explain>(out, client, &NoQuery {}, &asked, |said| {
        let said = said.data;
        for line in lines(&said.trace) {
            out.line(&line)?;
        }
        for problem in &said.problems {
            out.note(&format!("{} ({}): {}", problem.path, problem.code, problem.message));
        }
        let holds = if said.result { "holds" } else { "does not hold" };
        Ok(out.line(&format!("The condition {holds}."))?)
    })
    .await
}

#[derive(Args, Debug)]
#[command(after_help = "Example: cms funnels test leads --answers answers.json")]
pub(crate) struct TestArgs {
    /// Id or slug of the funnel
    funnel: String,
    /// File with the answers of all steps: a JSON object
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
}

/// Walks a funnel with answers.
pub(super) async fn test(out: &Output, client: &Client, args: TestArgs) -> Done {
    let answers = given(args.answers.as_deref())?;
    let asked = Trial { id: WhichFunnel::from(args.funnel), answers };
    reply::printed::<Test>(out, client, &NoQuery {}, &asked, |tried| {
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
            (true, Some(node)) if node.kind == "end" => {
                format!("The visit ends at {:?}.", node.name)
            }
            (true, _) => "The visit ends: no edge leads on.".to_owned(),
            (false, Some(node)) => format!("The visit stops at {:?}.", node.name),
            (false, None) => "The funnel has no start.".to_owned(),
        };
        Ok(out.line(&end)?)
    })
    .await
}

#[derive(Args, Debug)]
pub(crate) struct RoutingArgs {
    /// Id or slug of the funnel
    funnel: String,
    /// The end of the visit: completed or abandoned
    #[arg(long, default_value = "completed")]
    trigger: String,
    /// File with answers: a JSON object
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
}

/// Says which mail rule would send what to whom.
async fn routing(out: &Output, client: &Client, args: RoutingArgs) -> Done {
    let answers = given(args.answers.as_deref())?;
    let funnel_id = WhichFunnel::from(args.funnel);
    let asked = RoutingTrial { funnel_id, trigger: args.trigger, answers };
    reply::printed::<RoutingTest>(out, client, &NoQuery {}, &asked, |tried| {
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
    })
    .await
}

fn given(answers: Option<&Path>) -> Done<Map<String, Json>> {
    answers.map_or_else(|| Ok(Map::new()), input::object)
}

/// A line for each rule and group.
fn lines(trace: &[Traced]) -> Vec<String> {
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

pub(super) async fn preview(out: &Output, client: &Client, args: PreviewArgs) -> Done {
    let asked = Previewed {
        funnel_id: Some(WhichFunnel::from(args.funnel)),
        node_id: args.node,
        answers: given(args.answers.as_deref())?,
        ..Previewed::default()
    };
    reply::printed::<LookAt>(out, client, &MayNameFunnel::default(), &asked, |shown| {
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
    })
    .await
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

#[derive(Args, Debug)]
#[command(after_help = "Example: xdg-open \"$(cms funnels try leads)\"")]
pub(crate) struct TryArgs {
    /// Id or slug of the funnel, which is published
    funnel: String,
    /// As a visitor of this language, such as en
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
}

pub(super) async fn start_test(out: &Output, client: &Client, args: TryArgs) -> Done {
    let mut visit = StartVisit::of(args.funnel);
    visit.language = args.language;
    reply::printed::<StartTest>(out, client, &NoQuery {}, &visit, |begun| {
        if let Some(url) = begun.data.url {
            return Ok(out.line(&url)?);
        }
        out.line(&begun.data.started.session_uuid)?;
        out.note(
            "This is the session_uuid. There is no address: set page_url of the funnel's settings.",
        );
        Ok(())
    })
    .await
}

#[derive(Debug, Subcommand)]
pub(crate) enum RoutingCommand {
    /// List the mail rules of a funnel, in the order in which they are tried
    List {
        /// Id or slug of the funnel
        funnel: String,
    },
    /// Replace all mail rules of a funnel; they count at once
    #[command(after_help = "Example:
  cms funnels routing list leads --json | jq .data > rules.json
  cms funnels routing set leads rules.json")]
    Set {
        /// Id or slug of the funnel
        funnel: String,
        /// File with a JSON list of rules; - for standard input
        file: PathBuf,
    },
    /// Say which rule would send what to whom, and why; nothing is sent
    Test(RoutingArgs),
}

pub(super) async fn mail_rules(out: &Output, client: &Client, command: RoutingCommand) -> Done {
    match command {
        RoutingCommand::List { funnel } => {
            let of = OfFunnel { funnel_id: funnel };
            reply::printed::<EmailRoutings>(out, client, &of, &NoBody, |rules| {
                if rules.data.is_empty() {
                    out.note("No mail rules.");
                }
                Ok(rules.data.iter().try_for_each(|rule| out.line(&drawn::rule_line(rule)))?)
            })
            .await
        }
        RoutingCommand::Test(args) => routing(out, client, args).await,
        RoutingCommand::Set { funnel, file } => {
            let wrong = |why: String| Failure::usage(format!("{}: {why}", file.display()));
            let given: Json =
                serde_json::from_str(&input::text(&file)?).map_err(|why| wrong(why.to_string()))?;
            let Json::Array(email_routings) = given else {
                return Err(wrong("a list of mail rules is expected".to_owned()));
            };
            let id = Some(WhichFunnel::from(funnel.clone()));
            let rev = Some(super::get(client, &funnel).await?.funnel.rev);
            let given = Routings { funnel_id: id, rev, email_routings, ..Routings::default() };
            let (answer, saved) =
                reply::call::<SaveEmailRoutings>(client, &MayNameFunnel::default(), &given).await?;
            if !out.json {
                warned(out, &saved.data.warnings);
            }
            let number = counted(saved.data.email_routings.len() as u64, "mail rule");
            out.told(&answer.body, &format!("The funnel {funnel} has {number}."))
        }
    }
}
