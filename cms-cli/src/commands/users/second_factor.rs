//! `cms users 2fa-...`: for who lost his authenticator

use std::path::PathBuf;

use clap::Args;
use cms_http::client::Ask;
use serde_json::json;

use super::{USERS, id};
use crate::{
    args::Global, failure::Done, output::Output, prompt, record::text, secret_file::SecretFile,
    site::Site, table,
};

#[derive(Args, Debug)]
pub(crate) struct CodesArgs {
    /// Name or id
    user: String,
    /// Write the codes into this new file (mode 0600) instead of printing them
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn status(out: &Output, site: &Site, user: &str) -> Done {
    let found = site.client.send(Ask::get(USERS).query("username", user)).await?.json()?;
    let columns = ["username", "two_factor", "recovery_codes"];
    if out.json {
        let [username, two_factor, recovery_codes] = columns.map(|column| &found["data"][column]);
        return Ok(out.data(&json!({"username": username, "two_factor": two_factor, "recovery_codes": recovery_codes}))?);
    }
    Ok(table::pairs(out, &columns.map(|column| (column, text(&found["data"][column]))))?)
}

pub(super) async fn reset(global: &Global, out: &Output, site: &Site, user: &str) -> Done {
    let id = id(&site.client, user).await?;
    prompt::confirm(
        global,
        &format!(
            "Take authenticator and recovery codes of {user} away? The password alone sets up new ones."
        ),
    )?;
    site.client.send(Ask::post("/api/backend/users/2fa-reset").query("id", id)).await?;
    if out.json {
        return Ok(out.data(&json!({"reset": [id]}))?);
    }
    out.note(&format!(
        "{user} sets up a new authenticator at the next login; all sessions have ended."
    ));
    Ok(())
}

pub(super) async fn new_codes(global: &Global, out: &Output, site: &Site, args: CodesArgs) -> Done {
    let CodesArgs { user, out: file } = args;
    let id = id(&site.client, &user).await?;
    prompt::confirm(
        global,
        &format!("Make new recovery codes for {user}? The old ones stop working."),
    )?;
    let file = file.map(SecretFile::reserve).transpose()?;
    let answer =
        match site.client.send(Ask::post("/api/backend/users/2fa-codes").query("id", id)).await {
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
