//! `/api/backend/keys` and what hangs below it

use cms_core::{
    Result, access,
    keys::{ApiKey, PlainKey},
};
use http::{HeaderMap, Method, StatusCode, Uri};
use serde::Deserialize;
use serde_json::json;

use crate::{
    call::Call,
    reply::Reply,
    request::{Canonical, bad},
};

pub(crate) async fn read(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "limit", "cursor"])?;
    if call.request.parameter("id").is_some() {
        return Reply::of(StatusCode::OK, &call.cms.keys().get(call.id()?).await?);
    }
    let paging = call.request.paging()?;
    Reply::page(&call.cms.keys().list(&paging).await?)
}

pub(crate) async fn create(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let new = call.typed()?;
    let mut change = call.change().await?;
    let (key, value) =
        call.cms.keys().create(&mut change, &call.caller.rights(call.cms), new).await?;
    call.commit(change, shown_once(StatusCode::CREATED, &key, &value)?, true).await
}

pub(crate) async fn update(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let (id, patch) = (call.id()?, call.typed()?);
    let mut change = call.change().await?;
    let key = call.cms.keys().update(&mut change, &call.caller.rights(call.cms), id, patch).await?;
    call.commit(change, Reply::of(StatusCode::OK, &key)?, false).await
}

pub(crate) async fn delete(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let id = call.id()?;
    let mut change = call.change().await?;
    call.cms.keys().delete(&mut change, &call.caller.rights(call.cms), id).await?;
    call.commit(change, Reply::no_content(), false).await
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rotation {
    grace_s: i64,
}

pub(crate) async fn rotate(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let (id, rotation): (_, Rotation) = (call.id()?, call.typed()?);
    let mut change = call.change().await?;
    let (key, value) = call
        .cms
        .keys()
        .rotate(&mut change, &call.caller.rights(call.cms), id, rotation.grace_s)
        .await?;
    call.commit(change, shown_once(StatusCode::OK, &key, &value)?, true).await
}

/// The only replies that hold the value of a key.
fn shown_once(status: StatusCode, key: &ApiKey, value: &PlainKey) -> Result<Reply> {
    let mut record = serde_json::to_value(key).map_err(cms_core::Error::internal)?;
    record["key"] = value.expose().into();
    Reply::of(status, &record)
}

pub(crate) async fn check(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "method", "path"])?;
    let (method, target) =
        (call.request.required("method")?.to_ascii_uppercase(), call.request.required("path")?);
    // Judged in the form in which the gate would see it.
    let uri: Uri = target.parse().map_err(|_| {
        bad("path is a path such as /api/backend/item?table=blog, percent-encoded.")
    })?;
    let asked = Canonical::new(Method::GET, &uri, HeaderMap::new())?;
    let asked =
        access::Call { method: &method, path: &asked.path, query: &asked.query, body_table: None };
    let refused = call.cms.keys().check(call.id()?, &asked).await?;
    let reason = refused.map_or("allowed", |code| code.as_str());
    Reply::of(StatusCode::OK, &json!({"allowed": refused.is_none(), "reason": reason}))
}
