//! Finds and shows groups

use cms_core::{access::HeldPermissions, accounts::Group};
use cms_http::{
    client::Client,
    wire::{NoBody, user_groups::Read},
};

use crate::{
    output::{Done, Exit, Failure},
    reply,
};

/// The group with this id or name, in capitals or not.
pub(super) async fn find(client: &Client, group: &str) -> Done<Group> {
    if let Ok(id) = group.parse::<i64>() {
        return reply::data::<Read>(client, &reply::one(id), &NoBody).await;
    }
    let same = |found: &Group| found.name.to_lowercase() == group.to_lowercase();
    reply::first::<Read>(client, reply::list_query, same).await?.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no group named {group:?}"))
            .hint("cms groups list")
    })
}

/// Shows rights as permission keys.
pub(super) fn cell(group: &Group, column: &str) -> Option<String> {
    (column == "rights").then(|| match &group.rights {
        HeldPermissions::Admin => "everything".to_owned(),
        HeldPermissions::Only(keys) => keys.iter().cloned().collect::<Vec<_>>().join(" "),
    })
}
