//! The OpenAPI 3.1 document: made from routes, wire types and the live content tables, as far as
//! the caller may know them.
//!
//! ```text
//! types       schemas of all operations, made once
//! knowledge   which operations and tables a caller may know
//! operation   parameters, body, replies and security of one operation
//! content     schemas of the content tables
//! example     a record of a content table
//! links       from a reply to the operations on the rows it names
//! webhooks    what receivers of webhooks get
//! components  what operations share
//! ```

mod components;
mod content;
mod example;
mod knowledge;
mod links;
mod operation;
mod types;
mod webhooks;

use serde_json::{Map, Value as Json, json};

use crate::call::Call;

/// The document for the caller.
pub(crate) fn document(call: &Call<'_>) -> Json {
    let types = types::of(call.operations);
    let mut paths: Map<String, Json> = Map::new();
    let of_plugins = call.declared.iter().filter_map(|one| match (one.method, one.records) {
        ("GET", Some(_)) => Some((one, &types.records)),
        (method, _) => Some((one, types.declared.get(method)?)),
    });
    for (described, schemata) in call.operations.iter().zip(&types.operations).chain(of_plugins) {
        if !knowledge::knows(call, described) {
            continue;
        }
        // An action is no path of its own, and OpenAPI has one operation for a path and method:
        // a fragment tells them apart.
        let path = match described.action {
            Some(action) => format!("{}#action={action}", described.path),
            None => described.path.to_owned(),
        };
        let item = paths.entry(path).or_insert_with(|| json!({}));
        let mut operation = operation::of(described, schemata);
        let table = described.records.and_then(|name| call.cms.tables().find(name));
        if let (Some(table), Some(parameters)) = (table, operation["parameters"].as_array_mut()) {
            parameters.extend(content::filters(&table));
        }
        item[described.method.to_ascii_lowercase()] = operation;
    }
    let tables = knowledge::tables(call);
    let mut schemas = types.components.clone();
    content::describe(&tables, &mut paths, &mut schemas);
    links::add(&mut paths);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": call.cms.settings().product,
            "version": cms_core::VERSION,
            "description": "The REST API of this site, as far as the caller may know it.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
    });
    webhooks::add(call, &mut document, &mut schemas);
    components::add(&mut document, schemas);
    document
}
