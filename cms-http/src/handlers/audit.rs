//! `/api/backend/audit`

use cms_core::Result;

use crate::{gate::Call, reply::Reply};

pub(crate) async fn list(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["limit", "cursor"])?;
    let (limit, cursor) = call.request.paging()?;
    Reply::page(&call.cms.audit_log(limit, cursor).await?)
}
