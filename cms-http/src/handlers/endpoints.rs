//! Endpoints that plugins declare: tables are read, handlers answer.

use std::sync::Arc;

use cms_core::{
    Code, Error, Result,
    items::{Query, etag},
    plugins::{Begin, EndpointCall, Manifest, manifest::Method},
};
use http::header;
use serde_json::Value as Json;

use super::item::may_see;
use crate::{
    call::Call,
    reply::Reply,
    shown::Lasting,
    success::Success,
    wire::{Content, OneOrPage, Record, envelope::Meta},
};

/// Answers whatever method the declaration names.
pub(crate) async fn answer(call: &Call<'_>, content: Content) -> Result<Reply> {
    let (manifest, name) = declaration(call)?;
    if manifest.tables.iter().any(|table| table.name == name) {
        return read(call, &name).await?.reply(call.answers);
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
        begin: begin(call),
    };
    let answer = call.cms.plugins().answer(&manifest.id, &name, asked).await;
    let missing = || Error::internal(format!("no handler {name:?}"));
    let data = answer.ok_or_else(missing)??;
    Success::<Json>::data(&data.to_string()).reply(call.answers)
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

/// One record by its id, else a page, as `/api/backend/item` reads them.
async fn read(call: &Call<'_>, table: &str) -> Result<Success<OneOrPage<Record>>> {
    let (request, items) = (call.request, call.cms.items());
    let query =
        Query::parse(request.query.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
    for column in &query.expand {
        may_see(call, &items.reference(table, column)?.name)?;
    }
    if let Some(id) = request.parameter("id") {
        let json = items.get(table, id, &query).await?;
        return Ok(Success::data(&json).with(header::ETAG, etag(&json)));
    }
    let list = items.list(table, &query).await?;
    let meta = Meta { limit: list.limit, next: list.next, total: list.total };
    Success::page(&list.records, &meta)
}

fn method(call: &Call<'_>) -> Method {
    match call.request.method.as_str() {
        "POST" => Method::Post,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        _ => Method::Get,
    }
}

/// How a handler begins changes: on behalf of the caller, judged again.
fn begin(call: &Call<'_>) -> Begin {
    let caller = Arc::new(Lasting::of(call));
    Arc::new(move || {
        let caller = caller.clone();
        Box::pin(async move { caller.change().await })
    })
}
