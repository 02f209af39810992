//! `/api/backend/actions/checklist`

use cms_core::Result;
use http::StatusCode;

use super::item::if_match;
use crate::{gate::Call, reply::Reply};

pub(crate) async fn apply(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["table"])?;
    let request = call.typed()?;
    let mut change = call.change().await?;
    let values = call.cms.items().checklist(&mut change, &request, &if_match(call)?).await?;
    let reply = Reply::of(StatusCode::OK, &values)?;
    call.commit(change, reply, false).await
}
