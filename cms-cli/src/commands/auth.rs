//! `cms auth`: wrong logins, and the security part of the audit log

use std::net::IpAddr;

use clap::Subcommand;
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        audit::Asked,
        auth::{ClearAttempts, ListAttempts, Whose},
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Output},
    reply::{self, Paging, acts},
    site,
};

/// The tables that decide who may do what.
const SECURITY: &str = "users,user_groups,sessions,loginattempts,api_keys,origins";

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Networks with wrong logins in the last hour
    Attempts(Paging),
    /// Unlock a network that is locked out
    #[command(after_help = "Example: cms auth clear --address 203.0.113.7")]
    Clear {
        /// An address of the network
        #[arg(long, value_name = "IP")]
        address: IpAddr,
    },
    /// Who changed logins, users, groups, keys and origins, newest first
    Audit(Paging),
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: AuthCommand) -> Done {
    site::with(flags, out, async |site| at(out, &site.client, command).await).await
}

async fn at(out: &Output, client: &Client, command: AuthCommand) -> Done {
    match command {
        AuthCommand::Attempts(paging) => {
            let columns = ["id", "network", "attempts", "locked", "last_attempt_at"];
            reply::list::<ListAttempts>(out, client, &paging, &columns, reply::listing).await
        }
        AuthCommand::Clear { address } => {
            let whose = Whose { address: address.to_string() };
            client.call::<ClearAttempts>(&whose, &NoBody).await?;
            out.done(
                &json!({"cleared": whose.address}),
                &format!("The network of {address} can log in again."),
            )
        }
        AuthCommand::Audit(paging) => {
            let which = Asked { table: Some(SECURITY.to_owned()), ..Asked::default() };
            acts::print(out, client, which, &paging).await
        }
    }
}
