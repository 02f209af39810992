//! `cms init`: makes a site in a folder, or completes one

use std::path::Path;

use clap::Args;
use cms_core::{
    access::HeldPermissions,
    accounts::{Group, GroupName, NewGroup, NewUser, User},
};
use cms_http::{
    client::Client,
    wire::{NoBody, parameters::NoQuery, user_groups, users},
};
use serde_json::json;

use crate::{
    flags::Flags,
    folder::{self, Report},
    output::{Done, Exit, Failure, Output},
    prompt, reply,
    site::{self, Site},
    target::Target,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms init
  cms init --admin ana
  pass show cms/ana | cms init --dir /srv/shop --admin ana --password-stdin")]
pub(crate) struct InitArgs {
    /// Also create this administrator, unless there is one of that name
    #[arg(long, value_name = "NAME")]
    admin: Option<String>,
    /// Read the administrator's password from the first line of standard input
    #[arg(long, requires = "admin")]
    password_stdin: bool,
}

pub(crate) async fn run(flags: &Flags, out: &Output, args: InitArgs) -> Done {
    let dir = Target::folder_only(flags, "cms init")?;
    if let Some(name) = args.admin.as_deref().filter(|_| !args.password_stdin)
        && !prompt::can_ask(flags)
        && !is_there(flags, &dir, name, out).await
    {
        prompt::expect_terminal(flags, "the password of the administrator", "--password-stdin")?;
    }
    let turn = folder::take_turn(&dir, out)?;
    let mut report = folder::make(&dir, &[], out).await?;
    if let Some(name) = &args.admin {
        let site = Site::open(flags, &Target::Folder(dir.clone()), out).await?;
        let outcome = prompt::interruptible(ensure_admin(
            flags, &site, name, args.password_stdin, &mut report,
        ))
        .await;
        outcome.and(site.close().await)?;
    }
    drop(turn);
    if out.json {
        return Ok(out.data(
            &json!({"dir": dir.display().to_string(), "made": report.made, "kept": report.kept}),
        )?);
    }
    for made in &report.made {
        out.note(&format!("made  {made}"));
    }
    for kept in &report.kept {
        out.note(&format!("kept  {kept}"));
    }
    let at =
        if dir == Path::new(".") { String::new() } else { format!(" --dir {}", dir.display()) };
    let listen = folder::settings(&dir, &[], out)?.settings.listen;
    let people = match &args.admin {
        Some(name) => format!("cms login --url http://{listen} --username {name}"),
        None => format!("cms init{at} --admin NAME"),
    };
    out.note(&format!(
        "\nNext:\n  cms doctor{at}\n  cms serve{at}\n  {people}\n  \
         cms keys create{at} --name shop --right 'GET /api/pages'"
    ));
    Ok(())
}

/// Whether the site in this folder can be opened and has that user.
async fn is_there(flags: &Flags, dir: &Path, name: &str, out: &Output) -> bool {
    let target = Target::Folder(dir.to_owned());
    let found = site::with_target(flags, out, &target, async |site| {
        find(&site.client, name).await?.map(drop).ok_or(Failure::silent(Exit::NotFound))
    });
    found.await.is_ok()
}

/// Creates the user in a group of administrators, unless that administrator exists.
async fn ensure_admin(
    flags: &Flags,
    site: &Site,
    name: &str,
    from_stdin: bool,
    report: &mut Report,
) -> Done {
    let client = &site.client;
    if let Some(user) = find(client, name).await? {
        check(client, &user, name).await?;
        let kept = format!("the administrator {}, with the present password", user.username);
        report.kept.push(kept);
        return Ok(());
    }
    let password = prompt::new_password(flags, name, from_stdin)?;
    let group = match group(client, |_| true).await? {
        Some(group) => group,
        None => {
            let mut new = NewGroup::new("admins");
            new.rights = HeldPermissions::Admin;
            let made = client.call::<user_groups::Create>(&NoQuery {}, &new).await?;
            report.made.push("the group admins".to_owned());
            made.data
        }
    };
    let new = NewUser::new(name, password, vec![GroupName::Id(group.id)]);
    client.call::<users::Create>(&NoQuery {}, &new).await?;
    report.made.push(format!("the administrator {name}"));
    Ok(())
}

async fn find(client: &Client, name: &str) -> Done<Option<User>> {
    let asked =
        users::WhichUsers { username: Some(name.to_owned()), ..users::WhichUsers::default() };
    let not_found = |failure: &Failure| failure.exit == Exit::NotFound;
    match reply::data::<users::Read>(client, &asked, &NoBody).await {
        Ok(user) => Ok(Some(user)),
        Err(failure) if not_found(&failure) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// A group of administrators that is `wanted`.
async fn group(client: &Client, wanted: impl Fn(&Group) -> bool) -> Done<Option<Group>> {
    let fits = |group: &Group| group.rights == HeldPermissions::Admin && wanted(group);
    reply::first::<user_groups::Read>(client, reply::list_query, fits).await
}

/// Fails unless the user is an active administrator.
async fn check(client: &Client, user: &User, name: &str) -> Done {
    let mine = |group: &Group| user.groups.iter().any(|mine| mine.id == group.id);
    if user.active && group(client, mine).await?.is_some() {
        return Ok(());
    }
    let why = format!("the user {name} is not an administrator, or is switched off");
    Err(Failure::new(Exit::Refused, why).hint(format!(
        "cms users show {name}, then cms users edit {name} --group admins, or cms users enable \
         {name}"
    )))
}
