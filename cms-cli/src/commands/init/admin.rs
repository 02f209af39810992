//! The first administrator.

use cms_core::accounts::Rights;
use cms_http::client::{Ask, ClientError};
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    folder::Report,
    output::{Done, Exit, Failure, record::text},
    prompt, reply,
    site::Site,
};

const GROUPS: &str = "/api/backend/user_groups";
const USERS: &str = "/api/backend/users";

/// Creates the user in a group of administrators, unless that administrator exists.
pub(super) async fn ensure(
    flags: &Flags,
    site: &Site,
    name: &str,
    from_stdin: bool,
    report: &mut Report,
) -> Done {
    let client = &site.client;
    let everything = serde_json::to_value(Rights::Admin)
        .map_err(|e| Failure::new(Exit::Failed, e.to_string()))?;
    let is_admin = |group: &Json| group["rights"] == everything;
    match client.send(Ask::get(USERS).query("username", name)).await {
        Ok(answer) => {
            let user = answer.json()?["data"].take();
            let mine = |group: &Json| {
                user["groups"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|mine| mine["id"] == group["id"])
            };
            if user["active"] != true
                || reply::first(client, Ask::get(GROUPS), |group| is_admin(group) && mine(group))
                    .await?
                    .is_none()
            {
                return Err(Failure::new(
                    Exit::Refused,
                    format!("the user {name} is not an administrator, or is switched off"),
                )
                .hint(format!(
                    "cms users show {name}, then cms users edit {name} --group admins, or \
                     cms users enable {name}"
                )));
            }
            report.kept.push(format!(
                "the administrator {}, with the present password",
                text(&user["username"])
            ));
            return Ok(());
        }
        Err(ClientError::Problem { code, .. }) if code == "not_found" => {}
        Err(error) => return Err(error.into()),
    }
    let password = prompt::new_password(flags, from_stdin)?;
    let group = match reply::first(client, Ask::get(GROUPS), is_admin).await? {
        Some(group) => group,
        None => {
            let new = json!({"name": "admins", "rights": everything});
            let group = client.send(Ask::post(GROUPS).json(&new)).await?.json()?["data"].take();
            report.made.push("the group admins".to_owned());
            group
        }
    };
    let new = json!({"username": name, "password": password.expose(), "groups": [group["id"]]});
    client.send(Ask::post(USERS).json(&new)).await?;
    report.made.push(format!("the administrator {name}"));
    Ok(())
}
