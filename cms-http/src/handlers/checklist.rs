//! `/api/backend/actions/checklist`

use cms_core::{Result, items::Checklist};
use http::StatusCode;

use super::item::if_match;
use crate::{call::Call, reply::Reply};

pub(crate) async fn apply(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["table"])?;
    let request: Checklist = call.typed()?;
    let mut change = call.change().await?;
    // The one checklist that is no content: for those who hold the rights that they pass on.
    let values = if request.table == "user_groups" {
        call.cms
            .accounts()
            .group_checklist(&mut change, &call.caller.permissions(), &request)
            .await?
    } else {
        call.cms.items().checklist(&mut change, &request, &if_match(call)?).await?
    };
    let reply = Reply::of(StatusCode::OK, &values)?;
    call.commit(change, reply, false).await
}
