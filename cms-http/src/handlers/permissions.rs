//! `/api/backend/permissions`

use cms_core::Result;

use super::by_name;
use crate::{
    call::Call,
    wire::{Page, parameters::Listing, permissions::Permission},
};

pub(crate) async fn list(call: &Call<'_>, asked: Listing) -> Result<Page<Permission>> {
    let index = call.cms.plugins().index();
    let all = index.grantable().into_iter();
    let all: Vec<_> =
        all.map(|(key, plugin)| Permission { key, plugin: plugin.to_owned() }).collect();
    by_name::page(call, all, |permission| permission.key.clone(), asked)
}
