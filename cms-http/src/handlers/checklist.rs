//! `/api/backend/actions/checklist`

use cms_core::{
    Code, Error, Result,
    access::RecordAct,
    items::{Checklist, IfMatch},
};
use serde_json::Value as Json;

use super::item::if_match;
use crate::{
    call::Call,
    request::bad,
    success::Success,
    wire::{Data, checklist::Table},
};

pub(crate) async fn apply(
    call: &Call<'_>,
    Table { table }: Table,
    asked: Checklist,
) -> Result<Success<Data<Vec<Json>>>> {
    if table.is_some_and(|table| table != asked.table) {
        return Err(bad("The query and the body name different tables: leave the query's out."));
    }
    let if_match = if_match(call)?;
    // The only checklist that is not content: it needs the rights that the caller passes on.
    let of_groups = asked.table == "user_groups";
    let mut change = if of_groups { call.change_of_users().await? } else { call.change().await? };
    let data = if of_groups {
        if let IfMatch::Tags(_) = if_match {
            return Err(Error::new(Code::Stale, "Groups have no entity tag: leave If-Match out."));
        }
        let held = call.caller().permissions();
        call.cms.accounts().group_checklist(&mut change, &held, &asked).await?
    } else {
        call.admit_columns(&asked.table, RecordAct::Check, [&asked.column])?;
        call.cms.items().checklist(&mut change, &asked, &if_match).await?
    };
    call.commit(change, Data { data }, false).await
}
