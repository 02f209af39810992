//! `cms funnels`: through `/api/backend/formfunnel`

mod drawn;
mod edit;
mod explain;
mod stats;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use cms_core::funnels::{Duplicated, FunnelDetail, NewFunnel, Saved, WhichFunnel};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        funnels::{
            Create, Delete, Deletion, Duplicate, FieldTypes, FunnelStatus, Get, List, MayName,
            OneFunnel, Publication, Publish, Save, WhichFunnels,
        },
        parameters::{ListQuery, NoQuery},
    },
};
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Output, counted},
    prompt,
    reply::{self, Chosen, Paging},
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum FunnelsCommand {
    /// List funnels
    List {
        /// Those in this language, such as en; '*' for all. Otherwise those in the site's first
        /// language and in none
        #[arg(long, value_name = "LANGUAGE")]
        language: Option<String>,
        /// Only those in this state
        #[arg(long, value_parser = input::one_of(&STATES, FunnelStatus::as_str))]
        status: Option<FunnelStatus>,
        #[command(flatten)]
        chosen: Chosen,
    },
    /// Show a funnel with its nodes, edges and mail rules
    Show {
        /// Id or slug of the funnel
        funnel: String,
    },
    /// Make an empty draft
    #[command(after_help = "Example: cms funnels create 'Lead funnel' --slug leads --language en")]
    Create(CreateArgs),
    /// Change a funnel in $EDITOR; it is checked before it is saved
    #[command(after_help = "Examples:
  cms funnels edit leads
  cms funnels edit leads leads.json")]
    Edit {
        /// Id or slug of the funnel
        funnel: String,
        /// Take the JSON from this file instead; - for standard input
        file: Option<PathBuf>,
    },
    /// Tell what is wrong with a funnel as it is drawn
    Check {
        /// Id or slug of the funnel
        funnel: String,
        /// Warnings count as problems
        #[arg(long)]
        strict: bool,
    },
    /// Freeze a funnel as it is drawn, as the version for new visits
    Publish {
        /// Id or slug of the funnel
        funnel: String,
        #[command(flatten)]
        expected: ExpectedRev,
        /// Refuse it when there are warnings
        #[arg(long)]
        strict: bool,
    },
    /// Take a funnel off: no new visit begins, visits under way go on
    Archive {
        /// Id or slug of the funnel
        funnel: String,
        #[command(flatten)]
        expected: ExpectedRev,
    },
    /// Copy a funnel; the copy is a draft
    Duplicate(DuplicateArgs),
    /// Delete a funnel for good, with what visitors sent
    Delete {
        /// Id or slug of the funnel
        funnel: String,
        #[command(flatten)]
        expected: ExpectedRev,
    },
    /// Write a funnel as JSON that another site can import
    Export {
        /// Id or slug of the funnel
        funnel: String,
        /// Write into this file
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Make a draft from exported JSON
    Import {
        /// File with the JSON; - for standard input
        file: PathBuf,
        /// Another slug
        #[arg(long)]
        slug: Option<String>,
    },
    /// Save exported JSON over the funnel of its slug and language, or make a draft where none is
    Apply {
        /// File with the JSON; - for standard input
        file: PathBuf,
    },
    /// Draw a funnel
    #[command(after_help = "Example: cms funnels graph leads --dot | dot -Tsvg > leads.svg")]
    Graph {
        /// Id or slug of the funnel
        funnel: String,
        /// As Graphviz DOT
        #[arg(long)]
        dot: bool,
    },
    /// Show a step as visitors see it, where answers lead from there, and why
    Preview(explain::PreviewArgs),
    /// Evaluate a condition over answers, and say why it holds or not
    Explain(explain::ExplainArgs),
    /// Walk a funnel with given answers: the way, and why
    Test(explain::TestArgs),
    /// Begin a visit that is a test, and print the address that goes on with it, or its
    /// session_uuid when the funnel has no page_url. No statistics count it, and nobody is told
    Try(explain::TryArgs),
    /// Tell how many visited a funnel, and where they left it
    Stats(stats::StatsArgs),
    /// Mail rules: who is written to when a visit ends
    #[command(subcommand)]
    Routing(explain::RoutingCommand),
    /// List the field types that a step may ask with
    FieldTypes,
}

/// What its author has seen. Without it the funnel counts as it is now.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ExpectedRev {
    /// The rev that you have seen: a funnel that was saved since is refused
    #[arg(long, value_name = "REV")]
    rev: Option<i64>,
}

#[derive(Args, Debug)]
pub(crate) struct CreateArgs {
    /// Its name
    name: String,
    /// For addresses; made from the name by default
    #[arg(long)]
    slug: Option<String>,
    /// Its language, such as en
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct DuplicateArgs {
    /// Id or slug of the funnel
    funnel: String,
    /// Another name
    #[arg(long)]
    name: Option<String>,
    /// Another slug; by default a free one
    #[arg(long)]
    slug: Option<String>,
    /// Another language: the copy is a language version of the funnel
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
}

/// The states of a funnel.
const STATES: [(FunnelStatus, &str); 3] = [
    (FunnelStatus::Draft, "Never public, or no more"),
    (FunnelStatus::Published, "Visits begin with its version"),
    (FunnelStatus::Archived, "Put aside"),
];

pub(crate) async fn run(flags: &Flags, out: &Output, site: &Site, command: FunnelsCommand) -> Done {
    let client = &site.client;
    match command {
        FunnelsCommand::List { language, status, chosen } => {
            let columns = ["id", "slug", "name", "status", "version", "language_short", "rev"];
            let query = |limit, cursor| WhichFunnels {
                language: language.clone(),
                status,
                list: ListQuery::page(limit, cursor),
            };
            let shown = (&columns[..], reply::plain as _);
            reply::chosen::<List>(out, client, &chosen, shown, query).await
        }
        FunnelsCommand::Show { funnel } => {
            reply::record_as::<Get>(out, client, &one(&funnel), &NoBody, drawn::cell).await
        }
        FunnelsCommand::Create(args) => {
            let members =
                [("name", Some(args.name)), ("slug", args.slug), ("language_short", args.language)];
            let given = members.into_iter().filter_map(|(name, value)| {
                value.map(|value| (name.to_owned(), Json::from(value)))
            });
            let mut new = NewFunnel::default();
            new.members = given.collect();
            create(out, client, new).await
        }
        FunnelsCommand::Edit { funnel, file } => {
            edit::run(flags, out, client, &funnel, file.as_deref()).await
        }
        FunnelsCommand::Check { funnel, strict } => {
            let asked = Publication { strict, dry_run: true, ..Publication::default() };
            publish(out, client, &funnel, asked).await
        }
        FunnelsCommand::Publish { funnel, expected, strict } => {
            let asked = Publication { strict, rev: expected.rev, ..Publication::default() };
            publish(out, client, &funnel, asked).await
        }
        FunnelsCommand::Archive { funnel, expected } => {
            let question = format!("Take the funnel {funnel} off? No visit begins then.");
            prompt::confirm(flags, &question)?;
            let saved = Saved {
                id: Some(WhichFunnel::from(funnel.clone())),
                rev: expected.rev,
                funnel: [("status".to_owned(), "archived".into())].into_iter().collect(),
                ..Saved::default()
            };
            let (answer, _) = reply::call::<Save>(client, &MayName::default(), &saved).await?;
            let note = format!("The funnel {funnel} is archived: no visit begins any more.");
            out.told(&answer.body, &note)
        }
        FunnelsCommand::Duplicate(args) => {
            let asked = Duplicated {
                id: Some(WhichFunnel::from(args.funnel.clone())),
                name: args.name,
                slug: args.slug,
                language_short: args.language,
            };
            let (answer, copy) =
                reply::call::<Duplicate>(client, &MayName::default(), &asked).await?;
            let copy = copy.data.funnel.funnel;
            let note = format!("The copy of {} is {} ({}).", args.funnel, copy.id, copy.slug);
            out.told(&answer.body, &note)
        }
        FunnelsCommand::Delete { funnel, expected } => {
            let question = format!("Delete the funnel {funnel} with all that visitors sent?");
            prompt::confirm(flags, &question)?;
            let id = Some(WhichFunnel::from(funnel.clone()));
            let asked = Deletion { id, rev: expected.rev };
            let (answer, _) = reply::call::<Delete>(client, &MayName::default(), &asked).await?;
            out.told(&answer.body, &format!("The funnel {funnel} is deleted."))
        }
        FunnelsCommand::Export { funnel, out: file } => {
            edit::export(out, &get(client, &funnel).await?, file.as_deref())
        }
        FunnelsCommand::Import { file, slug } => {
            let mut new = edit::exported_in(&file)?;
            new.members.extend(slug.map(|slug| ("slug".to_owned(), Json::from(slug))));
            create(out, client, new).await
        }
        FunnelsCommand::Apply { file } => edit::apply(out, client, &file).await,
        FunnelsCommand::Graph { funnel, dot } => {
            let funnel = get(client, &funnel).await?;
            let text = if dot { drawn::dot(&funnel) } else { drawn::drawn(&funnel) };
            if out.json {
                return Ok(out.data(&json!({"graph": text}))?);
            }
            Ok(out.raw(&text)?)
        }
        FunnelsCommand::Preview(args) => explain::preview(out, client, args).await,
        FunnelsCommand::Explain(args) => explain::explain(out, client, &args).await,
        FunnelsCommand::Test(args) => explain::test(out, client, args).await,
        FunnelsCommand::Try(args) => explain::start_test(out, client, args).await,
        FunnelsCommand::Stats(args) => stats::run(out, client, &args).await,
        FunnelsCommand::Routing(command) => explain::mail_rules(out, client, command).await,
        FunnelsCommand::FieldTypes => {
            let (columns, paging) = (["type", "group", "about"], Paging::default());
            reply::list::<FieldTypes>(out, client, &paging, &columns, |_, _| NoQuery {}).await
        }
    }
}

fn one(funnel: &str) -> OneFunnel {
    OneFunnel { id: funnel.to_owned() }
}

async fn get(client: &Client, funnel: &str) -> Done<FunnelDetail> {
    reply::data::<Get>(client, &one(funnel), &NoBody).await
}

fn warned(out: &Output, warnings: &[cms_core::funnels::Warning]) {
    for warning in warnings {
        out.note(&format!("warning: {} ({}): {}", warning.path, warning.code, warning.message));
    }
}

async fn create(out: &Output, client: &Client, new: NewFunnel) -> Done {
    let (answer, made) = reply::call::<Create>(client, &NoQuery {}, &new).await?;
    warned(out, &made.data.warnings);
    let funnel = made.data.funnel.funnel;
    out.told(&answer.body, &format!("The funnel {} is made: {}.", funnel.slug, funnel.id))
}

/// Publishes a funnel, or only says whether it could be published.
async fn publish(out: &Output, client: &Client, funnel: &str, asked: Publication) -> Done {
    let asked = Publication { id: Some(WhichFunnel::from(funnel.to_owned())), ..asked };
    let published = reply::call::<Publish>(client, &MayName::default(), &asked).await;
    let (answer, published) = published.map_err(|mut failure| {
        if asked.dry_run && failure.exit == Exit::Refused {
            failure.exit = Exit::Failed;
        }
        failure
    })?;
    let published = published.data;
    if !out.json {
        warned(out, &published.warnings);
    }
    let number = counted(published.warnings.len() as u64, "warning");
    let note = match asked.dry_run {
        true => format!("The funnel {funnel} can be published: {number}."),
        false => format!("The funnel {funnel} is published as version {}.", published.version),
    };
    out.told(&answer.body, &note)
}
