//! `cms groups`: groups of users and their rights, through `/api/backend/user_groups`

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
    /// List all groups
    List(Paging),
    /// Show a group
    Show {
        /// Name or id of the group
        group: String,
    },
    /// Create a group
    #[command(after_help = "Examples:
  cms groups create editors --right pages_pages_view --right pages_pages_edit
  cms groups create admins --admin")]
    Create {
        /// Name of the group
        name: String,
        /// A permission key, {plugin}_{button}_view or _edit; may be repeated
        #[arg(long = "right", value_name = "KEY", conflicts_with = "admin")]
        rights: Vec<String>,
        /// Its members may do everything
        #[arg(long)]
        admin: bool,
    },
    /// Show the rights of a group, or change them in one step
    Rights {
        /// Name or id of the group
        group: String,
        /// Permission key to add; may be repeated
        #[arg(long, value_name = "KEY")]
        grant: Vec<String>,
        /// Permission key to remove; may be repeated
        #[arg(long, value_name = "KEY")]
        revoke: Vec<String>,
    },
    /// Rename a group
    Rename {
        /// Name or id of the group
        group: String,
        /// The new name
        name: String,
    },
    /// Delete a group without members
    Delete {
        /// Name or id of the group
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
