//! `cms keys`: API keys and their rights, through `/api/backend/keys`

mod rights;

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use cms_core::{
    Clock,
    content::ResourceColumn,
    keys::{ApiKey, ApiKeyPatch, EDITED, NewApiKey},
    rfc3339,
};
use cms_http::{
    client::Client,
    wire::{
        Data, NoBody, OneOrPage, Operation,
        keys::{Create, Delete, Endpoints, Grace, Read, Rotate, ShownKey, Update},
        parameters::{Limit, NoQuery, OneOrList},
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value as Json, json};

use crate::{
    flags::{EMPTY, Flags, NO_CHANGE, flag, given},
    input,
    output::{Done, Failure, Output, SecretFile, table},
    prompt,
    reply::{self, Chosen, Noun, Paging, by_id},
    site::Site,
};

static KEYS: Noun<Read> = Noun {
    one: "API key",
    hint: "cms keys list",
    name: "name",
    id_and_name: |key| (key.id, key.name.clone()),
    columns,
    cell: reply::plain,
};

/// The first columns of a list.
const COLUMNS: [&str; 8] =
    ["id", "name", "prefix", "active", "expires_on", "last_used_at", "requests", "denied"];
/// Members for which `create` has flags of its own.
const OWN_FLAGS: [&str; 3] = ["name", "expires_on", "active"];

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// List all keys
    List(Chosen),
    /// Show a key
    Show {
        /// Id or name of the key
        key: String,
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
        #[arg(long, value_name = "YYYY-MM-DD", value_parser = input::day)]
        expires: Option<String>,
        /// Create it switched off
        #[arg(long)]
        inactive: bool,
        #[command(flatten)]
        members: Members<true>,
        /// Write the value into this new file (mode 0600) instead of printing it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Change members of a key
    #[command(after_help = EMPTY)]
    Edit {
        /// Id or name of the key
        key: String,
        #[command(flatten)]
        members: Members<false>,
    },
    /// Give a key a new value, shown once; without --grace the old one stops at once
    Rotate {
        /// Id or name of the key
        key: String,
        /// How long the old value still works, such as 30s, 10m, 2h or 7d
        #[arg(long, value_name = "TIME", default_value = "0s", value_parser = input::seconds)]
        grace: i64,
        /// Write the value into this new file (mode 0600) instead of printing it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Switch keys on
    Enable(Several),
    /// Switch keys off, from the next request on
    Disable(Several),
    /// Set or remove the day of expiry
    Expire {
        /// Id or name of the key
        key: String,
        /// The key stops working at the start of this day
        #[arg(
            long,
            value_name = "YYYY-MM-DD",
            value_parser = input::day,
            required_unless_present = "never"
        )]
        on: Option<String>,
        /// The key does not expire
        #[arg(long, conflicts_with = "on")]
        never: bool,
    },
    /// Show the rights of a key, or change them in one step
    #[command(after_help = "Example:
  cms keys rights 3 --grant 'POST /api/backend/item?table=blog' --revoke 'GET /api/pages'")]
    Rights {
        /// Id or name of the key
        key: String,
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
        /// Id or name of the key
        key: String,
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
        /// Id or name of the key
        key: String,
        /// Grant exactly this
        #[arg(long)]
        grant: bool,
    },
    /// Delete keys for good
    Delete(Several),
}

/// Members that flags give: all for `edit`, those without a flag of their own for `create`.
#[derive(Debug)]
pub(crate) struct Members<const NEW: bool>(Map<String, Json>);

impl<const NEW: bool> Members<NEW> {
    fn declared() -> impl Iterator<Item = &'static ResourceColumn> {
        EDITED.iter().filter(|member| !(NEW && OWN_FLAGS.contains(&member.name)))
    }

    /// The body with these members.
    fn over<T: Serialize + DeserializeOwned>(self, body: &T) -> Done<T> {
        let wrong = |why: serde_json::Error| Failure::usage(why.to_string());
        let mut body = serde_json::to_value(body).map_err(wrong)?;
        for (name, value) in self.0 {
            body[name] = value;
        }
        serde_json::from_value(body).map_err(wrong)
    }
}

impl<const NEW: bool> Args for Members<NEW> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::declared().map(|member| flag(member, false)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const NEW: bool> FromArgMatches for Members<NEW> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(given(Self::declared(), matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The columns of a list, with every member that people set.
fn columns() -> Vec<&'static str> {
    let set = EDITED.iter().map(|member| member.name);
    let more = set.filter(|name| !COLUMNS.contains(name));
    COLUMNS.into_iter().chain(more).collect()
}

/// Keys.
#[derive(Args, Debug)]
pub(crate) struct Several {
    /// Ids or names of the keys; - takes them from standard input
    #[arg(required = true, value_name = "KEYS")]
    keys: Vec<String>,
}

pub(crate) async fn run(flags: &Flags, out: &Output, site: &Site, command: KeysCommand) -> Done {
    let client = &site.client;
    let rows = KEYS.at(flags, out, client);
    match command {
        KeysCommand::List(chosen) => rows.list(&chosen).await,
        KeysCommand::Show { key } => {
            note_delay(out, client);
            rows.show(&key).await
        }
        KeysCommand::Create { name, rights, expires, inactive, members, out: file } => {
            let mut new = members.over(&NewApiKey::new(name))?;
            (new.expires_on, new.active) = (expires, !inactive);
            new.rights = rights::parse(&rights)?;
            for doubt in doubts(client, &new).await? {
                out.note(&format!("warning: {doubt}"));
            }
            obtain::<Create>(out, client, &NoQuery {}, &new, file).await
        }
        KeysCommand::Edit { members, .. } if members.0.is_empty() => Err(Failure::usage(NO_CHANGE)),
        KeysCommand::Edit { key, members } => {
            rows.edit::<Update>(&key, &members.over(&ApiKeyPatch::default())?).await
        }
        KeysCommand::Rotate { key, grace, out: file } => {
            let (id, key) = rows.find(&key).await?;
            if grace == 0 {
                let told = format!(
                    "Give the API key {key} a new value? The old one stops at once; --grace 1h \
                     keeps it for an hour."
                );
                prompt::confirm(flags, &told)?;
            }
            let grace = Grace { grace_s: grace };
            obtain::<Rotate>(out, client, &by_id(id), &grace, file).await
        }
        KeysCommand::Enable(Several { keys }) => rows.switch::<Update>(keys, true).await,
        KeysCommand::Disable(Several { keys }) => rows.switch::<Update>(keys, false).await,
        KeysCommand::Expire { key, on, .. } => {
            let mut patch = ApiKeyPatch::default();
            patch.expires_on = Some(on);
            rows.edit::<Update>(&key, &patch).await
        }
        KeysCommand::Rights { key, grant, revoke } => {
            let id = rows.id(&key).await?;
            rights::show_or_change(out, client, id, &grant, &revoke).await
        }
        KeysCommand::Endpoints(paging) => {
            let columns = ["endpoint", "query", "methods", "public"];
            reply::list::<Endpoints>(out, client, &paging, &columns, reply::listing).await
        }
        KeysCommand::Check { key, method, path } => {
            let id = rows.id(&key).await?;
            rights::check(out, client, id, &method, path).await
        }
        KeysCommand::Denied { key, grant } => {
            note_delay(out, client);
            rights::denied(out, client, rows.id(&key).await?, grant).await
        }
        KeysCommand::Delete(Several { keys }) => {
            rows.delete::<Delete>(keys, "? Programs that use it stop working.").await
        }
    }
}

/// A server keeps usage counts in its own memory, which another process cannot read.
fn note_delay(out: &Output, client: &Client) {
    if out.table && !matches!(client, Client::Remote(_)) {
        out.note(
            "A running server saves how often keys were used once a minute; --url asks the server \
             for the current counts.",
        );
    }
}

/// Calls an operation that makes a value. Prints the value, or writes it into `file`.
async fn obtain<O: Operation<Reply = Data<ShownKey>>>(
    out: &Output,
    client: &Client,
    query: &O::Query,
    body: &O::Body,
    file: Option<PathBuf>,
) -> Done {
    // Create the file first: otherwise a value that cannot be written would be lost.
    let file = file.map(SecretFile::reserve).transpose()?;
    let (answer, made) = match reply::call_once::<O>(client, query, body).await {
        Ok(made) => made,
        Err(failure) => return Err(SecretFile::given_up(file, failure)),
    };
    let (id, value, key) = match &made {
        Ok(made) => {
            let key = &made.data.record;
            (Json::from(key.id), &made.data.key, Some(key))
        }
        Err((id, value)) => (id.clone(), value, None),
    };
    let shown = show(out, &answer.body, (&id, value), key, file);
    let secret = format!("the new value of the key {id}");
    reply::given(shown, &secret, &format!("cms keys rotate {id}"))
}

/// Shows a value. None: a caller that may not read the key itself.
fn show(
    out: &Output,
    body: &str,
    (id, value): (&Json, &str),
    key: Option<&ApiKey>,
    file: Option<SecretFile>,
) -> Done {
    if let Some(mut file) = file {
        file.write(&[value])?;
        let place = file.path().display();
        let told = format!("The key {id} is in {place}; it is shown nowhere else.");
        return out.done(&key.map_or_else(|| json!({"id": id}), |key| json!(key)), &told);
    }
    if out.json {
        return Ok(out.line(body)?);
    }
    let Some(key) = key else {
        let once = "shown this once: keep it now. You may see no more of it.";
        out.note(&format!("The key {id}, {once}"));
        return Ok(out.line(value)?);
    };
    out.note(&format!("The key {id} ({}), shown this once: keep it now.", key.name));
    out.line(value)?;
    if out.table && !out.quiet {
        out.note("");
        let columns = ["id", "name", "prefix", "active", "expires_on", "rights"];
        table::records(out, &columns, &[key])?;
    }
    Ok(())
}

/// Warnings about a new key.
async fn doubts(client: &Client, new: &NewApiKey) -> Done<Vec<String>> {
    let mut doubts = Vec::new();
    if new.rights.is_empty() {
        let grant = "cms keys rights KEY --grant RIGHT gives it one";
        doubts.push(format!("the key has no right, so it may call nothing; {grant}"));
    }
    // The day in UTC; the site's own day may differ by some hours.
    let today = rfc3339(Clock::system().now());
    let is_over = |day: &&str| *day < &today[..10];
    if let Some(day) = new.expires_on.as_deref().filter(is_over) {
        doubts.push(format!("the key has expired already: it stopped at the start of {day}"));
    }
    if let Some(id) = namesake(client, &new.name).await {
        let name = &new.name;
        doubts.push(format!("the key {id} is named {name:?} too: use ids to tell them apart"));
    }
    Ok(doubts)
}

/// A key of the same name. A caller that may not list keys gets no warning.
async fn namesake(client: &Client, name: &str) -> Option<i64> {
    let mut asked = OneOrList::page(Limit(1), None);
    asked.list.filters.insert("filter[name]".to_owned(), name.to_owned());
    match client.call::<Read>(&asked, &NoBody).await {
        Ok(OneOrPage::Page(page)) => page.data.first().map(|key| key.id),
        _ => None,
    }
}
