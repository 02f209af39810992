//! The first match on any page of a list.

use cms_http::client::{Ask, Client};
use serde::{Deserialize, de::DeserializeOwned};

use super::{envelope::Meta, list::LARGEST_PAGE};
use crate::output::{Done, Failure};

#[derive(Deserialize)]
struct Page<T> {
    data: Vec<T>,
    meta: Meta,
}

/// Reads page after page up to the first match of `wanted`.
pub(crate) async fn first<T: DeserializeOwned>(
    client: &Client,
    ask: Ask,
    wanted: impl Fn(&T) -> bool,
) -> Done<Option<T>> {
    let ask = ask.query("limit", LARGEST_PAGE);
    let mut cursor: Option<String> = None;
    loop {
        let body = client.send(ask.clone().maybe("cursor", cursor.as_deref())).await?.body;
        let page: Page<T> = serde_json::from_str(&body).map_err(Failure::unexpected)?;
        let found = page.data.into_iter().find(&wanted);
        if found.is_some() || page.meta.next.is_none() {
            return Ok(found);
        }
        cursor = page.meta.next;
    }
}
