//! `cms users create`, `edit`, `enable`, `disable`, `passwd` and `delete`

use cms_core::{
    Secret,
    accounts::{GroupName, NewUser, UserPatch},
};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        parameters::NoQuery,
        users::{Create, Delete, Update},
    },
};
use serde_json::json;

use super::{
    COLUMNS,
    user::{cell, find},
};
use crate::{
    flags::Flags,
    input,
    output::{Done, Output, counted},
    prompt,
    reply::{self, by_id},
};

pub(super) async fn create(
    out: &Output,
    client: &Client,
    username: String,
    password: Secret,
    groups: Vec<String>,
    active: bool,
) -> Done {
    let mut new = NewUser::new(username, password, group_names(groups));
    new.active = active;
    reply::record_as::<Create>(out, client, &NoQuery {}, &new, cell).await
}

pub(super) async fn edit(
    out: &Output,
    client: &Client,
    user: &str,
    username: Option<String>,
    groups: Vec<String>,
) -> Done {
    let mut patch = UserPatch::default();
    patch.username = username;
    patch.groups = (!groups.is_empty()).then(|| group_names(groups));
    change(out, client, user, patch).await
}

/// Switches users on or off.
pub(super) async fn switch(
    out: &Output,
    client: &Client,
    users: Vec<String>,
    active: bool,
) -> Done {
    let ids = ids(client, &input::named(users)?).await?;
    let mut patch = UserPatch::default();
    patch.active = Some(active);
    reply::change::<Update>(out, client, &ids, &patch, (&COLUMNS, cell)).await
}

pub(super) async fn set_password(
    out: &Output,
    client: &Client,
    user: &str,
    password: Secret,
) -> Done {
    let mut patch = UserPatch::default();
    patch.password = Some(password);
    change(out, client, user, patch).await
}

pub(super) async fn delete(
    flags: &Flags,
    out: &Output,
    client: &Client,
    users: Vec<String>,
) -> Done {
    let users = input::named(users)?;
    let ids = ids(client, &users).await?;
    let (many, users) = (counted(ids.len() as u64, "user"), users.join(", "));
    prompt::confirm(flags, &format!("Delete {many} ({users})?"))?;
    reply::several(out, &ids, async |id| Ok(client.call::<Delete>(&by_id(id), &NoBody).await?))
        .await?;
    out.done(&json!({"deleted": ids}), &format!("{many} deleted: {users}"))
}

/// The ids of users, from their ids or names.
async fn ids(client: &Client, users: &[String]) -> Done<Vec<i64>> {
    let mut ids = Vec::with_capacity(users.len());
    for user in users {
        ids.push(find(client, user).await?.id);
    }
    Ok(ids)
}

async fn change(out: &Output, client: &Client, user: &str, patch: UserPatch) -> Done {
    let id = find(client, user).await?.id;
    reply::record_as::<Update>(out, client, &by_id(id), &patch, cell).await
}

/// Groups for the API: a number is an id, anything else a name.
fn group_names(groups: Vec<String>) -> Vec<GroupName> {
    groups
        .into_iter()
        .map(|group| group.parse().map_or_else(|_| GroupName::Name(group), GroupName::Id))
        .collect()
}
