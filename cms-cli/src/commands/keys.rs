//! `cms keys`: API keys and their rights, through `/api/backend/keys`

pub(crate) mod change;

use std::path::PathBuf;

use clap::Subcommand;
use cms_http::client::Ask;
use serde_json::json;

use crate::{
    args::Global,
    exit::Exit,
    failure::{Done, Failure},
    output::Output,
    paging::{self, Paging, unexpected},
    prompt,
    record::{One, Record},
    secret_file::SecretFile,
    site::Site,
    table,
};

const KEYS: &str = "/api/backend/keys";

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// All keys
    List(Paging),
    /// One key
    Show { id: i64 },
    /// Make a key; its value is shown once
    #[command(after_help = "Examples:
  cms keys create --name orders --right 'GET /api/backend/item?table=orders'
  cms keys create --name admin --right '*' --expires 2027-01-01 --out admin.key
  cms keys create -q --name ci --right 'GET,POST /api/backend/item?table=blog' | pass insert -e cms/ci")]
    Create {
        /// Label for people
        #[arg(long)]
        name: String,
        /// METHODS PATH?QUERY, or * for everything; may be repeated
        #[arg(long = "right", value_name = "RIGHT")]
        rights: Vec<String>,
        /// The day at whose start it stops working
        #[arg(long, value_name = "YYYY-MM-DD")]
        expires: Option<String>,
        /// Refused until it is enabled
        #[arg(long)]
        inactive: bool,
        /// Write the value into this new file (mode 0600) instead of printing it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Give a key a new value
    Rotate {
        id: i64,
        /// How long the old value still works: 30s, 10m, 2h, 7d
        #[arg(long, value_name = "TIME", default_value = "0s", value_parser = change::seconds)]
        grace: i64,
        /// Write the value into this new file (mode 0600) instead of printing it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Let a key work again
    Enable { id: i64 },
    /// Refuse a key from the next request on
    Disable { id: i64 },
    /// Set or remove the day of expiry
    Expire {
        id: i64,
        /// The day at whose start it stops working
        #[arg(long, value_name = "YYYY-MM-DD", required_unless_present = "never")]
        on: Option<String>,
        /// It does not expire
        #[arg(long, conflicts_with = "on")]
        never: bool,
    },
    /// Show or change what a key may call
    #[command(
        after_help = "Example: cms keys rights 3 --grant 'POST /api/backend/item?table=blog' --revoke 'GET /api/pages'"
    )]
    Rights {
        id: i64,
        /// Add: METHODS PATH?QUERY, or *
        #[arg(long, value_name = "RIGHT")]
        grant: Vec<String>,
        /// Take away: METHODS PATH?QUERY, or *
        #[arg(long, value_name = "RIGHT")]
        revoke: Vec<String>,
    },
    /// Whether a key may make a call; exit code 0 or 1
    #[command(after_help = "Example: cms keys check 3 POST '/api/backend/item?table=blog'")]
    Check { id: i64, method: String, path: String },
    /// Remove a key for good
    Delete { id: i64 },
}

pub(crate) async fn run(global: &Global, out: &Output, site: &Site, command: KeysCommand) -> Done {
    let client = &site.client;
    let patch = |id: i64| Ask::patch(KEYS).query("id", id);
    match command {
        KeysCommand::List(paging) => {
            let columns = [
                "id",
                "name",
                "prefix",
                "active",
                "expires_on",
                "last_used_at",
                "requests",
                "denied",
            ];
            paging::print(out, client, Ask::get(KEYS), &paging, &columns).await
        }
        KeysCommand::Show { id } => record(out, site, Ask::get(KEYS).query("id", id)).await,
        KeysCommand::Create { name, rights, expires, inactive, out: file } => {
            let rights = change::parse(&rights)?;
            let file = file.map(SecretFile::reserve).transpose()?;
            let body =
                json!({"name": name, "rights": rights, "expires_on": expires, "active": !inactive});
            let body = match client.send(Ask::post(KEYS).json(&body)).await {
                Ok(answer) => answer.body,
                Err(error) => return Err(SecretFile::given_up(file, error)),
            };
            change::show_value(out, &body, file)
        }
        KeysCommand::Rotate { id, grace, out: file } => {
            let file = file.map(SecretFile::reserve).transpose()?;
            let ask = Ask::post("/api/backend/keys/rotate")
                .query("id", id)
                .json(&json!({"grace_s": grace}));
            match client.send(ask).await {
                Ok(answer) => change::show_value(out, &answer.body, file),
                Err(error) => Err(SecretFile::given_up(file, error)),
            }
        }
        KeysCommand::Enable { id } => {
            record(out, site, patch(id).json(&json!({"active": true}))).await
        }
        KeysCommand::Disable { id } => {
            record(out, site, patch(id).json(&json!({"active": false}))).await
        }
        KeysCommand::Expire { id, on, .. } => {
            record(out, site, patch(id).json(&json!({"expires_on": on}))).await
        }
        KeysCommand::Rights { id, grant, revoke } if grant.is_empty() && revoke.is_empty() => {
            record(out, site, Ask::get(KEYS).query("id", id)).await
        }
        KeysCommand::Rights { id, grant, revoke } => {
            let (grant, revoke) = (change::parse(&grant)?, change::parse(&revoke)?);
            let before = client.send(Ask::get(KEYS).query("id", id)).await?.json()?;
            let held =
                serde_json::from_value(before["data"]["rights"].clone()).map_err(unexpected)?;
            let rights = change::changed(held, grant, &revoke)?;
            record(out, site, patch(id).json(&json!({"rights": rights}))).await
        }
        KeysCommand::Check { id, method, path } => {
            let ask = Ask::get("/api/backend/keys/check")
                .query("id", id)
                .query("method", method.to_uppercase())
                .query("path", path);
            let answer = client.send(ask).await?;
            let judged = answer.json()?;
            if out.json {
                out.line(&answer.body)?;
            } else {
                out.line(judged["data"]["reason"].as_str().unwrap_or_default())?;
            }
            if judged["data"]["allowed"] == true {
                Ok(())
            } else {
                Err(Failure::silent(Exit::Failed))
            }
        }
        KeysCommand::Delete { id } => {
            prompt::confirm(
                global,
                &format!("Delete the API key {id}? What uses it stops working."),
            )?;
            client.send(Ask::delete(KEYS).query("id", id)).await?;
            if out.json {
                return Ok(out.data(&json!({"deleted": [id]}))?);
            }
            out.note(&format!("The key {id} is deleted."));
            Ok(())
        }
    }
}

/// Sends, and prints the record that comes back.
async fn record(out: &Output, site: &Site, ask: Ask) -> Done {
    let body = site.client.send(ask).await?.body;
    if out.json {
        return Ok(out.line(&body)?);
    }
    let one: One = serde_json::from_str(&body).map_err(unexpected)?;
    Ok(table::record(out, &one.data, Record::shown)?)
}
