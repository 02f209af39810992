//! `cms groups`: what people may do, through `/api/backend/user_groups`

use clap::Subcommand;
use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use crate::{
    args::Global,
    exit::Exit,
    failure::{Done, Failure},
    output::Output,
    paging::{self, LARGEST_PAGE, Paging, unexpected},
    prompt,
    record::{One, Record, text},
    site::Site,
    table,
};

pub(crate) const GROUPS: &str = "/api/backend/user_groups";

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

pub(crate) async fn run(
    global: &Global,
    out: &Output,
    site: &Site,
    command: GroupsCommand,
) -> Done {
    let client = &site.client;
    match command {
        GroupsCommand::List(paging) => {
            paging::print_as(
                out,
                client,
                Ask::get(GROUPS),
                &paging,
                &["id", "name", "members", "rights"],
                cell,
            )
            .await
        }
        GroupsCommand::Show { group } => {
            let id = find(client, &group).await?["id"].take();
            record(out, client, Ask::get(GROUPS).query("id", id)).await
        }
        GroupsCommand::Create { name, rights, admin } => {
            let rights = if admin { "0".into() } else { Json::from(rights) };
            let body = json!({"name": name, "rights": rights});
            record(out, client, Ask::post(GROUPS).json(&body)).await
        }
        GroupsCommand::Rights { group, grant, revoke } => {
            let group = find(client, &group).await?;
            if grant.is_empty() && revoke.is_empty() {
                return rights(out, &group["rights"]);
            }
            let body = json!({"table": "user_groups", "column": "rights", "id": group["id"], "add": grant, "remove": revoke});
            let changed = client
                .send(Ask::post("/api/backend/actions/checklist").json(&body))
                .await?
                .json()?;
            rights(out, &changed["data"])
        }
        GroupsCommand::Rename { group, name } => {
            let id = find(client, &group).await?["id"].take();
            record(out, client, Ask::patch(GROUPS).query("id", id).json(&json!({"name": name})))
                .await
        }
        GroupsCommand::Delete { group } => {
            let found = find(client, &group).await?;
            prompt::confirm(global, &format!("Delete the group {}?", text(&found["name"])))?;
            client.send(Ask::delete(GROUPS).query("id", &found["id"])).await?;
            if out.json {
                return Ok(out.data(&json!({"deleted": [found["id"]]}))?);
            }
            out.note(&format!("The group {} is deleted.", text(&found["name"])));
            Ok(())
        }
    }
}

/// The group of that id or name; case does not count.
async fn find(client: &Client, group: &str) -> Done<Json> {
    if let Ok(id) = group.parse::<i64>() {
        return Ok(client.send(Ask::get(GROUPS).query("id", id)).await?.json()?["data"].take());
    }
    let same = |found: &Json| text(&found["name"]).to_lowercase() == group.to_lowercase();
    first(client, same).await?.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no group named {group:?}"))
            .hint("cms groups list shows them")
    })
}

/// The first group that is meant.
pub(crate) async fn first(client: &Client, meant: impl Fn(&Json) -> bool) -> Done<Option<Json>> {
    let mut cursor: Option<String> = None;
    loop {
        let ask = Ask::get(GROUPS).query("limit", LARGEST_PAGE).maybe("cursor", cursor.as_deref());
        let page = client.send(ask).await?.json()?;
        if let Some(group) =
            page["data"].as_array().into_iter().flatten().find(|group| meant(group))
        {
            return Ok(Some(group.clone()));
        }
        match page["meta"]["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(None),
        }
    }
}

/// Sends, and prints the group that comes back.
async fn record(out: &Output, client: &Client, ask: Ask) -> Done {
    let body = client.send(ask).await?.body;
    if out.json {
        return Ok(out.line(&body)?);
    }
    let one: One = serde_json::from_str(&body).map_err(unexpected)?;
    Ok(table::record(out, &one.data, cell)?)
}

/// A permission key on each line.
fn rights(out: &Output, rights: &Json) -> Done {
    if out.json {
        return Ok(out.data(rights)?);
    }
    match rights.as_array() {
        Some(keys) => Ok(out.raw(&keys.iter().map(|key| text(key) + "\n").collect::<String>())?),
        None => Ok(out.line(&spelled(rights))?),
    }
}

/// Rights in a cell.
fn spelled(rights: &Json) -> String {
    match rights {
        Json::Array(keys) => keys.iter().map(text).collect::<Vec<_>>().join(" "),
        _ => "everything".to_owned(),
    }
}

fn cell(group: &Record, column: &str) -> String {
    match group.raw(column) {
        Some(rights) if column == "rights" => serde_json::from_str(rights)
            .map_or_else(|_| rights.to_owned(), |rights| spelled(&rights)),
        _ => group.shown(column),
    }
}
