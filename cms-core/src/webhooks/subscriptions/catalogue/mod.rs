//! The catalogue: events that a subscription can name.

mod emit;
mod example;
pub(in crate::webhooks) mod sql;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use self::{emit::by_hand, example::example};
use crate::{
    Actor, Code, Error, FieldError, Page, Paging, Result,
    ground::ListName,
    plugins::Index,
    webhooks::{
        Webhooks,
        rules::matching::{FUNNEL_EVENTS, SYSTEM_EVENTS},
    },
};

/// An event of the catalogue, with the plugin that raises it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegisteredEvent {
    /// Its id in the catalogue.
    #[serde(skip)]
    pub id: i64,
    /// The plugin that raises it; `core` for the service itself.
    pub plugin_id: String,
    /// Its name.
    pub event_name: String,
    /// `auto` for events of items, else `manual`.
    pub event_type: String,
    /// The table of an `auto` event.
    pub content_table: Option<String>,
    /// When it is raised.
    pub description: String,
}

/// The events of the catalogue: plugin and name.
pub(crate) type Registered = HashSet<(String, String)>;

impl Webhooks {
    /// The catalogue, a page at a time.
    ///
    /// # Errors
    /// `bad_query` for a cursor that is not from here.
    pub async fn events(&self, paging: &Paging) -> Result<Page<RegisteredEvent>> {
        Page::by_id(
            self.0.base.list(ListName::Events),
            paging,
            async |after, limit| sql::list(self.0.base.db(), after, limit).await,
            |event| event.id,
        )
        .await
    }
}

/// An event with an example of its data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DescribedEvent {
    /// Its entry in the catalogue: the oldest, when several plugins raise it.
    #[serde(flatten)]
    pub entry: RegisteredEvent,
    /// Whether [`Webhooks::emit`] raises it.
    pub emit: bool,
    /// An example of its data; null when only the program that raises the event knows.
    pub example: Option<Json>,
}

impl Webhooks {
    /// One event.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn event(&self, name: &str) -> Result<DescribedEvent> {
        let entries = sql::named(self.0.base.db(), name).await?;
        let emit = by_hand(&entries);
        let missing = || Error::new(Code::NotFound, format!("There is no event {name:?}."));
        let entry = entries.into_iter().next().ok_or_else(missing)?;
        let example = example(&self.0.registry.tables(), &entry);
        Ok(DescribedEvent { entry, emit, example })
    }
}

/// Under which plugin the events of visits are registered.
const FUNNELS: &str = "formfunnel";

/// Adds the events of the core and of plugins to the catalogue. Present entries keep their
/// description, so registering again changes nothing.
impl Webhooks {
    pub(crate) async fn register(&self, plugins: &Index) -> Result<()> {
        let system =
            SYSTEM_EVENTS.iter().map(|(name, description)| manual("core", name, description));
        let funnels =
            FUNNEL_EVENTS.iter().map(|(name, description)| manual(FUNNELS, name, description));
        let mut wanted: Vec<RegisteredEvent> = system.chain(funnels).collect();
        for table in self.0.registry.tables().iter().filter(|table| !table.silent) {
            wanted.extend(["created", "updated", "deleted"].map(|act| RegisteredEvent {
                id: 0,
                plugin_id: table.plugin.clone(),
                event_name: format!("item.{}.{act}", table.name),
                event_type: "auto".to_owned(),
                content_table: Some(table.name.clone()),
                description: format!("A record of {} was {act}.", table.name),
            }));
        }
        let events = plugins.events();
        wanted.extend(events.map(|(plugin, name, text)| manual(plugin, name, text)));
        let known = self.registered().await?;
        wanted
            .retain(|event| !known.contains(&(event.plugin_id.clone(), event.event_name.clone())));
        if wanted.is_empty() {
            return Ok(());
        }
        let mut change = self.0.base.change(Actor::System).await?;
        for event in &wanted {
            sql::register(&mut change, event).await?;
        }
        change.commit().await
    }

    /// All events of the catalogue.
    pub(crate) async fn registered(&self) -> Result<Registered> {
        let (mut known, mut paging) = (Registered::new(), Paging::first(crate::MAX_LIMIT));
        loop {
            let page = self.events(&paging).await?;
            known.extend(page.data.into_iter().map(|event| (event.plugin_id, event.event_name)));
            paging.cursor = page.next;
            if paging.cursor.is_none() {
                return Ok(known);
            }
        }
    }
}

/// The error for a name that is not in the catalogue.
pub(in crate::webhooks) fn unknown_event(field: String, event: &str) -> Error {
    let message = format!(
        "there is no event {event:?}: `cms events list` shows all; item.* matches all events of \
         items, * all events"
    );
    let field = FieldError { field, code: "unknown", message: message.clone() };
    Error::new(Code::UnknownEvent, format!("{message}.")).with_fields(vec![field])
}

fn manual(plugin: &str, name: &str, description: &str) -> RegisteredEvent {
    RegisteredEvent {
        id: 0,
        plugin_id: plugin.to_owned(),
        event_name: name.to_owned(),
        event_type: "manual".to_owned(),
        content_table: None,
        description: description.to_owned(),
    }
}
