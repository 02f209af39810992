//! The shared parts of the document: headers, parameters, refusals, security and schemas; and
//! links from a reply that names a row to the operations on this row.

use std::collections::{BTreeMap, BTreeSet};

use http::StatusCode;
use serde_json::{Map, Value as Json, json};

/// Every status of a refusal, and its meaning.
const REFUSALS: [(u16, &str); 18] = [
    (400, "The request cannot be read, or names something unknown."),
    (401, "The credential is missing, or not valid here."),
    (403, "The caller's rights, or the page that calls, do not allow this."),
    (404, "There is no such thing, or nothing at this address."),
    (405, "The path, or the table, does not take this method."),
    (408, "The body came too slowly."),
    (409, "The present state does not allow it."),
    (412, "The record has changed since it was read."),
    (413, "The body is too large."),
    (415, "The body has a media type that the operation does not take."),
    (416, "The file ends before the part that Range asks for."),
    (421, "The service does not answer for this host."),
    (422, "The values are not valid."),
    (428, "The table demands If-Match."),
    (429, "Too many requests, or too many wrong logins."),
    (500, "The service failed; its log says why, under the same request id."),
    (502, "A script failed."),
    (503, "The service cannot work at this moment."),
];

/// `*`, or up to 8 entity tags: of records, of drafts (`"29-4"`), of submissions.
const TAGS: &str = r#"^(\*|"[A-Za-z0-9_.-]+"( *, *"[A-Za-z0-9_.-]+"){0,7})$"#;

/// Adds the shared components, and of the schemas only those that the document uses.
pub(super) fn add(document: &mut Json, schemas: Map<String, Json>, cookie: &str) {
    let text =
        |description: &str, schema: Json| json!({"description": description, "schema": schema});
    let responses: Map<String, Json> = REFUSALS.iter().map(refusal).collect();
    let mut components = json!({
        "headers": {
            "RequestId": text("Names the request in the log.", json!({"type": "string"})),
            "RetryAfter": text("Seconds to wait.", json!({"type": "integer"})),
        },
        "parameters": {
            "IdempotencyKey": {
                "name": "Idempotency-Key", "in": "header", "required": false,
                "description": "A repetition with the same Idempotency-Key gets the first reply. \
                                Without an API key or a session the header does nothing.",
                "schema": {"type": "string", "pattern": "^[!-~]([\\t -~]{0,253}[!-~])?$"},
            },
            "IfMatch": {
                "name": "If-Match", "in": "header", "required": false,
                "description": "Only if the record still has one of these entity tags, 8 at most.",
                "schema": {"type": "string", "pattern": TAGS},
            },
        },
        "responses": responses,
        "securitySchemes": {
            "ApiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
            "Session": {"type": "http", "scheme": "bearer"},
            "Cookie": {"type": "apiKey", "in": "cookie", "name": cookie},
        },
    });
    let mut used = BTreeSet::new();
    let places = [&document["paths"], &document["webhooks"], &components];
    let mut waiting: Vec<String> = places.into_iter().flat_map(names).collect();
    while let Some(name) = waiting.pop() {
        if let Some(schema) = schemas.get(&name)
            && used.insert(name)
        {
            waiting.extend(names(schema));
        }
    }
    let schemas = schemas.into_iter().filter(|(name, _)| used.contains(name));
    components["schemas"] = Json::Object(schemas.collect());
    document["components"] = components;
}

/// The names of the component schemas that the JSON refers to.
fn names(json: &Json) -> Vec<String> {
    match json {
        Json::Object(members) => members.values().flat_map(names).collect(),
        Json::Array(items) => items.iter().flat_map(names).collect(),
        Json::String(text) => {
            text.strip_prefix("#/components/schemas/").map(str::to_owned).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn refusal((status, meaning): &(u16, &str)) -> (String, Json) {
    let mut headers = json!({"X-Request-Id": {"$ref": "#/components/headers/RequestId"}});
    if *status == StatusCode::TOO_MANY_REQUESTS {
        headers["Retry-After"] = json!({"$ref": "#/components/headers/RetryAfter"});
    }
    let problem = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
    let response = json!({
        "description": meaning,
        "headers": headers,
        "content": {"application/problem+json": problem},
    });
    (format!("Problem{status}"), response)
}

/// Adds links to replies that list or create rows.
pub(super) fn add_links(paths: &mut Map<String, Json>, schemas: &Map<String, Json>) {
    let ends = paths.keys().filter_map(|path| path.strip_suffix("/{id}"));
    let lists = ends.filter(|path| paths.get(*path).is_some_and(|item| has_id(item, schemas)));
    let lists: BTreeSet<String> = lists.map(str::to_owned).collect();
    let mut targets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, item) in &*paths {
        let Some(list) = nearest(&lists, path) else { continue };
        targets.entry(list.to_owned()).or_default().extend(about_rows(item));
    }
    for (list, operations) in targets {
        for (reply, id) in [("get/responses/200", "/data/0/id"), ("post/responses/201", "/data/id")]
        {
            let Some(response) = paths[&list].pointer_mut(&format!("/{reply}")) else { continue };
            let links: Map<String, Json> =
                operations.iter().map(|operation| link(operation, id)).collect();
            response["links"] = Json::Object(links);
        }
    }
}

/// Whether rows have an `id`; the key of a content table may have another name.
fn has_id(item: &Json, schemas: &Map<String, Json>) -> bool {
    let rows = "/get/responses/200/content/application~1json/schema/properties/data/items";
    let Some(row) = item.pointer(rows) else { return item["get"].is_null() };
    let name = row["$ref"].as_str().and_then(|at| at.rsplit('/').next());
    // A plugin declares its rows in place.
    let row = name.and_then(|name| schemas.get(name)).unwrap_or(row);
    row["properties"].is_null() || row["properties"]["id"].is_object()
}

/// The operations that take the id of one row.
fn about_rows(item: &Json) -> impl Iterator<Item = String> {
    let operations = item.as_object().into_iter().flat_map(Map::values);
    let with_id = operations.filter(|operation| asks_for_id(operation));
    with_id.filter_map(|operation| operation["operationId"].as_str().map(str::to_owned))
}

fn asks_for_id(operation: &Json) -> bool {
    let parameters = operation["parameters"].as_array();
    parameters.is_some_and(|all| all.iter().any(|one| one["name"] == "id"))
}

/// The list that an operation belongs to: the longest path of a list that its own path begins with.
fn nearest<'l>(lists: &'l BTreeSet<String>, path: &str) -> Option<&'l str> {
    let mut above = Some(path);
    while let Some(path) = above {
        if let Some(list) = lists.get(path) {
            return Some(list);
        }
        above = path.rsplit_once('/').map(|(above, _)| above);
    }
    None
}

fn link(operation: &str, id: &str) -> (String, Json) {
    let parameters = json!({"id": format!("$response.body#{id}")});
    (operation.to_owned(), json!({"operationId": operation, "parameters": parameters}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_with_an_id_are_linked() {
        let named = |name: &str| json!({"properties": {name: {}}});
        let schemas = Map::from_iter([("Row".to_owned(), named("name"))]);
        for (row, expected) in [
            (named("id"), true),
            (named("name"), false),
            (json!({"$ref": "#/components/schemas/Row"}), false),
            (json!({}), true),
        ] {
            let schema = json!({"properties": {"data": {"items": row}}});
            let content = json!({"application/json": {"schema": schema}});
            let item = json!({"get": {"responses": {"200": {"content": content}}}});
            assert_eq!(has_id(&item, &schemas), expected, "{item}");
        }
    }
}
