//! Finds and prints users

use cms_http::client::{Ask, Client};

use crate::{
    output::{
        Done, Exit, Failure, Output,
        record::{Record, names},
    },
    reply,
};

pub(super) const USERS: &str = "/api/backend/users";

/// The id of a user, found by name or id.
pub(super) async fn id(client: &Client, user: &str) -> Done<i64> {
    let found = client.send(Ask::get(USERS).query("username", user)).await?.json()?;
    found["data"]["id"].as_i64().ok_or_else(|| {
        Failure::new(Exit::Failed, "the reply does not come from a CMS: it holds no user")
    })
}

/// Sends a request and prints the user in the reply.
pub(super) async fn print(out: &Output, client: &Client, ask: Ask) -> Done {
    reply::record_as(out, client, ask, cell).await
}

/// Shows groups by their names.
pub(super) fn cell(user: &Record, column: &str) -> String {
    match user.raw(column) {
        Some(groups) if column == "groups" => {
            serde_json::from_str(groups).map_or_else(|_| groups.to_owned(), |list| names(&list))
        }
        _ => user.shown(column),
    }
}
