//! `/api/backend/actions/script`

use std::sync::Arc;

use bytes::Bytes;
use cms_core::{
    AuditEntry, Error, Result,
    plugins::{ScriptInput, ScriptReply},
};
use http::{HeaderValue, StatusCode, header};
use serde_json::Value as Json;

use crate::{
    body::{Body, Parts},
    call::Call,
    reauthorizer::Reauthorizer,
    reply::{JSON, Reply, csv, file::attachment},
    request::bad,
    success::Success,
    wire::{
        ReplyKind,
        script::{OfButton, RunScript, is_inbox_export},
    },
};

pub(crate) async fn run(
    call: &Call<'_>,
    named: OfButton,
    asked: RunScript,
) -> Result<Success<Json>> {
    let RunScript { plugin, button_id, id, url_rewrite, data } = asked;
    for (in_query, in_body) in [(named.plugin, &plugin), (named.button_id, &button_id)] {
        if in_query.is_some_and(|name| name != *in_body) {
            return Err(bad("The query and the body name different buttons: leave the query out."));
        }
    }
    if is_inbox_export(&plugin, &button_id) {
        return super::inbox::export_script(call, data).await;
    }
    let script = call.cms.scripts().find(&plugin, &button_id)?;
    let reauthorizer = Arc::new(Reauthorizer::of(call));
    let id = serde_json::to_value(id).map_err(Error::internal)?;
    let mut input = ScriptInput::default();
    (input.id, input.url_rewrite, input.data) = (id, url_rewrite, data);
    let cms = call.cms.clone();
    let work = async move {
        let mut change = reauthorizer.change().await?;
        let pressed = format!("{plugin}/{button_id}");
        let entry = AuditEntry { action: "run", table: "scripts", id: &pressed, columns: &[] };
        change.audit(entry).await?;
        change.commit().await?;
        match cms.scripts().run(&script, input, reauthorizer.begin()).await? {
            ScriptReply::Json(text) => Ok(Reply::new(StatusCode::OK, JSON, text)),
            ScriptReply::Csv { save_as, names, rows } => {
                let parts = csv::rows(names, rows);
                streamed(ReplyKind::Csv.media_type(), &save_as, parts, reauthorizer)
            }
            ScriptReply::Stream { media_type, save_as, parts } => {
                streamed(&media_type, &save_as, parts, reauthorizer)
            }
        }
    };
    call.once(work).await.map(Success::written)
}

fn streamed(
    media_type: &str,
    save_as: &str,
    parts: Parts,
    caller: Arc<Reauthorizer>,
) -> Result<Reply> {
    let kind = HeaderValue::from_str(media_type).map_err(Error::internal)?;
    let body = Body::streamed(caller.watching(parts));
    let reply = Reply { body, ..Reply::new(StatusCode::OK, kind, Bytes::new()) };
    Ok(reply.with(header::CONTENT_DISPOSITION, &attachment(save_as)))
}
