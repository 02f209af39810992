//! `/api/backend/permissions`

use cms_core::Result;

use super::page_by_name;
use crate::{
    call::Call,
    wire::{Page, parameters::Listing, permissions::Permission},
};

pub(crate) async fn list(call: &Call<'_>, asked: Listing) -> Result<Page<Permission>> {
    let index = call.cms.plugins().index();
    let all = index.grantable().into_iter();
    let all: Vec<_> =
        all.map(|(key, plugin)| Permission { key, plugin: plugin.to_owned() }).collect();
    page_by_name(call, all, |permission| permission.key.clone(), asked)
}
