//! An event of the service: its name, when it is raised, and the type of its data. Receivers get
//! the JSON Schema of that type, so schema and payload cannot differ. At the end stands an event
//! as those who follow events get it.

use std::{marker::PhantomData, sync::LazyLock};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

use super::conform::Rules;
use crate::{Code, Error, FieldError, Result};

/// The data of an event that an embedding program raises. Its type says which event it is.
///
/// The service has four: [`OrderCreated`](super::OrderCreated),
/// [`UserRegistered`](super::UserRegistered),
/// [`EmailmarketingSubscribed`](super::EmailmarketingSubscribed) and
/// [`DeploymentCompleted`](super::DeploymentCompleted). A plugin in Rust may have types of its own
/// for the events that it declares.
pub trait EventData: Serialize {
    /// The name of the event.
    const NAME: &'static str;
}

/// The data of an event of the service.
pub(crate) trait Payload: Serialize + JsonSchema {
    /// An example of the data.
    fn example() -> Self;

    /// An example for the event of this name, where several events share this type.
    fn example_of(_event: &str) -> Self
    where
        Self: Sized,
    {
        Self::example()
    }
}

/// An event whose data is a `P`.
#[derive(Debug)]
pub(crate) struct Event<P> {
    /// Its name.
    pub(crate) name: &'static str,
    /// When it is raised.
    description: &'static str,
    data: PhantomData<fn(P)>,
}

impl<P> Clone for Event<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Event<P> {}

impl<P: Payload> Event<P> {
    pub(super) const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, data: PhantomData }
    }

    /// The catalogue entry of this event, without the type of its data.
    pub(super) const fn entry(self) -> CatalogueEntry {
        CatalogueEntry {
            name: self.name,
            description: self.description,
            rules: LazyLock::new(rules::<P>),
            example: example::<P>,
        }
    }
}

/// An event of the service, as the catalogue lists it.
#[derive(Debug)]
pub(crate) struct CatalogueEntry {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    rules: LazyLock<Rules>,
    example: fn(&str) -> Json,
}

impl CatalogueEntry {
    /// The JSON Schema of its data.
    pub(crate) fn schema(&self) -> &Json {
        &self.rules.schema
    }

    /// The first hundred faults that its schema finds in data.
    pub(super) fn faults(&self, data: &Json) -> Vec<FieldError> {
        self.rules.faults(data, "data")
    }

    /// An example of its data.
    pub(crate) fn example(&self) -> Json {
        (self.example)(self.name)
    }
}

/// The JSON Schema (draft 2020-12) of data, written out in place.
pub(crate) fn schema<P: JsonSchema>() -> Json {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema: Json = settings.into_generator().into_root_schema_for::<P>().into();
    // The title is the name of a Rust type, which means nothing to receivers.
    if let Some(members) = schema.as_object_mut() {
        members.remove("title");
    }
    schema
}

fn rules<P: JsonSchema>() -> Rules {
    Rules::new(schema::<P>())
}

fn example<P: Payload>(event: &str) -> Json {
    json!(P::example_of(event))
}

/// The JSON Schema of the body that receivers get, with the schema `data` for its data.
pub(crate) fn of_delivery(name: &str, description: &str, data: Json) -> Json {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "description": description,
        "type": "object",
        "required": ["id", "event", "created_at", "data"],
        "properties": {
            "id": {
                "type": "string",
                "format": "uuid",
                "description": "The same in every attempt, and in webhook-id.",
            },
            "event": {"const": name},
            "created_at": {
                "type": "string",
                "format": "date-time",
                "description": "When it happened.",
            },
            "data": data,
        },
    })
}

/// An event that was committed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedEvent {
    /// Its id; deliveries send the same.
    pub id: String,
    /// Its name, such as `item.orders.created`.
    pub event: String,
    /// The JSON of its data, as deliveries send it.
    pub data: String,
    pub(crate) row: i64,
    pub(crate) place: i64,
    /// How many handlers led to it.
    pub(crate) depth: i64,
}

impl RecordedEvent {
    /// Its data as a value. Members that the type leaves out are not read.
    ///
    /// # Errors
    /// `validation_failed` when the data does not fit the type.
    pub fn data_as<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.data).map_err(|why| {
            let what = format!("The data of the event {} does not fit: {why}.", self.event);
            Error::new(Code::ValidationFailed, what)
        })
    }
}
