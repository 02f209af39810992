//! `cms groups`: groups of users and their rights, through `/api/backend/user_groups`

mod group;
mod rights;

use clap::Subcommand;
use cms_core::{
    access::HeldPermissions,
    accounts::{GroupPatch, NewGroup},
};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        parameters::NoQuery,
        permissions,
        user_groups::{Create, Delete, Read, Update},
    },
};
use serde_json::json;

use self::group::{cell, find};
use crate::{
    flags::Flags,
    output::{Done, Output},
    prompt,
    reply::{self, Chosen, Paging, by_id},
    site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum GroupsCommand {
    /// List all groups
    List(Chosen),
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
    /// List the permission keys that groups can hold
    Permissions(Paging),
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
        GroupsCommand::List(chosen) => {
            let columns = ["id", "name", "members", "rights"];
            let query = reply::list_query;
            reply::chosen::<Read>(out, client, &chosen, (&columns, cell), query).await
        }
        GroupsCommand::Show { group } => {
            let id = find(client, &group).await?.id;
            reply::record_as::<Read>(out, client, &reply::one(id), &NoBody, cell).await
        }
        GroupsCommand::Create { name, rights, admin } => {
            let only = HeldPermissions::Only(rights.into_iter().collect());
            let mut new = NewGroup::new(name);
            new.rights = if admin { HeldPermissions::Admin } else { only };
            reply::record_as::<Create>(out, client, &NoQuery {}, &new, cell).await
        }
        GroupsCommand::Rights { group, grant, revoke } => {
            rights::show_or_change(out, client, &group, &grant, &revoke).await
        }
        GroupsCommand::Permissions(paging) => {
            let columns = ["key", "plugin"];
            reply::list::<permissions::List>(out, client, &paging, &columns, reply::listing).await
        }
        GroupsCommand::Rename { group, name } => {
            let id = find(client, &group).await?.id;
            let mut patch = GroupPatch::default();
            patch.name = Some(name);
            reply::record_as::<Update>(out, client, &by_id(id), &patch, cell).await
        }
        GroupsCommand::Delete { group } => {
            let found = find(client, &group).await?;
            prompt::confirm(flags, &format!("Delete the group {}?", found.name))?;
            client.call::<Delete>(&by_id(found.id), &NoBody).await?;
            out.done(
                &json!({"deleted": [found.id]}),
                &format!("The group {} is deleted.", found.name),
            )
        }
    }
}
