//! Endpoints that plugins declare: reads of a table, or calls of a handler.

use std::sync::Arc;

use http::header;

use super::item::records;
use crate::{
    Body,
    call::{API_KEY, Call, DeclaredBy},
    reauthorizer::Reauthorizer,
    reply::{JSON, Reply},
    request::bad,
    wire::Content,
};
use cms_core::{
    Code, Error, Result,
    plugins::{
        EndpointReply, EndpointRequest, Manifest, ReplyBody,
        manifest::{EndpointDeclaration, Method},
    },
};

/// Answers a request of any method that the declaration names.
pub(crate) async fn answer(call: &Call<'_>, content: Content) -> Result<Reply> {
    let (plugin, name) = declaration(call)?;
    if plugin.tables.iter().any(|table| table.name == name) {
        if call.request.parameter("table").is_some() {
            return Err(bad(format!("This address reads {name} alone: leave table out.")));
        }
        return records(call, name, call.request.parameter("id")).await?.reply(call.answers);
    }
    let (body, json) = content.whole()?;
    let mut headers = call.request.headers.clone();
    for name in [header::AUTHORIZATION, header::COOKIE, API_KEY] {
        if let http::header::Entry::Occupied(mut sent) = headers.entry(name) {
            // Hides the values from `Debug`.
            sent.iter_mut().for_each(|value| value.set_sensitive(true));
        }
    }
    let reauthorizer = Arc::new(Reauthorizer::of(call));
    let asked = EndpointRequest {
        method: method(call),
        path: call.request.path.clone(),
        query: call.request.query.clone(),
        headers,
        extensions: call.extensions.clone(),
        client: call.client.is_known.then_some(call.client.address),
        actor: call.caller().actor(),
        rights: call.caller().permissions(),
        body,
        json,
        begin: reauthorizer.begin(),
    };
    let cms = call.cms.clone();
    let work = async move {
        let answer = cms.plugins().answer(cms.items(), &plugin.id, name, asked).await;
        let answer = answer.ok_or_else(|| Error::internal(format!("no handler {name:?}")))??;
        reply(answer, reauthorizer)
    };
    call.once(work).await
}

fn reply(answer: EndpointReply, reauthorizer: Arc<Reauthorizer>) -> Result<Reply> {
    let (status, headers, body) = answer.into_parts()?;
    let mut reply = match body {
        ReplyBody::Data(json) => Reply::new(status, JSON, ["{\"data\":", &json, "}"].concat()),
        ReplyBody::Bytes(bytes) => Reply { body: bytes.into(), ..Reply::no_content() },
        ReplyBody::Stream(parts) => {
            let body = Body::streamed(reauthorizer.watching(parts));
            Reply { body, ..Reply::no_content() }
        }
    };
    reply.status = status;
    reply.headers.extend(headers);
    Ok(reply)
}

/// The plugin of the address and the table or handler of its endpoint, if both are still those
/// that the request was judged by.
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
