//! What is said over HTTP: query, body and reply of every endpoint as types for both directions.
//! Handlers, the client and the OpenAPI document all read these.
//!
//! ```text
//! envelope    {"data": ...}, lists with their meta, records, what every refusal says
//! parameters  queries that many endpoints share
//! query       parameters as text ↔ a query type
//! body        a JSON body ↔ a body type
//! ```
//!
//! All other modules belong to one resource each. A type such as [`keys::Create`] marks one
//! operation: `client.call::<wire::keys::Create>(&query, &body)`.

pub mod audit;
pub mod auth;
pub(crate) mod body;
pub mod cache;
pub mod checklist;
pub mod docs;
pub mod endpoints;
pub(crate) mod envelope;
pub mod events;
pub mod formfunnel;
pub mod forms;
pub mod funnel_logic;
pub mod funnels;
pub mod health;
pub mod inbox;
pub mod item;
pub mod keys;
pub mod limits;
pub mod mail;
pub mod media;
pub mod openapi;
pub mod origins;
pub mod pagebuilder;
pub mod pages;
pub mod parameters;
pub mod permissions;
pub mod plugin_changes;
pub mod plugins;
pub mod query;
pub mod script;
pub mod stream;
pub mod tables;
pub mod tasks;
pub mod theme;
pub mod user_groups;
pub mod users;
pub mod webhooks;
pub mod widgets;

pub use body::{
    Arriving, Body, BodyKind, Content, Deferred, Early, File, Form, Multipart, NoBody, Octets,
};
pub use envelope::{
    Data, Done, FieldProblem, Meta, Noted, Notes, OneOrPage, OnlyId, Page, Problem, Record,
    ReplyKind, Text,
};

use cms_core::{Cms, access::Access};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

/// The types of one operation.
pub trait Shape {
    /// Parameters after the `?`.
    type Query: Serialize + DeserializeOwned + JsonSchema;
    /// The request's body; [`NoBody`] when there is none.
    type Body: Body;
    /// The body of a success.
    type Reply: Serialize + DeserializeOwned + JsonSchema;
    /// What it does, for people.
    const SUMMARY: &'static str;
    /// The list of the service's own whose rows callers choose by `filter[column][op]`.
    const LIST: Option<&'static str> = None;

    /// The columns by which callers can sort that list.
    #[doc(hidden)]
    #[must_use]
    fn sorts() -> Vec<String> {
        Self::LIST.map(Cms::sorted_columns).unwrap_or_default()
    }
}

/// The parameters of a request, and its body as JSON.
pub type Written = (Vec<(String, String)>, String);

/// One operation of the API; its line in the routes gives it address and statuses.
pub trait Operation: Shape {
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    const METHOD: &'static str;
    /// The path, with `{name}` for parameters.
    const PATH: &'static str;
    /// The value of `action` that selects it among others at the same path.
    const ACTION: Option<&'static str>;
    /// Who may call it, before rights are checked.
    #[doc(hidden)]
    const ACCESS: Access;
    /// How the reply is written.
    const REPLY: ReplyKind;

    // Bodies would be compiled again in every crate that calls; the routes give them.

    /// The parameters, and the body as JSON.
    ///
    /// # Errors
    /// For what JSON cannot hold.
    fn write(query: &Self::Query, body: &Self::Body) -> serde_json::Result<Written>;

    /// Reads the JSON of a reply.
    ///
    /// # Errors
    /// For another form.
    fn read(reply: &str) -> serde_json::Result<Self::Reply>;
}

/// `/// What it does.` `Name: Query, Body => Reply;` for each operation of a resource, with
/// `, of "list"` where callers choose the rows of a list by its columns.
macro_rules! operations {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $query:ty, $body:ty => $reply:ty $(, of $list:literal)?;
    )+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl $crate::wire::Shape for $name {
                type Query = $query;
                type Body = $body;
                type Reply = $reply;
                const SUMMARY: &'static str = concat!($($doc),+);
                $(const LIST: Option<&'static str> = Some($list);)?
            }
        )+
    };
}
pub(crate) use operations;
