//! The OpenAPI 3.1 document, made from routes, wire types and the content tables. It holds what
//! the caller may know.
//!
//! ```text
//! types       schemas of all operations, made once
//! knowledge   which operations and tables a caller may know
//! operation   the paths of an operation (one for each action, one thing apart from a list);
//!             parameters, body, replies and security at one of them
//! content     operations and types of each content table, a record of it as an example
//! webhooks    what receivers of webhooks get
//! components  what operations share; links from a reply to the operations on the rows it names
//! ```

mod components;
mod content;
mod knowledge;
mod operation;
mod types;
mod webhooks;

use std::collections::BTreeMap;

use cms_core::access::Access;
use serde_json::{Map, Value as Json, json};

use crate::call::Call;

/// The document for the caller.
pub(crate) fn document(call: &Call<'_>) -> Json {
    let types = types::of(call.operations);
    let tables = call.cms.tables();
    let names = content::Names::of(&tables, &types.components);
    let content = content::Content::of(call, &names);
    let mut operations = Vec::new();
    for (described, shapes) in call.operations.iter().zip(&types.operations) {
        if described.access == Access::Table {
            operations.extend(content.operations(described, shapes));
        } else if knowledge::knows(call, described) {
            let columns = described.types.list.map(|list| call.cms.list_columns(list));
            let filters = content::filters(columns.iter().flatten(), content::own_list_takes);
            let filters = filters.collect();
            operations.extend(operation::paths_of(described, shapes, filters));
        }
    }
    let states = call.cms.plugins().states();
    let manifests = states.iter().filter_map(|state| state.manifest.as_deref());
    let endpoints = manifests.flat_map(|manifest| manifest.endpoints.iter());
    let endpoints: BTreeMap<_, _> = endpoints.map(|one| (one.path(), one)).collect();
    for described in call.declared.iter().filter(|one| knowledge::knows(call, one)) {
        let table = described.records.and_then(|name| tables.find(name));
        if let ("GET", Some(table)) = (described.method, table) {
            operations.extend(content.read_at(described, &types.records, &table));
        } else if let Some(shapes) = types.declared.get(described.method) {
            let declared = endpoints.get(described.path);
            let declared = declared.map(|endpoint| types::with_declared(shapes, endpoint));
            let shapes = declared.as_ref().unwrap_or(shapes);
            let all = operation::paths_of(described, shapes, Vec::new());
            operations.extend(all.into_iter().map(with_parameters));
        }
    }
    let mut paths: Map<String, Json> = Map::new();
    let mut ids = BTreeMap::new();
    for at_path in operations {
        let method = at_path.described.method.to_ascii_lowercase();
        let mut operation = operation::of(&at_path);
        // `blog/{id}` and a table `blog_id` would get the same name.
        let id = at_path.id();
        let same = ids.entry(id.clone()).and_modify(|count| *count += 1).or_insert(1);
        let id = if *same > 1 { format!("{id}_{same}") } else { id };
        operation["operationId"] = id.into();
        paths.entry(at_path.path).or_insert_with(|| json!({}))[method] = operation;
    }
    let mut schemas = types.components.clone();
    content.schemas(&mut schemas);
    components::add_links(&mut paths, &schemas);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": call.cms.settings().product,
            "version": cms_core::VERSION,
            "description": "The REST API of this site, as far as the caller may know it.",
        },
        "servers": [{"url": call.mount.server(call.cms.settings())}],
        "paths": paths,
    });
    webhooks::add(call, &mut document, &mut schemas);
    components::add(&mut document, schemas, call.mount.cookie_name());
    document
}

/// Adds the parameters in the path of an endpoint; its handler reads them as text.
fn with_parameters(mut at_path: operation::PathOperation<'_>) -> operation::PathOperation<'_> {
    let path = at_path.path.clone();
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    for name in names {
        at_path.query["properties"][name] = json!({"type": "string"});
    }
    at_path
}
