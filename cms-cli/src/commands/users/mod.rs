//! `cms users`: people who may log in, through `/api/backend/users`

mod account;
mod second_factor;
mod sessions;
mod user;

use clap::Subcommand;
use cms_http::{
    client::Client,
    wire::{NoBody, users::Read},
};

use self::{
    second_factor::CodesArgs,
    user::{cell, named, page},
};
use crate::{
    flags::Flags,
    output::{Done, Output},
    prompt,
    reply::{self, Chosen, Paging},
    site,
    target::Target,
};

/// The columns of a list.
const COLUMNS: [&str; 7] =
    ["id", "username", "active", "groups", "two_factor", "sessions", "last_login_at"];

#[derive(Debug, Subcommand)]
pub(crate) enum UsersCommand {
    /// List all users
    List(Chosen),
    /// Show a user
    Show {
        /// Name or id of the user
        user: String,
    },
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
    Disable {
        /// Names or ids of the users; - takes them from standard input
        #[arg(required = true, value_name = "USERS")]
        users: Vec<String>,
    },
    /// Switch users on
    Enable {
        /// Names or ids of the users; - takes them from standard input
        #[arg(required = true, value_name = "USERS")]
        users: Vec<String>,
    },
    /// Delete users for good
    Delete {
        /// Names or ids of the users; - takes them from standard input
        #[arg(required = true, value_name = "USERS")]
        users: Vec<String>,
    },
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
    SecondFactorStatus {
        /// Name or id of the user
        user: String,
    },
    /// Remove the authenticator and the recovery codes; only on the site's own machine
    #[command(name = "2fa-reset")]
    SecondFactorReset {
        /// Name or id of the user
        user: String,
    },
    /// Replace the recovery codes by eight new ones; only on the site's own machine
    #[command(name = "2fa-codes")]
    RecoveryCodes(CodesArgs),
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: UsersCommand) -> Done {
    let target = match &command {
        UsersCommand::SecondFactorReset { .. } => {
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
    match command {
        UsersCommand::List(chosen) => {
            reply::chosen::<Read>(out, client, &chosen, (&COLUMNS, cell), page).await
        }
        UsersCommand::Show { user } => {
            reply::record_as::<Read>(out, client, &named(&user), &NoBody, cell).await
        }
        UsersCommand::Create { name, groups, password_stdin, inactive } => {
            let password = prompt::new_password(flags, &name, password_stdin)?;
            account::create(out, client, name, password, groups, !inactive).await
        }
        UsersCommand::Edit { user, rename, groups } => {
            account::edit(out, client, &user, rename, groups).await
        }
        UsersCommand::Disable { users } => account::switch(out, client, users, false).await,
        UsersCommand::Enable { users } => account::switch(out, client, users, true).await,
        UsersCommand::Passwd { user, password_stdin } => {
            let password = prompt::new_password(flags, &user, password_stdin)?;
            account::set_password(out, client, &user, password).await
        }
        UsersCommand::Delete { users } => account::delete(flags, out, client, users).await,
        UsersCommand::Sessions { user, revoke: None, paging } => {
            sessions::list(out, client, &user, &paging).await
        }
        UsersCommand::Sessions { user, revoke: Some(session), .. } => {
            sessions::revoke(out, client, &user, session).await
        }
        UsersCommand::SecondFactorStatus { user } => {
            second_factor::status(out, client, &user).await
        }
        UsersCommand::SecondFactorReset { user } => {
            second_factor::reset(flags, out, client, &user).await
        }
        UsersCommand::RecoveryCodes(args) => {
            second_factor::new_codes(flags, out, client, args).await
        }
    }
}
