//! Finds and prints groups

use cms_http::client::{Ask, Client};
use serde_json::Value as Json;

use crate::{
    output::{
        Done, Exit, Failure, Output,
        record::{Record, text},
    },
    reply,
};

pub(super) const GROUPS: &str = "/api/backend/user_groups";

/// The group with this id or name, in capitals or not.
pub(super) async fn find(client: &Client, group: &str) -> Done<Json> {
    if let Ok(id) = group.parse::<i64>() {
        return Ok(client.send(Ask::get(GROUPS).query("id", id)).await?.json()?["data"].take());
    }
    let same = |found: &Json| text(&found["name"]).to_lowercase() == group.to_lowercase();
    reply::first(client, Ask::get(GROUPS), same).await?.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no group named {group:?}"))
            .hint("cms groups list")
    })
}

/// Sends a request and prints the group in the reply.
pub(super) async fn print(out: &Output, client: &Client, ask: Ask) -> Done {
    reply::record_as(out, client, ask, cell).await
}

/// Shows rights as permission keys.
pub(super) fn cell(group: &Record, column: &str) -> String {
    match group.raw(column) {
        Some(rights) if column == "rights" => serde_json::from_str(rights)
            .map_or_else(|_| rights.to_owned(), |rights| spelled(&rights)),
        _ => group.shown(column),
    }
}

/// Permission keys in a cell; `everything` for administrators.
pub(super) fn spelled(rights: &Json) -> String {
    match rights {
        Json::Array(keys) => keys.iter().map(text).collect::<Vec<_>>().join(" "),
        _ => "everything".to_owned(),
    }
}
