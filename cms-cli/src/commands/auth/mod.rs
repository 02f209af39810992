//! `cms auth`: one's own login, wrong logins, and the security part of the audit log

mod own;

use std::net::IpAddr;

use clap::Subcommand;
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        audit::WhichAuditRows,
        auth::{ClearAttempts, ListAttempts, Whose},
    },
};
use serde_json::json;

use self::own::CodesArgs;
use crate::{
    flags::Flags,
    output::{Done, Output},
    prompt,
    reply::{self, Paging, acts},
    site,
};

/// The tables that decide who may do what.
const SECURITY: &str = "users,user_groups,sessions,loginattempts,api_keys,origins";

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Change your own password; your other sessions end
    #[command(after_help = "Examples:
  cms auth passwd --context prod
  { pass cms/ana; pass cms/ana-new; } | cms auth passwd --context prod --password-stdin

The operator of the site's own machine has no password: cms users passwd NAME sets anybody's.")]
    Passwd {
        /// Read the present and the new password from two lines of standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// Replace your own recovery codes by eight new ones
    RecoveryCodes(CodesArgs),
    /// List your own open sessions, or end them with --revoke
    Sessions {
        /// End this session; without an id, all but the one of this command
        #[arg(long, value_name = "ID", num_args = 0..=1)]
        revoke: Option<Option<i64>>,
        #[command(flatten)]
        paging: Paging,
    },
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
    prompt::interruptible(site::with(flags, out, async |site| {
        at(flags, out, &site.client, command).await
    }))
    .await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: AuthCommand) -> Done {
    match command {
        AuthCommand::Passwd { password_stdin } => {
            own::change_password(flags, out, client, password_stdin).await
        }
        AuthCommand::RecoveryCodes(args) => own::new_codes(flags, out, client, args).await,
        AuthCommand::Sessions { revoke: None, paging } => own::sessions(out, client, &paging).await,
        AuthCommand::Sessions { revoke: Some(session), .. } => {
            own::end_sessions(out, client, session).await
        }
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
            let which =
                WhichAuditRows { table: Some(SECURITY.to_owned()), ..WhichAuditRows::default() };
            acts::print(out, client, which, &paging).await
        }
    }
}
