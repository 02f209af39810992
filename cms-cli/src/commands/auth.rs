//! `cms auth`: your own login, wrong logins, and the security part of the audit log

use std::{net::IpAddr, path::PathBuf};

use clap::{Args, Subcommand};
use cms_core::Secret;
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        audit::WhichAuditRows,
        auth::{
            ChangePassword, ClearAttempts, EndSessions, ListAttempts, NewRecoveryCodes, OwnProof,
            OwnSessions, PasswordChange, WhichOwn, WhoAmI, Whose,
        },
        parameters::NoQuery,
    },
};
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output},
    prompt,
    reply::{self, Paging},
    site,
};

/// The tables that decide who may do what; their changes are the security part.
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
            change_password(flags, out, client, password_stdin).await
        }
        AuthCommand::RecoveryCodes(args) => new_codes(flags, out, client, args).await,
        AuthCommand::Sessions { revoke: None, paging } => {
            let columns = ["id", "current", "address", "user_agent", "created_at", "last_seen_at"];
            reply::list::<OwnSessions>(out, client, &paging, &columns, reply::listing).await
        }
        AuthCommand::Sessions { revoke: Some(session), .. } => {
            client.call::<EndSessions>(&WhichOwn { session }, &NoBody).await?;
            let text = match session {
                Some(session) => format!("The session {session} has ended."),
                None => "All your other sessions have ended.".to_owned(),
            };
            out.done(&json!({"revoked": session.map_or("others".into(), Json::from)}), &text)
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
            reply::acts(out, client, which, &paging).await
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example: cms auth recovery-codes --context prod --out codes.txt")]
pub(crate) struct CodesArgs {
    /// Read your password, or a code of your authenticator, from the first line of standard input
    #[arg(long)]
    password_stdin: bool,
    /// Write the codes into this new file (mode 0600) instead of printing them
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

async fn change_password(flags: &Flags, out: &Output, client: &Client, from_stdin: bool) -> Done {
    let (id, name) = user(client).await?;
    let current = asked(flags, from_stdin, "Present password: ")?;
    let new = prompt::new_password(flags, &name, from_stdin)?;
    let change = PasswordChange { current, new };
    client.call::<ChangePassword>(&NoQuery {}, &change).await?;
    out.done(&json!({"changed": [id]}), "Your password is changed. Your other sessions have ended.")
}

async fn new_codes(flags: &Flags, out: &Output, client: &Client, args: CodesArgs) -> Done {
    let user = user(client).await?;
    let proof = asked(flags, args.password_stdin, "Password, or a code of the authenticator: ")?;
    let proof = proof_of(proof);
    reply::renew_codes::<NewRecoveryCodes>(out, client, (&NoQuery {}, &proof), args.out, &user)
        .await
}

/// Id and name of the user that commands act as.
async fn user(client: &Client) -> Done<(i64, String)> {
    let me = reply::data::<WhoAmI>(client, &NoQuery {}, &NoBody).await?;
    let id = me.id.ok_or_else(|| {
        Failure::new(Exit::NoRight, "the operator of this machine has no account")
            .hint("cms users passwd NAME, or the same with --url or --context after cms login")
    })?;
    Ok((id, me.username))
}

fn asked(flags: &Flags, from_stdin: bool, question: &str) -> Done<Secret> {
    if from_stdin {
        return prompt::line_of_stdin("the present password");
    }
    prompt::expect_terminal(flags, "the present password", "--password-stdin")?;
    prompt::secret(question)
}

/// Six digits are a code: passwords are longer.
fn proof_of(text: Secret) -> OwnProof {
    let digits: String = text.expose().chars().filter(|c| !c.is_whitespace()).collect();
    let is_code = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let (password, code) = if is_code { (None, Some(text)) } else { (Some(text), None) };
    OwnProof { password, code }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_a_code() {
        for (text, is_code) in
            [("287082", true), ("287 082", true), ("correct horse", false), ("28708212", false)]
        {
            let proof = proof_of(Secret::new(text));
            assert_eq!((proof.code.is_some(), proof.password.is_none()), (is_code, is_code));
        }
    }
}
