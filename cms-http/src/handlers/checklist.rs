//! `/api/backend/actions/checklist`

use cms_core::{Result, items::Checklist};
use serde_json::Value as Json;

use super::item::if_match;
use crate::{
    call::Call,
    success::Success,
    wire::{Data, checklist::Table},
};

pub(crate) async fn apply(
    call: &Call<'_>,
    _: Table,
    asked: Checklist,
) -> Result<Success<Data<Vec<Json>>>> {
    let mut change = call.change().await?;
    // The one checklist that is no content: for those who hold the rights that they pass on.
    let data = if asked.table == "user_groups" {
        let held = call.caller().permissions();
        call.cms.accounts().group_checklist(&mut change, &held, &asked).await?
    } else {
        call.cms.items().checklist(&mut change, &asked, &if_match(call)?).await?
    };
    call.commit(change, Data { data }, false).await
}
