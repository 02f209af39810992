//! One file for each resource: reads its parameters, calls `cms-core`, shapes the reply.

pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod cache;
pub(crate) mod checklist;
pub(crate) mod docs;
pub(crate) mod endpoints;
pub(crate) mod events;
pub(crate) mod formfunnel;
pub(crate) mod forms;
pub(crate) mod funnel_logic;
pub(crate) mod funnels;
pub(crate) mod health;
pub(crate) mod inbox;
pub(crate) mod item;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod mail;
pub(crate) mod media;
pub(crate) mod openapi;
pub(crate) mod origins;
pub(crate) mod pagebuilder;
pub(crate) mod pages;
pub(crate) mod permissions;
pub(crate) mod plugin_changes;
pub(crate) mod plugins;
pub(crate) mod script;
pub(crate) mod stream;
pub(crate) mod tables;
pub(crate) mod tasks;
pub(crate) mod theme;
pub(crate) mod user_groups;
pub(crate) mod users;
pub(crate) mod webhooks;
pub(crate) mod widgets;

use cms_core::Result;

use crate::{
    call::Call,
    request::bad,
    wire::{Meta, Page, parameters::Listing},
};

/// A page of a list that is held in memory, sorted by a name. The cursor holds a name, and is valid
/// for the path of the request only.
fn page_by_name<T>(
    call: &Call<'_>,
    rows: Vec<T>,
    name: impl Fn(&T) -> String,
    Listing { limit, cursor, count }: Listing,
) -> Result<Page<T>> {
    let (cursors, list) = (call.cms.cursors(), call.request.path.as_str());
    let place = |cursor: &str| {
        String::from_utf8(cursors.open(list, cursor)?).map_err(|_| bad("This cursor is no name."))
    };
    let after = cursor.as_deref().map(place).transpose()?;
    let total = (count == Some(true)).then_some(rows.len() as i64);
    let is_after = |row: &T| after.as_ref().is_none_or(|after| name(row) > *after);
    let mut rest = rows.into_iter().filter(is_after);
    let data: Vec<T> = rest.by_ref().take(limit.0 as usize).collect();
    let last = rest.next().and(data.last()).map(&name);
    let next = last.map(|last| cursors.seal(list, last.as_bytes())).transpose()?;
    Ok(Page { data, meta: Meta { limit: limit.0, next, total } })
}
