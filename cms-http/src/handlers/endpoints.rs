//! Endpoints that plugins declare: tables are read, handlers answer.

use std::sync::Arc;

use cms_core::{
    Code, Error, Result,
    plugins::{
        EndpointCall, Manifest,
        manifest::{EndpointDeclaration, Method},
    },
};
use serde_json::Value as Json;

use super::item::records;
use crate::{
    call::{Call, DeclaredBy},
    reauthorizer::Reauthorizer,
    reply::Reply,
    success::Success,
    wire::Content,
};

/// Answers whatever method the declaration names.
pub(crate) async fn answer(call: &Call<'_>, content: Content) -> Result<Reply> {
    let (plugin, name) = declaration(call)?;
    if plugin.tables.iter().any(|table| table.name == name) {
        return records(call, name, call.request.parameter("id")).await?.reply(call.answers);
    }
    let body = content.json()?.unwrap_or_default();
    let asked = EndpointCall {
        method: method(call),
        query: call.request.query.clone(),
        body,
        items: call.cms.items().clone(),
        begin: Arc::new(Reauthorizer::of(call)).begin(),
    };
    let (cms, answers) = (call.cms.clone(), call.answers);
    let work = async move {
        let answer = cms.plugins().answer(&plugin.id, name, asked).await;
        let data = answer.ok_or_else(|| Error::internal(format!("no handler {name:?}")))??;
        Success::<Json>::data(&data.to_string()).reply(answers)
    };
    call.once(work).await
}

/// The plugin of the address, and what its endpoint is made of, while both are as they were when
/// the request was judged.
fn declaration(call: &Call<'_>) -> Result<(Arc<Manifest>, &'static str)> {
    let states = call.cms.plugins().states();
    let found = call.endpoint.and_then(|DeclaredBy { plugin, model_path, public }| {
        let mut manifests = states.iter().filter_map(|state| state.manifest.as_ref());
        let manifest = manifests.find(|manifest| manifest.id == plugin)?;
        let is_same = |endpoint: &EndpointDeclaration| {
            endpoint.path() == call.request.path
                && endpoint.model_path == model_path
                && endpoint.public == public
        };
        manifest.endpoints.iter().any(is_same).then(|| (manifest.clone(), model_path))
    });
    found.ok_or_else(|| Error::new(Code::NotFound, "There is nothing at this address."))
}

fn method(call: &Call<'_>) -> Method {
    match call.request.method.as_str() {
        "POST" => Method::Post,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        _ => Method::Get,
    }
}
