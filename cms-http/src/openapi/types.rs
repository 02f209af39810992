//! The schemas of all operations. They never change, so they are made once.

use std::sync::OnceLock;

use serde_json::{Map, Value as Json};

use crate::describe::{Described, Schemas, Schemata};

/// The schemas of all operations.
pub(super) struct Types {
    /// In the order of the operations.
    pub(super) operations: Vec<Shapes>,
    /// What replies share.
    pub(super) components: Map<String, Json>,
}

/// The schemas of one operation.
pub(super) struct Shapes {
    pub(super) query: Json,
    pub(super) body: Json,
    pub(super) reply: Json,
}

pub(super) fn of(operations: &[Described]) -> &'static Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES.get_or_init(|| make(operations))
}

fn make(operations: &[Described]) -> Types {
    let mut schemas = Schemas::default();
    let shapes = operations.iter().map(|operation| {
        let Schemata { query, body, reply } = (operation.types.schemas)(&mut schemas);
        let [mut query, mut body, reply] = [query, body, reply].map(Json::from);
        bound(&mut query);
        bound(&mut body);
        Shapes { query, body, reply }
    });
    let operations = shapes.collect();
    let _ = schemas.replies.subschema_for::<crate::wire::Problem>();
    Types { operations, components: schemas.replies.take_definitions(true) }
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
