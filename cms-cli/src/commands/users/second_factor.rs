//! `cms users 2fa-status`, `2fa-reset` and `2fa-codes`: help after the loss of an authenticator

use std::path::PathBuf;

use clap::Args;
use cms_http::client::{Ask, Client};
use serde_json::json;

use super::user::{USERS, id};
use crate::{
    flags::Flags,
    output::{Done, Output, SecretFile, record::text, table},
    prompt,
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
    let found = client.send(Ask::get(USERS).query("username", user)).await?.json()?;
    let columns = ["username", "two_factor", "recovery_codes"];
    if out.json {
        let [username, two_factor, recovery_codes] = columns.map(|column| &found["data"][column]);
        return Ok(out.data(&json!({
            "username": username,
            "two_factor": two_factor,
            "recovery_codes": recovery_codes,
        }))?);
    }
    Ok(table::pairs(out, &columns.map(|column| (column, text(&found["data"][column]))))?)
}

pub(super) async fn reset(flags: &Flags, out: &Output, client: &Client, user: &str) -> Done {
    let id = id(client, user).await?;
    prompt::confirm(
        flags,
        &format!(
            "Remove the authenticator and the recovery codes of {user}? Then the password alone \
             is enough to set up new ones."
        ),
    )?;
    client.send(Ask::post("/api/backend/users/2fa-reset").query("id", id)).await?;
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
    let id = id(client, &user).await?;
    prompt::confirm(
        flags,
        &format!("Make new recovery codes for {user}? The old ones stop working."),
    )?;
    let file = file.map(SecretFile::reserve).transpose()?;
    let answer = match client.send(Ask::post("/api/backend/users/2fa-codes").query("id", id)).await
    {
        Ok(answer) => answer,
        Err(error) => return Err(SecretFile::given_up(file, error)),
    };
    let body = answer.json()?;
    let codes: Vec<String> =
        body["data"]["recovery_codes"].as_array().into_iter().flatten().map(text).collect();
    if let Some(mut file) = file {
        file.write(&codes)?;
        out.note(&format!(
            "The recovery codes of {user} are in {}; they are shown nowhere else.",
            file.path().display()
        ));
        return if out.json { Ok(out.data(&json!({"user": id}))?) } else { Ok(()) };
    }
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    out.note(&format!("Recovery codes of {user}, shown this once; each works once."));
    Ok(out.raw(&codes.iter().map(|code| format!("{code}\n")).collect::<String>())?)
}
