//! Finds and shows users

use cms_core::accounts::User;
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        parameters::{Limit, ListQuery},
        users::{Read, WhichUsers},
    },
};

use crate::{output::Done, reply};

/// A page of all users.
pub(super) fn page(limit: Limit, cursor: Option<String>) -> WhichUsers {
    WhichUsers { list: ListQuery::page(limit, cursor), ..WhichUsers::default() }
}

/// One user, by name or id.
pub(super) fn named(user: &str) -> WhichUsers {
    WhichUsers { username: Some(user.to_owned()), ..WhichUsers::default() }
}

/// The user with this name or id.
pub(super) async fn find(client: &Client, user: &str) -> Done<User> {
    reply::data::<Read>(client, &named(user), &NoBody).await
}

/// Shows groups by their names.
pub(super) fn cell(user: &User, column: &str) -> Option<String> {
    let names = || user.groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>();
    (column == "groups").then(|| names().join(", "))
}
