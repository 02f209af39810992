//! `cms keys`: API keys and their rights, through `/api/backend/keys`

mod rights;
mod value;

use std::path::PathBuf;

use clap::Subcommand;
use cms_http::client::{Ask, Client};
use serde_json::json;

use crate::{
    flags::Flags,
    input,
    output::{Done, Output},
    prompt,
    reply::{self, Paging},
    site,
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
        #[arg(long, value_name = "TIME", default_value = "0s", value_parser = input::seconds)]
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

pub(crate) async fn run(flags: &Flags, out: &Output, command: KeysCommand) -> Done {
    site::with(flags, out, async |site| at(flags, out, &site.client, command).await).await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: KeysCommand) -> Done {
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
            reply::print(out, client, Ask::get(KEYS), &paging, &columns).await
        }
        KeysCommand::Show { id } => {
            reply::record(out, client, Ask::get(KEYS).query("id", id)).await
        }
        KeysCommand::Create { name, rights, expires, inactive, out: file } => {
            let rights = rights::parse(&rights)?;
            let body =
                json!({"name": name, "rights": rights, "expires_on": expires, "active": !inactive});
            value::obtain(out, client, Ask::post(KEYS).json(&body), file).await
        }
        KeysCommand::Rotate { id, grace, out: file } => {
            let ask = Ask::post("/api/backend/keys/rotate").query("id", id);
            value::obtain(out, client, ask.json(&json!({"grace_s": grace})), file).await
        }
        KeysCommand::Enable { id } => {
            reply::record(out, client, patch(id).json(&json!({"active": true}))).await
        }
        KeysCommand::Disable { id } => {
            reply::record(out, client, patch(id).json(&json!({"active": false}))).await
        }
        KeysCommand::Expire { id, on, .. } => {
            reply::record(out, client, patch(id).json(&json!({"expires_on": on}))).await
        }
        KeysCommand::Rights { id, grant, revoke } => {
            rights::show_or_change(out, client, id, &grant, &revoke).await
        }
        KeysCommand::Check { id, method, path } => {
            rights::check(out, client, id, &method, &path).await
        }
        KeysCommand::Delete { id } => {
            prompt::confirm(
                flags,
                &format!("Delete the API key {id}? What uses it stops working."),
            )?;
            client.send(Ask::delete(KEYS).query("id", id)).await?;
            out.done(&json!({"deleted": [id]}), &format!("The key {id} is deleted."))
        }
    }
}
