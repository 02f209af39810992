//! `cms groups`: groups of users and their rights, through `/api/backend/user_groups`

use clap::{Args, Subcommand};
use cms_core::{
    access::HeldPermissions,
    accounts::{Group, GroupPatch, NewGroup},
    items::Checklist,
};
use cms_http::wire::{
    checklist::{Apply, Table},
    parameters::NoQuery,
    permissions,
    user_groups::{Create, Delete, Read, Update},
};
use serde_json::Value as Json;

use crate::{
    flags::Flags,
    output::{Done, Failure, Output, record::text},
    reply::{self, Chosen, Noun, Paging},
    site::Site,
};

static GROUPS: Noun<Read> = Noun {
    one: "group",
    hint: "cms groups list",
    name: "name",
    id_and_name: |group| (group.id, group.name.clone()),
    columns: || vec!["id", "name", "members", "rights"],
    cell,
};

#[derive(Debug, Subcommand)]
pub(crate) enum GroupsCommand {
    /// List all groups
    List(Chosen),
    /// Show a group
    Show(Named),
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
    Delete(Named),
}

/// A group.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Name or id of the group
    group: String,
}

pub(crate) async fn run(flags: &Flags, out: &Output, site: &Site, command: GroupsCommand) -> Done {
    let client = &site.client;
    let rows = GROUPS.at(flags, out, client);
    match command {
        GroupsCommand::List(chosen) => rows.list(&chosen).await,
        GroupsCommand::Show(Named { group }) => rows.show(&group).await,
        GroupsCommand::Create { name, rights, admin } => {
            let only = HeldPermissions::Only(rights.into_iter().collect());
            let mut new = NewGroup::new(name);
            new.rights = if admin { HeldPermissions::Admin } else { only };
            reply::record_as::<Create>(out, client, &NoQuery {}, &new, cell).await
        }
        GroupsCommand::Rights { group, grant, revoke } => {
            let group = rows.row(&group).await?;
            if grant.is_empty() && revoke.is_empty() {
                return print_rights(out, &group.rights);
            }
            let change = Checklist {
                table: "user_groups".to_owned(),
                column: "rights".to_owned(),
                id: group.id.into(),
                add: grant.into_iter().map(Json::from).collect(),
                remove: revoke.into_iter().map(Json::from).collect(),
                value: None,
            };
            let keys = reply::data::<Apply>(client, &Table::default(), &change).await?;
            print_rights(out, &HeldPermissions::Only(keys.iter().map(text).collect()))
        }
        GroupsCommand::Permissions(paging) => {
            let columns = ["key", "plugin"];
            reply::list::<permissions::List>(out, client, &paging, &columns, reply::listing).await
        }
        GroupsCommand::Rename { group, name } => {
            let mut patch = GroupPatch::default();
            patch.name = Some(name);
            rows.edit::<Update>(&group, &patch).await
        }
        GroupsCommand::Delete(Named { group }) => rows.delete::<Delete>(vec![group], "?").await,
    }
}

/// Shows rights as permission keys.
fn cell(group: &Group, column: &str) -> Option<String> {
    (column == "rights").then(|| keys(&group.rights, " "))
}

fn keys(rights: &HeldPermissions, between: &str) -> String {
    match rights {
        HeldPermissions::Admin => "everything".to_owned(),
        HeldPermissions::Only(keys) => keys.iter().cloned().collect::<Vec<_>>().join(between),
    }
}

/// Prints permission keys, one a line.
fn print_rights(out: &Output, rights: &HeldPermissions) -> Done {
    if out.json {
        return Ok(out.data(&serde_json::to_value(rights).map_err(Failure::unexpected)?)?);
    }
    let keys = keys(rights, "\n");
    if keys.is_empty() { Ok(()) } else { Ok(out.line(&keys)?) }
}
