//! `/api/backend/audit`

use cms_core::Result;

use crate::{call::Call, reply::Reply};

pub(crate) async fn list(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["table", "limit", "cursor"])?;
    let paging = call.request.paging()?;
    let tables: Vec<&str> =
        call.request.parameter("table").map(|names| names.split(',').collect()).unwrap_or_default();
    Reply::page(&call.cms.audit().list(&paging, &tables).await?)
}
