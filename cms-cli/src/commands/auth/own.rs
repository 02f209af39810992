//! `cms auth passwd`, `recovery-codes` and `sessions`: what users change of their own account

use std::path::PathBuf;

use clap::Args;
use cms_core::Secret;
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        auth::{
            ChangePassword, EndSessions, NewRecoveryCodes, OwnProof, OwnSessions, PasswordChange,
            WhichOwn, WhoAmI,
        },
        parameters::NoQuery,
    },
};
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output},
    prompt,
    reply::{self, Paging, codes},
};

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

pub(super) async fn change_password(
    flags: &Flags,
    out: &Output,
    client: &Client,
    from_stdin: bool,
) -> Done {
    let (id, name) = user(client).await?;
    let current = asked(flags, from_stdin, "Present password: ")?;
    let new = prompt::new_password(flags, &name, from_stdin)?;
    let change = PasswordChange { current, new };
    client.call::<ChangePassword>(&NoQuery {}, &change).await?;
    out.done(&json!({"changed": [id]}), "Your password is changed. Your other sessions have ended.")
}

pub(super) async fn new_codes(
    flags: &Flags,
    out: &Output,
    client: &Client,
    args: CodesArgs,
) -> Done {
    let user = user(client).await?;
    let proof = asked(flags, args.password_stdin, "Password, or a code of the authenticator: ")?;
    let proof = proof_of(proof);
    codes::renew::<NewRecoveryCodes>(out, client, (&NoQuery {}, &proof), args.out, &user).await
}

pub(super) async fn sessions(out: &Output, client: &Client, paging: &Paging) -> Done {
    let columns = ["id", "current", "address", "user_agent", "created_at", "last_seen_at"];
    reply::list::<OwnSessions>(out, client, paging, &columns, reply::listing).await
}

/// Ends one session, or all others.
pub(super) async fn end_sessions(out: &Output, client: &Client, session: Option<i64>) -> Done {
    client.call::<EndSessions>(&WhichOwn { session }, &NoBody).await?;
    let text = match session {
        Some(session) => format!("The session {session} has ended."),
        None => "All your other sessions have ended.".to_owned(),
    };
    out.done(&json!({"revoked": session.map_or("others".into(), Json::from)}), &text)
}

/// Id and name of the user that commands act as.
async fn user(client: &Client) -> Done<(i64, String)> {
    let me = reply::data::<WhoAmI>(client, &NoQuery {}, &NoBody).await?;
    let id = me.id.ok_or_else(|| {
        Failure::new(Exit::NoRight, "the operator of this machine has no account of his own")
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

/// Six digits are a code: no password is that short.
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
