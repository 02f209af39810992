//! `cms groups`: what people may do, through `/api/backend/user_groups`

mod group;
mod rights;

use clap::Subcommand;
use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use self::group::{GROUPS, find, print};
use crate::{
    flags::Flags,
    output::{Done, Output, record::text},
    prompt,
    reply::{self, Paging},
    site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum GroupsCommand {
    /// All groups
    List(Paging),
    /// One group
    Show {
        /// Name or id
        group: String,
    },
    /// Make a group
    #[command(after_help = "Examples:
  cms groups create editors --right pages_pages_view --right pages_pages_edit
  cms groups create admins --admin")]
    Create {
        name: String,
        /// A permission key, {plugin}_{button}_view or _edit; may be repeated
        #[arg(long = "right", value_name = "KEY", conflicts_with = "admin")]
        rights: Vec<String>,
        /// Its members may do everything
        #[arg(long)]
        admin: bool,
    },
    /// Show or change what the members may do, as one step
    Rights {
        /// Name or id
        group: String,
        /// Add a permission key; may be repeated
        #[arg(long, value_name = "KEY")]
        grant: Vec<String>,
        /// Take a permission key away; may be repeated
        #[arg(long, value_name = "KEY")]
        revoke: Vec<String>,
    },
    /// Give a group another name
    Rename {
        /// Name or id
        group: String,
        /// The new name
        name: String,
    },
    /// Remove a group that nobody belongs to
    Delete {
        /// Name or id
        group: String,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: GroupsCommand) -> Done {
    site::with(flags, out, async |site| at(flags, out, &site.client, command).await).await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: GroupsCommand) -> Done {
    match command {
        GroupsCommand::List(paging) => {
            let columns = ["id", "name", "members", "rights"];
            reply::print_as(out, client, Ask::get(GROUPS), &paging, &columns, group::cell).await
        }
        GroupsCommand::Show { group } => {
            let id = find(client, &group).await?["id"].take();
            print(out, client, Ask::get(GROUPS).query("id", id)).await
        }
        GroupsCommand::Create { name, rights, admin } => {
            let rights = if admin { "0".into() } else { Json::from(rights) };
            let body = json!({"name": name, "rights": rights});
            print(out, client, Ask::post(GROUPS).json(&body)).await
        }
        GroupsCommand::Rights { group, grant, revoke } => {
            rights::show_or_change(out, client, &group, &grant, &revoke).await
        }
        GroupsCommand::Rename { group, name } => {
            let id = find(client, &group).await?["id"].take();
            let ask = Ask::patch(GROUPS).query("id", id).json(&json!({"name": name}));
            print(out, client, ask).await
        }
        GroupsCommand::Delete { group } => {
            let found = find(client, &group).await?;
            let name = text(&found["name"]);
            prompt::confirm(flags, &format!("Delete the group {name}?"))?;
            client.send(Ask::delete(GROUPS).query("id", &found["id"])).await?;
            out.done(&json!({"deleted": [found["id"]]}), &format!("The group {name} is deleted."))
        }
    }
}
