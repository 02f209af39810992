//! Links: a reply that names a row leads to the operations on this row.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

/// Adds links to the replies of lists and of creations.
pub(super) fn add(paths: &mut Map<String, Json>, schemas: &Map<String, Json>) {
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

/// Whether rows are listed and have an `id`; the key of a table may be called otherwise.
fn has_id(item: &Json, schemas: &Map<String, Json>) -> bool {
    let rows = "/get/responses/200/content/application~1json/schema/properties/data/items";
    let Some(row) = item.pointer(rows) else { return item["get"].is_null() };
    let name = row["$ref"].as_str().and_then(|at| at.rsplit('/').next());
    name.and_then(|name| schemas.get(name))
        .is_none_or(|row| row["properties"].is_null() || row["properties"]["id"].is_object())
}

/// The operations that ask for the id of one row.
fn about_rows(item: &Json) -> impl Iterator<Item = String> {
    let operations = item.as_object().into_iter().flat_map(Map::values);
    let with_id = operations.filter(|operation| asks_for_id(operation));
    with_id.filter_map(|operation| operation["operationId"].as_str().map(str::to_owned))
}

fn asks_for_id(operation: &Json) -> bool {
    let parameters = operation["parameters"].as_array();
    parameters.is_some_and(|all| all.iter().any(|one| one["name"] == "id"))
}

/// The list whose rows an operation is about: the longest path of a list that its own begins with.
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
