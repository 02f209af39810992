//! `cms funnels routing`: mail rules

use std::path::PathBuf;

use clap::Subcommand;
use cms_core::funnels::{Routings, WhichFunnel};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        funnels::{EmailRoutings, MayNameFunnel, OfFunnel, SaveEmailRoutings},
    },
};
use serde_json::Value as Json;

use super::{drawn, explain, warned};
use crate::{
    input,
    output::{Done, Failure, Output, counted},
    reply,
};

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
    Test(explain::RoutingArgs),
}

pub(super) async fn run(out: &Output, client: &Client, command: RoutingCommand) -> Done {
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
        RoutingCommand::Test(args) => explain::routing(out, client, args).await,
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
