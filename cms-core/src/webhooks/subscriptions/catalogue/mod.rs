//! The catalogue: events that a subscription can name.

mod emit;
mod example;
mod schema;
pub(in crate::webhooks) mod sql;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use self::{example::example, schema::schema};
use crate::{
    Actor, Code, Error, FieldError, Page, Paging, Result,
    events::{self, FUNNELS, SYSTEM},
    ground::ListName,
    plugins::Index,
    webhooks::Webhooks,
};

/// An event of the catalogue, with the plugin that raises it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
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

/// An event with what receivers get of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DescribedEvent {
    /// Its entry in the catalogue: the oldest, when several plugins raise it.
    #[serde(flatten)]
    pub entry: RegisteredEvent,
    /// Whether [`Webhooks::emit`] raises it.
    pub emit: bool,
    /// An example of its data; null when only the program that raises the event knows.
    pub example: Option<Json>,
    /// The JSON Schema (draft 2020-12) of the body that receivers get.
    pub schema: Json,
}

impl DescribedEvent {
    /// Leaves out what it tells of the columns of its table, for those who may not read that.
    pub fn hide_record(&mut self) {
        self.example = None;
        if let Some(record) = self.schema.pointer_mut("/properties/data/properties/record") {
            *record = serde_json::json!({"type": "object"});
        }
    }
}

impl Webhooks {
    /// One event.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn event(&self, name: &str) -> Result<DescribedEvent> {
        let entries = sql::named(self.0.base.db(), name).await?;
        let missing = || Error::new(Code::NotFound, format!("There is no event {name:?}."));
        Ok(self.described(entries.into_iter().next().ok_or_else(missing)?))
    }

    fn described(&self, entry: RegisteredEvent) -> DescribedEvent {
        let tables = self.0.registry.tables();
        let emit = !events::is_reserved(&entry.event_name);
        let (example, schema) = (example(&tables, &entry), schema(&tables, &entry));
        DescribedEvent { entry, emit, example, schema }
    }

    /// Every event that can happen now: those of the service, of its tables and of its plugins.
    /// The catalogue has those of the past too.
    #[must_use]
    pub fn possible(&self, plugins: &Index) -> Vec<DescribedEvent> {
        self.raised(plugins).into_iter().map(|entry| self.described(entry)).collect()
    }
}

/// Under which plugin the events of visits are registered.
const OF_FUNNELS: &str = "formfunnel";

impl Webhooks {
    /// The events of the core, of tables and of plugins.
    pub(crate) fn raised(&self, plugins: &Index) -> Vec<RegisteredEvent> {
        let system = SYSTEM.iter().map(|known| manual("core", known.name, known.description));
        let funnels = FUNNELS.iter().map(|known| manual(OF_FUNNELS, known.name, known.description));
        let mut raised: Vec<RegisteredEvent> = system.chain(funnels).collect();
        for table in self.0.registry.tables().iter().filter(|table| !table.silent) {
            raised.extend(["created", "updated", "deleted"].map(|act| RegisteredEvent {
                id: 0,
                plugin_id: table.plugin.clone(),
                event_name: format!("item.{}.{act}", table.name),
                event_type: "auto".to_owned(),
                content_table: Some(table.name.clone()),
                description: format!("A record of {} was {act}.", table.name),
            }));
        }
        let events = plugins.events();
        raised.extend(events.map(|(plugin, name, text)| manual(plugin, name, text)));
        raised
    }

    /// Adds these events to the catalogue. Present entries keep their description, so registering
    /// again changes nothing.
    pub(crate) async fn register(&self, plugins: &Index) -> Result<()> {
        let mut wanted = self.raised(plugins);
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
