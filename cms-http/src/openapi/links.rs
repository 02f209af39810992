//! Links: a reply that names a row leads to the operations on this row.

use serde_json::{Map, Value as Json, json};

/// An operation that is about one row: its path, its id, and whether it asks for a table too.
struct Target {
    path: String,
    id: String,
    table: bool,
}

/// Adds links to the replies of lists and of creations.
pub(super) fn add(paths: &mut Map<String, Json>) {
    let lists: Vec<String> =
        paths.iter().filter(|(_, item)| is_list(item)).map(|(path, _)| path.clone()).collect();
    let targets: Vec<Target> =
        paths.iter().flat_map(|(path, item)| about_rows(path, item)).collect();
    for list in &lists {
        let own = |target: &&Target| nearest(&lists, &target.path) == Some(list);
        for (reply, id) in [("get/responses/200", "/data/0/id"), ("post/responses/201", "/data/id")]
        {
            let Some(response) = paths[list].pointer_mut(&format!("/{reply}")) else { continue };
            let links: Map<String, Json> =
                targets.iter().filter(own).map(|target| link(target, id)).collect();
            response["links"] = Json::Object(links);
        }
    }
}

/// Whether a path answers with a list, or with one row of it by its id.
fn is_list(item: &Json) -> bool {
    parameter(&item["get"], "id").is_some_and(|id| id["required"] == false)
}

fn about_rows(path: &str, item: &Json) -> Vec<Target> {
    let operations = item.as_object().into_iter().flat_map(Map::values);
    let with_id = operations.filter(|operation| parameter(operation, "id").is_some());
    let target = |operation: &Json| Target {
        path: path.to_owned(),
        id: operation["operationId"].as_str().unwrap_or_default().to_owned(),
        table: parameter(operation, "table").is_some(),
    };
    with_id.map(target).collect()
}

fn parameter<'a>(operation: &'a Json, name: &str) -> Option<&'a Json> {
    operation["parameters"].as_array()?.iter().find(|parameter| parameter["name"] == name)
}

/// The list whose rows an operation is about: the longest path of a list that its own begins with.
fn nearest<'a>(lists: &'a [String], path: &str) -> Option<&'a String> {
    let above = |list: &&String| {
        path.strip_prefix(list.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    lists.iter().filter(above).max_by_key(|list| list.len())
}

fn link(target: &Target, id: &str) -> (String, Json) {
    let mut parameters = json!({"id": format!("$response.body#{id}")});
    if target.table {
        parameters["table"] = json!("$request.query.table");
    }
    (target.id.clone(), json!({"operationId": target.id, "parameters": parameters}))
}
