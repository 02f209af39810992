//! What is known of an operation besides its handler, as input for the OpenAPI document.

use cms_core::access::Access;
use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value as Json;

use crate::{
    success::Answers,
    wire::{Body, BodyKind, Shape, endpoints},
};

/// One operation of the API.
pub(crate) struct Described {
    pub(crate) path: &'static str,
    pub(crate) action: Option<&'static str>,
    /// Other spellings, as what follows the path and the action.
    pub(crate) tails: &'static [&'static str],
    pub(crate) method: &'static str,
    pub(crate) access: Access,
    /// The module of its types and its handler.
    pub(crate) resource: &'static str,
    /// The content table whose records a plugin's endpoint reads.
    pub(crate) records: Option<&'static str>,
    /// Whether the handler judges the tags of `If-Match`.
    pub(crate) judges_tags: bool,
    pub(crate) answers: Answers,
    pub(crate) types: Types,
}

/// The types of an operation.
#[derive(Clone, Copy)]
pub(crate) struct Types {
    pub(crate) summary: &'static str,
    pub(crate) body: BodyKind,
    pub(crate) most_values: usize,
    pub(crate) body_is_early: bool,
    pub(crate) dry_run_reads: bool,
    pub(crate) body_is_optional: bool,
    pub(crate) list: Option<&'static str>,
    pub(crate) schemas: fn(&mut Schemas) -> Schemata,
}

/// The types of an endpoint that a plugin declares.
pub(crate) fn of_declared(method: &str) -> Types {
    match method {
        "POST" => Types::of::<endpoints::Create>(),
        "PATCH" => Types::of::<endpoints::Update>(),
        "DELETE" => Types::of::<endpoints::Delete>(),
        _ => Types::of::<endpoints::Read>(),
    }
}

/// The schemas of an operation's query, body and reply.
pub(crate) struct Schemata {
    pub(crate) query: Schema,
    pub(crate) body: Schema,
    pub(crate) reply: Schema,
}

/// Makes schemas. Input schemas are inlined; replies share components.
pub(crate) struct Schemas {
    pub(crate) requests: SchemaGenerator,
    pub(crate) replies: SchemaGenerator,
}

impl Default for Schemas {
    fn default() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.meta_schema = None;
                settings.definitions_path = "/components/schemas".into();
            })
        };
        let requests = settings().for_deserialize().with(|settings| {
            settings.inline_subschemas = true;
        });
        Self {
            requests: requests.into_generator(),
            replies: settings().for_serialize().into_generator(),
        }
    }
}

/// Whether the query of an operation has the parameter that the last part of a path names.
pub(crate) fn is_named_by(tail: &str, method: &str, query: &Json) -> bool {
    let name = tail.rsplit_once('{').and_then(|(_, name)| name.strip_suffix('}'));
    // A thing that is still to be made has no name.
    method != "POST" && name.is_some_and(|name| !query["properties"][name].is_null())
}

impl Types {
    /// The types of one operation.
    pub(crate) const fn of<S: Shape>() -> Self {
        Self {
            summary: S::SUMMARY,
            body: S::Body::KIND,
            most_values: S::Body::MOST_VALUES,
            body_is_early: S::Body::IS_EARLY,
            dry_run_reads: S::Body::DRY_RUN_READS,
            body_is_optional: S::Body::OPTIONAL,
            list: S::LIST,
            schemas: |schemas| Schemata {
                query: schemas.requests.subschema_for::<S::Query>(),
                body: schemas.requests.subschema_for::<S::Body>(),
                reply: schemas.replies.subschema_for::<S::Reply>(),
            },
        }
    }
}
