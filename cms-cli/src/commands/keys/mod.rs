//! `cms keys`: API keys and their rights, through `/api/backend/keys`

mod denied;
mod rights;
mod value;

use std::path::PathBuf;

use clap::Subcommand;
use cms_core::keys::{ApiKeyPatch, NewApiKey};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        keys::{Create, Delete, Endpoints, Grace, Read, Rotate, Update},
        parameters::NoQuery,
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    input,
    output::{Done, Output},
    prompt,
    reply::{self, Paging, by_id},
    site,
};

/// The columns of a list.
const COLUMNS: [&str; 8] =
    ["id", "name", "prefix", "active", "expires_on", "last_used_at", "requests", "denied"];

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// List all keys
    List(Paging),
    /// Show a key
    Show {
        /// Id of the key
        id: i64,
    },
    /// Create a key; its value is shown once
    #[command(after_help = "Examples:
  cms keys create --name orders --right 'GET /api/backend/item?table=orders'
  cms keys create --name admin --right '*' --expires 2027-01-01 --out admin.key
  cms keys create -q --name ci --right 'GET /api/pages' | pass insert -e cms/ci")]
    Create {
        /// Name for people
        #[arg(long)]
        name: String,
        /// A right: METHODS PATH?QUERY, or * for everything; may be repeated
        #[arg(long = "right", value_name = "RIGHT")]
        rights: Vec<String>,
        /// The key stops working at the start of this day
        #[arg(long, value_name = "YYYY-MM-DD")]
        expires: Option<String>,
        /// Create it switched off
        #[arg(long)]
        inactive: bool,
        /// Write the value into this new file (mode 0600) instead of printing it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Give a key a new value, shown once; without --grace a terminal asks before
    Rotate {
        /// Id of the key
        id: i64,
        /// How long the old value still works, such as 30s, 10m, 2h or 7d
        #[arg(long, value_name = "TIME", default_value = "0s", value_parser = input::seconds)]
        grace: i64,
        /// Write the value into this new file (mode 0600) instead of printing it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Switch a key on
    Enable {
        /// Id of the key
        id: i64,
    },
    /// Switch a key off, from the next request on
    Disable {
        /// Id of the key
        id: i64,
    },
    /// Set or remove the day of expiry
    Expire {
        /// Id of the key
        id: i64,
        /// The key stops working at the start of this day
        #[arg(long, value_name = "YYYY-MM-DD", required_unless_present = "never")]
        on: Option<String>,
        /// The key does not expire
        #[arg(long, conflicts_with = "on")]
        never: bool,
    },
    /// Show the rights of a key, or change them in one step
    #[command(after_help = "Example:
  cms keys rights 3 --grant 'POST /api/backend/item?table=blog' --revoke 'GET /api/pages'")]
    Rights {
        /// Id of the key
        id: i64,
        /// Right to add: METHODS PATH?QUERY, or *; may be repeated
        #[arg(long, value_name = "RIGHT")]
        grant: Vec<String>,
        /// Right to remove: METHODS PATH?QUERY, or *; may be repeated
        #[arg(long, value_name = "RIGHT")]
        revoke: Vec<String>,
    },
    /// List the endpoints that a key's rights can name, with their methods
    Endpoints(Paging),
    /// Tell whether a key may make a call; exit code 0 or 1
    #[command(after_help = "Example: cms keys check 3 POST '/api/backend/item?table=blog'")]
    Check {
        /// Id of the key
        id: i64,
        /// Method, such as GET
        method: String,
        /// Path and query
        path: String,
    },
    /// Show the last call that a key was refused for lack of a right
    #[command(after_help = "Example:
  cms keys denied 3 --grant

--grant gives the key exactly this right.")]
    Denied {
        /// Id of the key
        id: i64,
        /// Grant exactly this
        #[arg(long)]
        grant: bool,
    },
    /// Delete a key for good
    Delete {
        /// Id of the key
        id: i64,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: KeysCommand) -> Done {
    site::with(flags, out, async |site| at(flags, out, &site.client, command).await).await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: KeysCommand) -> Done {
    let patch = ApiKeyPatch::default();
    match command {
        KeysCommand::List(paging) => {
            reply::list::<Read>(out, client, &paging, &COLUMNS, reply::list_query).await
        }
        KeysCommand::Show { id } => {
            reply::record::<Read>(out, client, &reply::one(id), &NoBody).await
        }
        KeysCommand::Create { name, rights, expires, inactive, out: file } => {
            let rights = rights::parse(&rights)?;
            let new = NewApiKey { name, expires_on: expires, active: !inactive, rights };
            value::obtain::<Create>(out, client, &NoQuery {}, &new, file).await
        }
        KeysCommand::Rotate { id, grace, out: file } => {
            if grace == 0 {
                let told = format!("Give the API key {id} a new value? The old one stops at once.");
                prompt::confirm_on_terminal(flags, &told)?;
            }
            let grace = Grace { grace_s: grace };
            value::obtain::<Rotate>(out, client, &by_id(id), &grace, file).await
        }
        KeysCommand::Enable { id } => {
            update(out, client, id, ApiKeyPatch { active: Some(true), ..patch }).await
        }
        KeysCommand::Disable { id } => {
            update(out, client, id, ApiKeyPatch { active: Some(false), ..patch }).await
        }
        KeysCommand::Expire { id, on, .. } => {
            update(out, client, id, ApiKeyPatch { expires_on: Some(on), ..patch }).await
        }
        KeysCommand::Rights { id, grant, revoke } => {
            rights::show_or_change(out, client, id, &grant, &revoke).await
        }
        KeysCommand::Endpoints(paging) => {
            let columns = ["endpoint", "query", "methods", "public"];
            reply::list::<Endpoints>(out, client, &paging, &columns, reply::listing).await
        }
        KeysCommand::Check { id, method, path } => {
            rights::check(out, client, id, &method, path).await
        }
        KeysCommand::Denied { id, grant } => denied::run(out, client, id, grant).await,
        KeysCommand::Delete { id } => {
            prompt::confirm(
                flags,
                &format!("Delete the API key {id}? Programs that use it stop working."),
            )?;
            client.call::<Delete>(&by_id(id), &NoBody).await?;
            out.done(&json!({"deleted": [id]}), &format!("The key {id} is deleted."))
        }
    }
}

async fn update(out: &Output, client: &Client, id: i64, patch: ApiKeyPatch) -> Done {
    reply::record::<Update>(out, client, &by_id(id), &patch).await
}
