//! `/api/backend/webhooks/events` and `/explain`: what can be subscribed to, and what would be sent of it

use cms_core::{Error, Result};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::{gate::Call, reply::Reply};

pub(crate) async fn list(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["limit", "cursor"])?;
    let (limit, cursor) = call.request.paging()?;
    Reply::page(&call.cms.webhooks().events(limit, cursor).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    event: String,
    #[serde(default)]
    data: Map<String, Json>,
}

pub(crate) async fn explain(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["limit", "cursor"])?;
    let (limit, cursor) = call.request.paging()?;
    let Event { event, data } = call.typed()?;
    let (explained, page) = call.cms.webhooks().explain(&event, data, limit, cursor).await?;
    let mut data = serde_json::to_value(&explained).map_err(Error::internal)?;
    data["subscriptions"] = serde_json::to_value(&page.data).map_err(Error::internal)?;
    Reply::with_meta(StatusCode::OK, &data, &serde_json::json!({"limit": page.limit, "next": page.next}))
}
