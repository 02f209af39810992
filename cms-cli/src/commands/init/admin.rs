//! The first administrator.

use cms_core::{
    access::HeldPermissions,
    accounts::{Group, GroupName, NewGroup, NewUser, User},
};
use cms_http::{
    client::Client,
    wire::{NoBody, parameters::NoQuery, user_groups, users},
};

use crate::{
    flags::Flags,
    folder::Report,
    output::{Done, Exit, Failure},
    prompt, reply,
    site::Site,
};

/// Creates the user in a group of administrators, unless that administrator exists.
pub(super) async fn ensure(
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
