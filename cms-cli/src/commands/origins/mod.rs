//! `cms origins`: websites whose pages may call, through `/api/backend/origins`

mod check;

use clap::Subcommand;
use cms_http::client::{Ask, Client};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Output},
    prompt,
    reply::{self, Paging},
    site,
};

const ORIGINS: &str = "/api/backend/origins";

#[derive(Debug, Subcommand)]
pub(crate) enum OriginsCommand {
    /// List all origins
    List(Paging),
    /// Add a website; its pages may call from the next request on
    #[command(after_help = "Example: cms origins add https://shop.example.org")]
    Add {
        /// Scheme and host, and the port unless it is the default one
        #[arg(value_name = "URL")]
        origin: String,
        /// Add it switched off
        #[arg(long)]
        inactive: bool,
    },
    /// Switch an origin on
    Activate {
        /// Id of the origin
        id: i64,
    },
    /// Switch an origin off: its pages can no longer call
    Deactivate {
        /// Id of the origin
        id: i64,
    },
    /// Remove an origin for good
    Remove {
        /// Id of the origin
        id: i64,
    },
    /// Tell whether the pages of a website may call; exit code 0 or 1
    #[command(
        after_help = "It reads the registered origins. The site's own host is always allowed."
    )]
    Check {
        /// Scheme and host, and the port unless it is the default one
        #[arg(value_name = "URL")]
        origin: String,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: OriginsCommand) -> Done {
    site::with(flags, out, async |site| at(flags, out, &site.client, command).await).await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: OriginsCommand) -> Done {
    let switch = |id: i64, active: bool| {
        Ask::patch(ORIGINS).query("id", id).json(&json!({"active": active}))
    };
    match command {
        OriginsCommand::List(paging) => {
            let columns = ["id", "origin", "active", "created_at"];
            reply::print(out, client, Ask::get(ORIGINS), &paging, &columns).await
        }
        OriginsCommand::Add { origin, inactive } => {
            let body = json!({"origin": origin, "active": !inactive});
            reply::record(out, client, Ask::post(ORIGINS).json(&body)).await
        }
        OriginsCommand::Activate { id } => reply::record(out, client, switch(id, true)).await,
        OriginsCommand::Deactivate { id } => reply::record(out, client, switch(id, false)).await,
        OriginsCommand::Remove { id } => {
            prompt::confirm(
                flags,
                &format!("Remove the origin {id}? Its pages can no longer call."),
            )?;
            client.send(Ask::delete(ORIGINS).query("id", id)).await?;
            out.done(&json!({"deleted": [id]}), &format!("The origin {id} is removed."))
        }
        OriginsCommand::Check { origin } => check::run(out, client, &origin).await,
    }
}
