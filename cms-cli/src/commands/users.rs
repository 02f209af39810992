//! `cms users`: people who may log in, through `/api/backend/users`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use cms_core::accounts::{GroupName, NewUser, User, UserPatch};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        parameters::NoQuery,
        users::{
            Create, Delete, NewRecoveryCodes, OfUser, Read, ResetSecondFactor, Revoke, Sessions,
            Update, WhichSessions,
        },
    },
};
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output, table},
    prompt,
    reply::{self, Chosen, Noun, Paging, by_id},
    site,
    target::Target,
};

static USERS: Noun<Read> = Noun {
    one: "user",
    hint: "cms users list",
    name: "username",
    id_and_name: |user| (user.id, user.username.clone()),
    columns: || {
        vec!["id", "username", "active", "groups", "two_factor", "sessions", "last_login_at"]
    },
    cell,
};

#[derive(Debug, Subcommand)]
pub(crate) enum UsersCommand {
    /// List all users
    List(Chosen),
    /// Show a user
    Show(Named),
    /// Create a user, who sets up an authenticator at the first login
    #[command(after_help = "Example:
  pass show cms/ana | cms users create ana --group editors --password-stdin")]
    Create {
        /// Name to log in with
        name: String,
        /// Name or id of a group; may be repeated
        #[arg(long = "group", value_name = "GROUP", required = true)]
        groups: Vec<String>,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
        /// Create the user switched off
        #[arg(long)]
        inactive: bool,
    },
    /// Change the name or the groups of a user
    #[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
    Edit {
        /// Name or id of the user
        user: String,
        /// The new name
        #[arg(long, value_name = "NAME", group = "change")]
        rename: Option<String>,
        /// Name or id of a group; replaces all groups; may be repeated
        #[arg(long = "group", value_name = "GROUP", group = "change")]
        groups: Vec<String>,
    },
    /// Switch users off; ends all their sessions
    Disable(Several),
    /// Switch users on
    Enable(Several),
    /// Delete users for good
    Delete(Several),
    /// Set a new password; ends all sessions
    Passwd {
        /// Name or id of the user
        user: String,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// List the open sessions of a user, or end them with --revoke
    Sessions {
        /// Name or id of the user
        user: String,
        /// End this session; without an id, all sessions
        #[arg(long, value_name = "ID", num_args = 0..=1)]
        revoke: Option<Option<i64>>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Tell whether the authenticator is set up, and how many recovery codes are left
    #[command(name = "2fa-status")]
    SecondFactorStatus(Named),
    /// Remove the authenticator and the recovery codes; only on the site's own machine
    #[command(name = "2fa-reset")]
    SecondFactorReset(Named),
    /// Replace the recovery codes by eight new ones; only on the site's own machine
    #[command(name = "2fa-codes")]
    RecoveryCodes(CodesArgs),
}

/// A user.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Name or id of the user
    user: String,
}

/// Users.
#[derive(Args, Debug)]
pub(crate) struct Several {
    /// Names or ids of the users; - takes them from standard input
    #[arg(required = true, value_name = "USERS")]
    users: Vec<String>,
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: UsersCommand) -> Done {
    let target = match &command {
        UsersCommand::SecondFactorReset(_) => {
            Target::Folder(Target::folder_only(flags, "cms users 2fa-reset")?)
        }
        UsersCommand::RecoveryCodes(_) => {
            Target::Folder(Target::folder_only(flags, "cms users 2fa-codes")?)
        }
        _ => Target::of(flags)?,
    };
    prompt::interruptible(site::with_target(flags, out, &target, async |site| {
        at(flags, out, &site.client, command).await
    }))
    .await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: UsersCommand) -> Done {
    let rows = USERS.at(flags, out, client);
    match command {
        UsersCommand::List(chosen) => rows.list(&chosen).await,
        UsersCommand::Show(Named { user }) => rows.show(&user).await,
        UsersCommand::Create { name, groups, password_stdin, inactive } => {
            let password = prompt::new_password(flags, &name, password_stdin)?;
            let mut new = NewUser::new(name, password, group_names(groups));
            new.active = !inactive;
            let made = reply::record_as::<Create>(out, client, &NoQuery {}, &new, cell).await;
            made.map_err(of_groups)
        }
        UsersCommand::Edit { user, rename, groups } => {
            let mut patch = UserPatch::default();
            patch.username = rename;
            patch.groups = (!groups.is_empty()).then(|| group_names(groups));
            rows.edit::<Update>(&user, &patch).await.map_err(of_groups)
        }
        UsersCommand::Disable(Several { users }) => rows.switch::<Update>(users, false).await,
        UsersCommand::Enable(Several { users }) => rows.switch::<Update>(users, true).await,
        UsersCommand::Passwd { user, password_stdin } => {
            let mut patch = UserPatch::default();
            patch.password = Some(prompt::new_password(flags, &user, password_stdin)?);
            rows.edit::<Update>(&user, &patch).await
        }
        UsersCommand::Delete(Several { users }) => rows.delete::<Delete>(users, "?").await,
        UsersCommand::Sessions { user, revoke: None, paging } => {
            let id = rows.id(&user).await?;
            let columns = ["id", "address", "user_agent", "created_at", "last_seen_at"];
            let query = |limit, cursor| OfUser { id, limit, cursor, count: None };
            reply::list::<Sessions>(out, client, &paging, &columns, query).await
        }
        UsersCommand::Sessions { user, revoke: Some(session), .. } => {
            let (id, user) = rows.find(&user).await?;
            client.call::<Revoke>(&WhichSessions { id, session }, &NoBody).await?;
            let text = match session {
                Some(session) => format!("The session {session} of {user} has ended."),
                None => format!("All sessions of {user} have ended."),
            };
            out.done(&json!({"revoked": session.map_or("all".into(), Json::from)}), &text)
        }
        UsersCommand::SecondFactorStatus(Named { user }) => {
            second_factor(out, rows.row(&user).await?)
        }
        UsersCommand::SecondFactorReset(Named { user }) => {
            reset_second_factor(flags, out, client, &user).await
        }
        UsersCommand::RecoveryCodes(args) => new_codes(flags, out, client, args).await,
    }
}

/// Shows groups by their names.
fn cell(user: &User, column: &str) -> Option<String> {
    let names = || user.groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>();
    (column == "groups").then(|| names().join(", "))
}

/// A missing group counts as not found, like anything else that a command names.
fn of_groups(mut failure: Failure) -> Failure {
    let is_unknown = |error: &Json| error["field"] == "groups" && error["code"] == "unknown";
    if failure.document()["errors"].as_array().is_some_and(|all| all.iter().any(is_unknown)) {
        failure.exit = Exit::NotFound;
        return failure.hint("cms groups list");
    }
    failure
}

/// Groups for the API: a number is an id, anything else a name.
fn group_names(groups: Vec<String>) -> Vec<GroupName> {
    groups
        .into_iter()
        .map(|group| group.parse().map_or_else(|_| GroupName::Name(group), GroupName::Id))
        .collect()
}

#[derive(Args, Debug)]
pub(crate) struct CodesArgs {
    /// Name or id of the user
    user: String,
    /// Write the codes into this new file (mode 0600) instead of printing them
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn second_factor(out: &Output, user: User) -> Done {
    if out.json {
        return Ok(out.data(&json!({
            "username": user.username,
            "two_factor": user.two_factor,
            "recovery_codes": user.recovery_codes,
        }))?);
    }
    let rows = [
        ("username", user.username),
        ("two_factor", user.two_factor.to_string()),
        ("recovery_codes", user.recovery_codes.to_string()),
    ];
    Ok(table::pairs(out, &rows)?)
}

async fn reset_second_factor(flags: &Flags, out: &Output, client: &Client, user: &str) -> Done {
    let (id, user) = USERS.find(client, user).await?;
    prompt::confirm(
        flags,
        &format!(
            "Remove the authenticator and the recovery codes of {user}? Then the password alone \
             is enough to set up new ones."
        ),
    )?;
    client.call::<ResetSecondFactor>(&by_id(id), &NoBody).await?;
    out.done(
        &json!({"reset": [id]}),
        &format!("{user} sets up a new authenticator at the next login. All sessions have ended."),
    )
}

async fn new_codes(flags: &Flags, out: &Output, client: &Client, args: CodesArgs) -> Done {
    let CodesArgs { user, out: file } = args;
    let (id, user) = USERS.find(client, &user).await?;
    prompt::confirm(
        flags,
        &format!("Make new recovery codes for {user}? The old ones stop working."),
    )?;
    reply::renew_codes::<NewRecoveryCodes>(out, client, (&by_id(id), &NoBody), file, &(id, user))
        .await
}
