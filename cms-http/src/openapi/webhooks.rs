//! What receivers of webhooks get: each event as a request of the service.

use serde_json::{Map, Value as Json, json};

use super::{knowledge, types};
use crate::{
    call::Call,
    describe::Described,
    wire::{Operation as _, events::List},
};

/// The headers of every delivery, with what they say.
const HEADERS: [(&str, &str); 6] = [
    ("webhook-id", "The event's id: the same in every attempt."),
    ("webhook-timestamp", "Seconds since 1970, of this attempt."),
    ("webhook-signature", "`v1,` and base64, as Standard Webhooks signs; two during a rotation."),
    ("X-Webhook-Event", "The event's name; other characters than ASCII are percent-encoded."),
    ("X-Webhook-Signature", "HMAC-SHA256 of the body in lower-case hex."),
    ("X-Delivery-ID", "The id of the job."),
];

/// Adds the known events, for a caller that may know them; of items, only events of tables that
/// the caller may read.
pub(super) fn add(call: &Call<'_>, document: &mut Json, schemas: &mut Map<String, Json>) {
    let is_list = |one: &&Described| (one.method, one.path) == (List::METHOD, List::PATH);
    if !call.operations.iter().find(is_list).is_some_and(|list| knowledge::knows(call, list)) {
        return;
    }
    let tables = knowledge::tables(call);
    let mut webhooks = Map::new();
    for event in call.cms.webhooks().possible(&call.cms.plugins().index()) {
        let (entry, mut schema) = (event.entry, event.schema);
        if let Some(name) = &entry.content_table {
            if !tables.iter().any(|table| table.name == *name) {
                continue;
            }
            share(name, &mut schema, schemas);
        }
        types::drop_unknown_formats(&mut schema);
        if let Some(members) = schema.as_object_mut() {
            members.remove("$schema");
        }
        let mut content = json!({"schema": schema});
        if let Some(data) = event.example {
            content["example"] = json!({
                "id": "019aa5b1-6c40-7d3e-9f21-4b8c0d5e7a16",
                "event": entry.event_name,
                "created_at": "2026-11-21T09:30:00Z",
                "data": data,
            });
        }
        let delivery = json!({
            "summary": entry.description,
            "tags": [entry.plugin_id],
            "parameters": HEADERS.map(header),
            "requestBody": {"required": true, "content": {"application/json": content}},
            "responses": {"2XX": {"description": "Taken. All else is tried again."}},
        });
        webhooks.insert(entry.event_name, json!({"post": delivery}));
    }
    document["webhooks"] = Json::Object(webhooks);
}

/// The three events of a table share the schema of its records.
fn share(table: &str, schema: &mut Json, schemas: &mut Map<String, Json>) {
    if let Some(record) = schema.pointer_mut("/properties/data/properties/record") {
        let name = format!("event.{table}");
        let reference = json!({"$ref": format!("#/components/schemas/{name}")});
        schemas.insert(name, std::mem::replace(record, reference));
    }
}

fn header((name, text): (&str, &str)) -> Json {
    let schema = json!({"type": "string"});
    json!({"name": name, "in": "header", "required": true, "description": text, "schema": schema})
}
