//! `cms auth`: wrong logins, and what was done about security

use std::net::IpAddr;

use clap::Subcommand;
use cms_http::client::{Ask, Client};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Output},
    reply::{self, Paging, acts},
    site,
};

const ATTEMPTS: &str = "/api/backend/loginattempts";
/// The tables whose rows decide who may do what.
const SECURITY: &str = "users,user_groups,sessions,loginattempts,api_keys,origins";

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Networks with wrong logins within the last hour
    Attempts(Paging),
    /// Let a network that is locked out log in again
    #[command(after_help = "Example: cms auth clear --address 203.0.113.7")]
    Clear {
        /// An address of the network
        #[arg(long, value_name = "IP")]
        address: IpAddr,
    },
    /// Logins, users, groups, keys and origins: who did what, newest first
    Audit(Paging),
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: AuthCommand) -> Done {
    site::with(flags, out, async |site| at(out, &site.client, command).await).await
}

async fn at(out: &Output, client: &Client, command: AuthCommand) -> Done {
    match command {
        AuthCommand::Attempts(paging) => {
            let columns = ["id", "network", "attempts", "locked", "last_attempt_at"];
            reply::print(out, client, Ask::get(ATTEMPTS), &paging, &columns).await
        }
        AuthCommand::Clear { address } => {
            client.send(Ask::delete(ATTEMPTS).query("address", address)).await?;
            out.done(
                &json!({"cleared": address.to_string()}),
                &format!("The wrong logins from the network of {address} are forgotten."),
            )
        }
        AuthCommand::Audit(paging) => acts::print(out, client, Some(SECURITY), &paging).await,
    }
}
