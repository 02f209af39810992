//! The schemas of all operations. They never change, so they are made once.

use std::{collections::BTreeMap, sync::OnceLock};

use serde_json::{Map, Value as Json};

use crate::describe::{self, Described, Schemas, Schemata, Types};

/// The schemas of all operations.
pub(super) struct AllTypes {
    /// In the order of the operations.
    pub(super) operations: Vec<Shapes>,
    /// Of the endpoints that plugins declare, by method.
    pub(super) declared: BTreeMap<&'static str, Shapes>,
    /// Of those that read the records of a content table.
    pub(super) records: Shapes,
    /// What replies share.
    pub(super) components: Map<String, Json>,
}

/// The schemas of one operation.
pub(super) struct Shapes {
    pub(super) query: Json,
    pub(super) body: Json,
    pub(super) reply: Json,
}

pub(super) fn of(operations: &[Described]) -> &'static AllTypes {
    static TYPES: OnceLock<AllTypes> = OnceLock::new();
    TYPES.get_or_init(|| make(operations))
}

fn make(operations: &[Described]) -> AllTypes {
    let mut schemas = Schemas::default();
    let mut shapes = |types: Types| {
        let Schemata { query, body, reply } = (types.schemas)(&mut schemas);
        let [mut query, mut body, reply] = [query, body, reply].map(Json::from);
        bound(&mut query);
        bound(&mut body);
        Shapes { query, body, reply }
    };
    let operations = operations.iter().map(|operation| shapes(operation.types)).collect();
    let methods = ["GET", "POST", "PATCH", "DELETE"];
    let declared = methods.map(|method| (method, shapes(describe::of_declared(method)))).into();
    let mut records = shapes(Types::of::<crate::wire::item::Read>());
    // The address names the table.
    if let Some(parameters) = records.query["properties"].as_object_mut() {
        parameters.remove("table");
    }
    records.query["required"] = Json::Array(Vec::new());
    let _ = schemas.replies.subschema_for::<crate::wire::Problem>();
    AllTypes { operations, declared, records, components: schemas.replies.take_definitions(true) }
}

/// What a number of 64 bits holds: `format` alone binds nobody.
fn bound(schema: &mut Json) {
    match schema {
        Json::Object(members) => {
            let limits = match members.get("format").and_then(Json::as_str) {
                Some("int64") => Some((Json::from(i64::MIN), Json::from(i64::MAX))),
                Some("uint64") => Some((0.into(), i64::MAX.into())),
                _ => None,
            };
            if let Some((least, most)) = limits {
                members.entry("minimum").or_insert(least);
                members.entry("maximum").or_insert(most);
            }
            members.values_mut().for_each(bound);
        }
        Json::Array(items) => items.iter_mut().for_each(bound),
        _ => {}
    }
}
