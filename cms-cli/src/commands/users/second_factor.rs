//! `cms users 2fa-status`, `2fa-reset` and `2fa-codes`: help after the loss of an authenticator

use std::path::PathBuf;

use clap::Args;
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        users::{NewRecoveryCodes, ResetSecondFactor},
    },
};
use serde_json::json;

use super::user::find;
use crate::{
    flags::Flags,
    output::{Done, Output, table},
    prompt,
    reply::{by_id, codes},
};

#[derive(Args, Debug)]
pub(crate) struct CodesArgs {
    /// Name or id of the user
    user: String,
    /// Write the codes into this new file (mode 0600) instead of printing them
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn status(out: &Output, client: &Client, user: &str) -> Done {
    let found = find(client, user).await?;
    if out.json {
        return Ok(out.data(&json!({
            "username": found.username,
            "two_factor": found.two_factor,
            "recovery_codes": found.recovery_codes,
        }))?);
    }
    let rows = [
        ("username", found.username),
        ("two_factor", found.two_factor.to_string()),
        ("recovery_codes", found.recovery_codes.to_string()),
    ];
    Ok(table::pairs(out, &rows)?)
}

pub(super) async fn reset(flags: &Flags, out: &Output, client: &Client, user: &str) -> Done {
    let id = find(client, user).await?.id;
    prompt::confirm(
        flags,
        &format!(
            "Remove the authenticator and the recovery codes of {user}? Then the password alone \
             is enough to set up new ones."
        ),
    )?;
    client.call::<ResetSecondFactor>(&by_id(id), &NoBody).await?;
    out.done(
        &json!({"reset": [id]}),
        &format!("{user} sets up a new authenticator at the next login. All sessions have ended."),
    )
}

pub(super) async fn new_codes(
    flags: &Flags,
    out: &Output,
    client: &Client,
    args: CodesArgs,
) -> Done {
    let CodesArgs { user, out: file } = args;
    let id = find(client, &user).await?.id;
    prompt::confirm(
        flags,
        &format!("Make new recovery codes for {user}? The old ones stop working."),
    )?;
    codes::renew::<NewRecoveryCodes>(out, client, (&by_id(id), &NoBody), file, &(id, user)).await
}
