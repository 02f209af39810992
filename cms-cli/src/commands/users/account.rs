//! `cms users create`, `edit`, `enable`, `disable`, `passwd` and `delete`

use cms_core::settings::Secret;
use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use super::user::{USERS, id, print};
use crate::{
    flags::Flags,
    output::{Done, Output},
    prompt,
};

pub(super) async fn create(
    out: &Output,
    client: &Client,
    name: &str,
    password: &Secret,
    groups: &[String],
    active: bool,
) -> Done {
    let body = json!({
        "username": name,
        "password": password.expose(),
        "groups": group_names(groups),
        "active": active,
    });
    print(out, client, Ask::post(USERS).json(&body)).await
}

pub(super) async fn edit(
    out: &Output,
    client: &Client,
    user: &str,
    rename: Option<String>,
    groups: &[String],
) -> Done {
    let mut body = json!({});
    if let Some(name) = rename {
        body["username"] = name.into();
    }
    if !groups.is_empty() {
        body["groups"] = group_names(groups);
    }
    change(out, client, user, &body).await
}

/// Switches a user on or off.
pub(super) async fn switch(out: &Output, client: &Client, user: &str, active: bool) -> Done {
    change(out, client, user, &json!({"active": active})).await
}

pub(super) async fn set_password(
    out: &Output,
    client: &Client,
    user: &str,
    password: &Secret,
) -> Done {
    change(out, client, user, &json!({"password": password.expose()})).await
}

pub(super) async fn delete(flags: &Flags, out: &Output, client: &Client, user: &str) -> Done {
    let id = id(client, user).await?;
    prompt::confirm(flags, &format!("Delete the user {user}?"))?;
    client.send(Ask::delete(USERS).query("id", id)).await?;
    out.done(&json!({"deleted": [id]}), &format!("The user {user} is deleted."))
}

async fn change(out: &Output, client: &Client, user: &str, body: &Json) -> Done {
    let id = id(client, user).await?;
    print(out, client, Ask::patch(USERS).query("id", id).json(body)).await
}

/// Groups for the API: a number is an id, anything else a name.
fn group_names(groups: &[String]) -> Json {
    groups
        .iter()
        .map(|group| group.parse::<i64>().map_or_else(|_| Json::from(group.as_str()), Json::from))
        .collect()
}
