//! `/api/backend/permissions`

use cms_core::{
    Result,
    access::{AREAS, CORE, keys_of},
};

use super::by_name;
use crate::{
    call::Call,
    wire::{Page, parameters::Listing, permissions::Permission},
};

pub(crate) async fn list(call: &Call<'_>, asked: Listing) -> Result<Page<Permission>> {
    let index = call.cms.plugins().index();
    let areas = AREAS.iter().flat_map(|area| keys_of(area)).map(|key| (key, CORE));
    let buttons = index.permissions().map(|(plugin, key)| (key.to_owned(), plugin));
    let mut all: Vec<_> = areas
        .chain(buttons)
        .map(|(key, plugin)| Permission { key, plugin: plugin.to_owned() })
        .collect();
    all.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    by_name::page(call, all, |permission| permission.key.clone(), asked)
}
