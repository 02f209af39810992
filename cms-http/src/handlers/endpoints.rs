//! Endpoints that plugins declare: tables are read, handlers answer.

use std::sync::Arc;

use cms_core::{
    Code, Error, Result,
    plugins::{EndpointCall, Manifest, manifest::Method},
};
use serde_json::Value as Json;

use super::item::records;
use crate::{call::Call, reply::Reply, shown::Lasting, success::Success, wire::Content};

/// Answers whatever method the declaration names.
pub(crate) async fn answer(call: &Call<'_>, content: Content) -> Result<Reply> {
    let (manifest, name) = declaration(call)?;
    if manifest.tables.iter().any(|table| table.name == name) {
        return records(call, &name, call.request.parameter("id")).await?.reply(call.answers);
    }
    let body = match content {
        Content::Json(json) => json,
        _ => Json::Null,
    };
    let asked = EndpointCall {
        method: method(call),
        query: call.request.query.clone(),
        body,
        items: call.cms.items().clone(),
        begin: Arc::new(Lasting::of(call)).begin(),
    };
    let answer = call.cms.plugins().answer(&manifest.id, &name, asked).await;
    let missing = || Error::internal(format!("no handler {name:?}"));
    let data = answer.ok_or_else(missing)??;
    let success = Success::<Json>::data(&data.to_string());
    if call.repetition.is_none() {
        return success.reply(call.answers);
    }
    // The handler's own changes are behind it, so this one keeps the reply alone.
    let change = call.change().await?;
    call.commit::<Json>(change, success, false).await?.reply(call.answers)
}

/// The plugin of the address, and what its endpoint is made of.
fn declaration(call: &Call<'_>) -> Result<(Arc<Manifest>, String)> {
    let states = call.cms.plugins().states();
    for manifest in states.iter().filter_map(|state| state.manifest.as_ref()) {
        let mut endpoints = manifest.endpoints.iter();
        if let Some(found) = endpoints.find(|endpoint| endpoint.path() == call.request.path) {
            return Ok((manifest.clone(), found.model_path.clone()));
        }
    }
    Err(Error::new(Code::NotFound, "There is nothing at this address."))
}

fn method(call: &Call<'_>) -> Method {
    match call.request.method.as_str() {
        "POST" => Method::Post,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        _ => Method::Get,
    }
}
