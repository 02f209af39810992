//! `/api/backend/webhooks/events`, `/explain`, `/emit` and `/messages`: what can happen, what would
//! be sent of it, what has happened

use cms_core::{Direction, Error, Paging, Result, webhooks::MessageFilter};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::{
    call::Call,
    reply::Reply,
    request::{bad, moment},
};

pub(crate) async fn list(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["name", "limit", "cursor"])?;
    if let Some(name) = call.request.parameter("name") {
        return Reply::of(StatusCode::OK, &call.cms.webhooks().event(name).await?);
    }
    let paging = call.request.paging()?;
    Reply::page(&call.cms.webhooks().events(&paging).await?)
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
    let paging = call.request.paging()?;
    let Event { event, data } = call.typed()?;
    let (explained, page) = call.cms.webhooks().explain(&event, data, &paging).await?;
    let mut data = serde_json::to_value(&explained).map_err(Error::internal)?;
    data["subscriptions"] = serde_json::to_value(&page.data).map_err(Error::internal)?;
    Reply::with_meta(
        StatusCode::OK,
        &data,
        &serde_json::json!({"limit": page.limit, "next": page.next}),
    )
}

pub(crate) async fn emit(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let Event { event, data } = call.typed()?;
    let mut change = call.change().await?;
    let emitted = call.cms.webhooks().emit(&mut change, &event, data).await?;
    call.commit(change, Reply::of(StatusCode::CREATED, &emitted)?, false).await
}

pub(crate) async fn messages(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "event", "since", "oldest_first", "limit", "cursor"])?;
    let webhooks = call.cms.webhooks();
    if let Some(id) = call.request.parameter("id") {
        let mut message = webhooks.message(id).await?;
        if !call.caller.may_see_payloads() {
            message.payload = Json::Null;
        }
        return Reply::of(StatusCode::OK, &message);
    }
    let direction = match call.request.parameter("oldest_first") {
        None | Some("false") => Direction::Forward,
        Some("true") => Direction::Backward,
        Some(_) => return Err(bad("oldest_first is true or false.")),
    };
    let since = call.request.parameter("since").map_or(Ok(i64::MIN), moment)?;
    let event = call.request.parameter("event").map(str::to_owned);
    let paging = Paging { direction, ..call.request.paging()? };
    Reply::page(&webhooks.messages(&MessageFilter { event, since }, &paging).await?)
}
