//! `/api/backend/webhooks/events`, `/explain`, `/emit` and `/messages`

use cms_core::{
    Emitted,
    webhooks::{Considered, DescribedEvent, Explained, Message, MessageDetail, RegisteredEvent},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    Body, Data, NoBody, OneOrPage,
    envelope::Meta,
    operations,
    parameters::{Limit, ListQuery, Listing, Moment, NoQuery, paged},
};

/// What a name keeps in a query.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-');

operations! {
    /// One event that can happen, or a page of them.
    List: Named, NoBody => OneOrPage<ListedEvent, DescribedEvent>, of "events";
    /// What would be sent of an event, and to whom.
    Explain: Listing, Event => ExplainedTo;
    /// Raises an event.
    Emit: NoQuery, Event => Data<Emitted>;
    /// One event that has happened, or a page of them.
    Messages: WhichMessages, NoBody => OneOrPage<Message, MessageDetail>;
}

/// An event by name, else a page of the list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// The event to describe.
    #[schemars(example = &"page.published")]
    pub name: Option<String>,
    /// Which page of the list.
    #[serde(flatten)]
    pub list: ListQuery,
}

/// An event of the list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ListedEvent {
    /// Its entry in the catalogue.
    #[serde(flatten)]
    pub entry: RegisteredEvent,
    /// The JSON Schema of the body that receivers get: a reference to it in the reply that
    /// describes this event.
    pub schema: Reference,
}

/// Where a JSON Schema is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Reference {
    /// The address, and behind `#` the place in its reply.
    #[serde(rename = "$ref")]
    pub at: String,
}

impl From<RegisteredEvent> for ListedEvent {
    fn from(entry: RegisteredEvent) -> Self {
        let name = utf8_percent_encode(&entry.event_name, NAME);
        let at = format!("/api/backend/webhooks/events?name={name}#/data/schema");
        Self { entry, schema: Reference { at } }
    }
}

/// An event with its data.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"event": "order.created", "data": {"order": {"id": 7}}}]))]
pub struct Event {
    /// Its name.
    #[schemars(length(min = 1, max = 300))]
    pub event: String,
    /// Its data.
    #[serde(default)]
    pub data: Map<String, Json>,
}

impl Body for Event {}

/// What would be sent of an event, and a page of those who would get it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ExplainedTo {
    /// The delivery, and subscriptions.
    pub data: ToSubscriptions,
    /// Where the page of subscriptions stands.
    pub meta: Meta,
}

/// What would be sent, and to whom.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ToSubscriptions {
    /// What would be sent.
    #[serde(flatten)]
    pub explained: Explained,
    /// To whom, and to whom not: those of a page that the caller may read.
    pub subscriptions: Vec<Considered>,
}

paged! {
    /// Which events that have happened.
    pub struct WhichMessages {
        /// The one to show.
        pub id: Option<String>,
        /// Only those of this name.
        #[schemars(length(min = 1), example = &"order.created")]
        pub event: Option<String>,
        /// Not before.
        pub since: Option<Moment>,
        /// The order; newest first without it.
        pub oldest_first: Option<bool>,
    }
}
