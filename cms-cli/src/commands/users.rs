//! `cms users`: people who may log in, through `/api/backend/users`

mod second_factor;

use clap::Subcommand;
use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use crate::{
    args::Global,
    commands::with_target,
    failure::{Done, Failure},
    output::Output,
    paging::{self, Paging, unexpected},
    prompt,
    record::{One, Record, names},
    site::Site,
    table,
    target::Target,
};

pub(crate) const USERS: &str = "/api/backend/users";

#[derive(Debug, Subcommand)]
pub(crate) enum UsersCommand {
    /// All users
    List(Paging),
    /// One user
    Show {
        /// Name or id
        user: String,
    },
    /// Make a user; the authenticator is set up at the first login
    #[command(
        after_help = "Example: pass show cms/ana | cms users create ana --group editors --password-stdin"
    )]
    Create {
        /// The name to log in with
        name: String,
        /// Name or id of a group; may be repeated
        #[arg(long = "group", value_name = "GROUP", required = true)]
        groups: Vec<String>,
        /// Read the password from the first line of standard input instead of asking
        #[arg(long)]
        password_stdin: bool,
        /// Cannot log in until switched on
        #[arg(long)]
        inactive: bool,
    },
    /// Change name or groups
    #[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
    Edit {
        /// Name or id
        user: String,
        /// The new name
        #[arg(long, value_name = "NAME", group = "change")]
        rename: Option<String>,
        /// All groups anew; may be repeated
        #[arg(long = "group", value_name = "GROUP", group = "change")]
        groups: Vec<String>,
    },
    /// Switch a user off; ends all sessions
    Disable {
        /// Name or id
        user: String,
    },
    /// Switch a user on
    Enable {
        /// Name or id
        user: String,
    },
    /// Remove a user for good
    Delete {
        /// Name or id
        user: String,
    },
    /// Give a new password; ends all sessions
    Passwd {
        /// Name or id
        user: String,
        /// Read it from the first line of standard input instead of asking
        #[arg(long)]
        password_stdin: bool,
    },
    /// Open sessions; --revoke ends them
    Sessions {
        /// Name or id
        user: String,
        /// End this session, or all
        #[arg(long, value_name = "ID", num_args = 0..=1)]
        revoke: Option<Option<i64>>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Whether the authenticator is set up, and how many recovery codes are left
    #[command(name = "2fa-status")]
    SecondFactorStatus {
        /// Name or id
        user: String,
    },
    /// Take the authenticator and the recovery codes away; only on the site's own machine
    #[command(name = "2fa-reset")]
    SecondFactorReset {
        /// Name or id
        user: String,
    },
    /// Make eight new recovery codes in place of the old ones; only on the site's own machine
    #[command(name = "2fa-codes")]
    RecoveryCodes(second_factor::CodesArgs),
}

pub(crate) async fn run(global: &Global, out: &Output, command: UsersCommand) -> Done {
    let target = match &command {
        UsersCommand::SecondFactorReset { .. } => {
            Target::Folder(Target::folder_only(global, "cms users 2fa-reset")?)
        }
        UsersCommand::RecoveryCodes(_) => {
            Target::Folder(Target::folder_only(global, "cms users 2fa-codes")?)
        }
        _ => Target::of(global)?,
    };
    prompt::interruptible(with_target(global, out, &target, async |site| {
        at(global, out, site, command).await
    }))
    .await
}

async fn at(global: &Global, out: &Output, site: &Site, command: UsersCommand) -> Done {
    let client = &site.client;
    match command {
        UsersCommand::List(paging) => {
            let columns =
                ["id", "username", "active", "groups", "two_factor", "sessions", "last_login_at"];
            paging::print_as(out, client, Ask::get(USERS), &paging, &columns, cell).await
        }
        UsersCommand::Show { user } => {
            record(out, site, Ask::get(USERS).query("username", user)).await
        }
        UsersCommand::Create { name, groups, password_stdin, inactive } => {
            let password = prompt::new_password(global, password_stdin)?;
            let body = json!({
                "username": name, "password": password.expose(), "groups": group_names(&groups), "active": !inactive,
            });
            record(out, site, Ask::post(USERS).json(&body)).await
        }
        UsersCommand::Edit { user, rename, groups } => {
            let mut body = json!({});
            if let Some(name) = rename {
                body["username"] = name.into();
            }
            if !groups.is_empty() {
                body["groups"] = group_names(&groups);
            }
            change(out, site, &user, &body).await
        }
        UsersCommand::Disable { user } => change(out, site, &user, &json!({"active": false})).await,
        UsersCommand::Enable { user } => change(out, site, &user, &json!({"active": true})).await,
        UsersCommand::Passwd { user, password_stdin } => {
            let password = prompt::new_password(global, password_stdin)?;
            change(out, site, &user, &json!({"password": password.expose()})).await
        }
        UsersCommand::Delete { user } => {
            let id = id(client, &user).await?;
            prompt::confirm(global, &format!("Delete the user {user}?"))?;
            client.send(Ask::delete(USERS).query("id", id)).await?;
            if out.json {
                return Ok(out.data(&json!({"deleted": [id]}))?);
            }
            out.note(&format!("The user {user} is deleted."));
            Ok(())
        }
        UsersCommand::Sessions { user, revoke: None, paging } => {
            let ask = Ask::get("/api/backend/users/sessions").query("id", id(client, &user).await?);
            paging::print(
                out,
                client,
                ask,
                &paging,
                &["id", "address", "user_agent", "created_at", "last_seen_at"],
            )
            .await
        }
        UsersCommand::Sessions { user, revoke: Some(session), .. } => {
            let ask =
                Ask::delete("/api/backend/users/sessions").query("id", id(client, &user).await?);
            client.send(ask.maybe("session", session)).await?;
            if out.json {
                return Ok(out.data(&json!({"revoked": session.map_or("all".into(), Json::from)}))?);
            }
            out.note(&match session {
                Some(session) => format!("The session {session} of {user} has ended."),
                None => format!("All sessions of {user} have ended."),
            });
            Ok(())
        }
        UsersCommand::SecondFactorStatus { user } => second_factor::status(out, site, &user).await,
        UsersCommand::SecondFactorReset { user } => {
            second_factor::reset(global, out, site, &user).await
        }
        UsersCommand::RecoveryCodes(args) => {
            second_factor::new_codes(global, out, site, args).await
        }
    }
}

/// The id of a user who is named by it or by his name.
async fn id(client: &Client, user: &str) -> Done<i64> {
    let found = client.send(Ask::get(USERS).query("username", user)).await?.json()?;
    found["data"]["id"]
        .as_i64()
        .ok_or_else(|| Failure::new(crate::exit::Exit::Failed, "the reply holds no user"))
}

/// Groups as the API takes them: a number is an id.
fn group_names(groups: &[String]) -> Json {
    groups
        .iter()
        .map(|group| group.parse::<i64>().map_or_else(|_| Json::from(group.as_str()), Json::from))
        .collect()
}

async fn change(out: &Output, site: &Site, user: &str, body: &Json) -> Done {
    let id = id(&site.client, user).await?;
    record(out, site, Ask::patch(USERS).query("id", id).json(body)).await
}

/// Sends, and prints the user that comes back.
async fn record(out: &Output, site: &Site, ask: Ask) -> Done {
    let body = site.client.send(ask).await?.body;
    if out.json {
        return Ok(out.line(&body)?);
    }
    let one: One = serde_json::from_str(&body).map_err(unexpected)?;
    Ok(table::record(out, &one.data, cell)?)
}

/// Groups by their names.
fn cell(user: &Record, column: &str) -> String {
    match user.raw(column) {
        Some(groups) if column == "groups" => {
            serde_json::from_str(groups).map_or_else(|_| groups.to_owned(), |list| names(&list))
        }
        _ => user.shown(column),
    }
}
