//! One operation at one path: parameters, body, replies, security. `?action=` and `?id=` get paths
//! of their own here, and an endpoint that returns one thing or a list becomes two operations.
//! Generators of clients allow one operation for a method and path, and one type for a reply.

use cms_core::access::Access;
use http::StatusCode;
use serde_json::{Map, Value as Json, json};

use super::types::Shapes;
use crate::{
    describe::{Described, is_named_by},
    wire::{BodyKind, ReplyKind},
};

pub(super) fn of(at_path: &PathOperation<'_>) -> Json {
    let described = at_path.described;
    let mut operation = json!({
        "tags": [at_path.tag],
        "summary": at_path.summary,
        "parameters": parameters(at_path),
        "responses": responses(described, &at_path.reply),
        "security": security(described.access),
    });
    if let Some(kind) = described.types.body.media_type() {
        let mut content = json!({"schema": at_path.body});
        if let Some(example) = &at_path.example {
            content["example"] = example.clone();
        }
        operation["requestBody"] = json!({
            "required": !described.types.body_is_optional,
            "content": {kind: content},
        });
    }
    operation
}

fn parameters(at_path: &PathOperation<'_>) -> Vec<Json> {
    let (described, query, none) = (at_path.described, &at_path.query, Map::new());
    let required: Vec<&str> = query["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default();
    let mut parameters: Vec<Json> = query["properties"]
        .as_object()
        .unwrap_or(&none)
        .iter()
        .map(|(name, schema)| {
            let mut schema = without_null(schema.clone());
            let text = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let in_path = at_path.path.contains(&format!("{{{name}}}"));
            let mut parameter = json!({
                "name": name,
                "in": if in_path { "path" } else { "query" },
                "required": in_path || required.contains(&name.as_str()),
                "schema": schema,
            });
            if let Some(text) = text {
                parameter["description"] = text;
            }
            parameter
        })
        .chain(at_path.filters.iter().cloned())
        .collect();
    let is_kept = !matches!(described.types.body, BodyKind::Multipart | BodyKind::Octets);
    if described.method == "POST" && described.access.is_for_keys() && is_kept {
        parameters.push(json!({"$ref": "#/components/parameters/IdempotencyKey"}));
    }
    if described.judges_tags {
        parameters.push(json!({"$ref": "#/components/parameters/IfMatch"}));
    }
    parameters
}

/// Removes null from an optional parameter: callers leave it out instead.
fn without_null(mut schema: Json) -> Json {
    if let Some(types) = schema["type"].as_array() {
        let types: Vec<_> = types.iter().filter(|one| *one != "null").cloned().collect();
        if let [one] = types.as_slice() {
            schema["type"] = one.clone();
        }
    }
    if let Some(Json::Array(forms)) = schema.get("anyOf").cloned() {
        let forms: Vec<_> = forms.into_iter().filter(|form| form["type"] != "null").collect();
        if let ([Json::Object(only)], Some(members)) = (forms.as_slice(), schema.as_object_mut()) {
            members.remove("anyOf");
            members.extend(only.clone());
        }
    }
    if let Some(members) = schema.as_object_mut() {
        members.retain(|name, value| name != "default" || !value.is_null());
    }
    schema
}

fn responses(described: &Described, reply: &Json) -> Json {
    let headers = json!({"X-Request-Id": {"$ref": "#/components/headers/RequestId"}});
    let success = match described.answers.kind {
        ReplyKind::Empty => json!({"description": "Done.", "headers": headers}),
        ReplyKind::Json => json!({
            "description": "Success.",
            "headers": headers,
            "content": {"application/json": {"schema": reply}},
        }),
        ReplyKind::Any => json!({
            "description": "Success.",
            "headers": headers,
            "content": {"application/json": {"schema": reply}, "*/*": {}},
        }),
        kind => json!({
            "description": "Success.",
            "headers": headers,
            "content": {kind.media_type(): {"schema": {"type": "string"}}},
        }),
    };
    let mut responses = json!({described.answers.status.to_string(): success});
    if described.resource == "media" && described.answers.status == StatusCode::CREATED {
        // 200 instead of 201: the content exists already, and is not stored again.
        responses["200"] = responses["201"].clone();
    }
    if described.answers.kind == ReplyKind::File {
        responses["206"] = json!({"description": "The part that Range asks for."});
    }
    for status in refusals(described) {
        let name = format!("#/components/responses/Problem{status}");
        responses[status.to_string()] = json!({"$ref": name});
    }
    if described.method == "GET" {
        responses["304"] = json!({"description": "The caller has this state already."});
    }
    responses
}

/// The statuses of refusals.
fn refusals(described: &Described) -> Vec<u16> {
    let (access, method) = (described.access, described.method);
    let mut statuses = vec![400, 404, 408, 421, 500, 503];
    if described.answers.kind == ReplyKind::File {
        statuses.push(416);
    }
    if access == Access::Open {
        statuses.push(403);
        if matches!(described.resource, "media" | "pages") {
            // Pictures and site maps cost some work to make, so the limiter counts them.
            statuses.push(429);
        }
        return statuses;
    }
    statuses.extend([401, 403, 422, 429]);
    if method != "GET" {
        statuses.push(409);
    }
    if matches!(access, Access::Table | Access::Checklist) {
        statuses.push(405);
    }
    if access == Access::Button {
        statuses.push(502);
    }
    if described.types.body != BodyKind::None || method == "POST" || method == "PATCH" {
        statuses.extend([413, 415]);
    }
    if described.judges_tags {
        statuses.push(412);
        if matches!(access, Access::Table | Access::Checklist) {
            statuses.push(428);
        }
    }
    statuses.sort_unstable();
    statuses
}

/// The credentials that the caller can show, any one of them.
fn security(access: Access) -> Json {
    match access {
        Access::Open | Access::Login | Access::Operator => json!([]),
        Access::Public => json!([{}, {"ApiKey": []}, {"Session": []}, {"Cookie": []}]),
        Access::Session => json!([{"Session": []}, {"Cookie": []}]),
        Access::Area(_)
        | Access::Read(_)
        | Access::Table
        | Access::Checklist
        | Access::Button
        | Access::Plugin(_)
        | Access::User
        | Access::Buttons
        | Access::Admin => {
            json!([{"ApiKey": []}, {"Session": []}, {"Cookie": []}])
        }
    }
}

/// The parameters that name one published page.
const OF_PAGE: [&str; 3] = ["id", "view", "url"];
/// The other name of a user; no path has it.
const OTHER_NAME: &str = "username";

/// An operation at one path.
pub(super) struct PathOperation<'d> {
    pub(super) path: String,
    pub(super) described: &'d Described,
    pub(super) summary: String,
    pub(super) tag: String,
    pub(super) query: Json,
    /// Parameters in addition to those of the query's type.
    pub(super) filters: Vec<Json>,
    pub(super) body: Json,
    pub(super) reply: Json,
    /// An example of the body.
    pub(super) example: Option<Json>,
}

impl<'d> PathOperation<'d> {
    pub(super) fn new(described: &'d Described, path: String, shapes: &Shapes) -> Self {
        let [query, body, reply] = [&shapes.query, &shapes.body, &shapes.reply].map(Json::clone);
        let example = body.pointer("/examples/0").cloned();
        let summary = described.types.summary.trim().to_owned();
        let tag = described.resource.to_owned();
        let filters = Vec::new();
        Self { path, described, summary, tag, query, filters, body, reply, example }
    }

    /// Removes the parameters for which `keep` is false.
    pub(super) fn keep_parameters(mut self, keep: impl Fn(&str) -> bool) -> Self {
        if let Some(members) = self.query["properties"].as_object_mut() {
            members.retain(|name, _| keep(name));
        }
        if let Some(required) = self.query["required"].as_array_mut() {
            required.retain(|name| name.as_str().is_some_and(&keep));
        }
        self
    }

    pub(super) fn with_reply(self, reply: Json) -> Self {
        Self { reply, ..self }
    }

    /// The name of the operation in clients: `get_backend_keys_id`.
    pub(super) fn id(&self) -> String {
        let path = self.path.trim_start_matches("/api/");
        let words =
            path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        [&self.described.method.to_ascii_lowercase(), "_", &words.join("_")].concat()
    }
}

/// The operation at each of its paths. `filters`: the filters that its list takes.
pub(super) fn paths_of<'d>(
    described: &'d Described,
    shapes: &Shapes,
    filters: Vec<Json>,
) -> Vec<PathOperation<'d>> {
    let action = described.action.map(|action| format!("/{action}")).unwrap_or_default();
    let start = format!("{}{action}", described.path);
    let tail = described.tails.last().copied().unwrap_or_default();
    let named = tail.trim_matches(['/', '{', '}']);
    let single = |path: String| PathOperation::new(described, path, shapes);
    let all = |path: String| PathOperation { filters, ..single(path) };
    if let Some((list, one)) = halves(&shapes.reply) {
        debug_assert!(!tail.is_empty(), "{} has no path for one thing", described.path);
        let names_one = |name: &str| match named {
            "one" => OF_PAGE.contains(&name),
            named => name == named || name == OTHER_NAME,
        };
        let shows_one = |name: &str| {
            (names_one(name) && name != OTHER_NAME) || (named == "one" && name == "language")
        };
        return vec![
            all(start.clone()).keep_parameters(|name| !names_one(name)).with_reply(list),
            single(start + tail).keep_parameters(shows_one).with_reply(one),
        ];
    }
    match is_named_by(tail, described.method, &shapes.query) {
        true => vec![single(start + tail)],
        false => vec![all(start)],
    }
}

/// The two types of a reply that is a page of a list or one thing of it.
pub(super) fn halves(reply: &Json) -> Option<(Json, Json)> {
    match reply["anyOf"].as_array()?.as_slice() {
        [list, one] if list["properties"]["meta"].is_object() => Some((list.clone(), one.clone())),
        _ => None,
    }
}
