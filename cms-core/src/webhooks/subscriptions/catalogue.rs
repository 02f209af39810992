//! The catalogue: the events that a subscription can name, each with an example and the JSON
//! Schema of the body that receivers get.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::{
    Actor, Code, Error, FieldError, Page, Result,
    content::{Column, Table, Tables},
    db::args,
    events::{self, FUNNELS, ItemData, SYSTEM, find_entry, is_removed, of_delivery, schema as of},
    items::{Query, event_data},
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
    /// The catalogue, a page at a time. Conditions and orders name `id`, `plugin_id`, `event_name`,
    /// `event_type`, `content_table` and `description`.
    pub async fn events(&self, query: &Query) -> Result<Page<RegisteredEvent>> {
        let key = |event: &RegisteredEvent| event.id;
        sql::LIST.page(&self.0.base, query, Vec::new(), key).await
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
    /// Removes the columns of the event's table, for callers that may not read the table.
    pub fn hide_record(&mut self) {
        self.example = None;
        if let Some(record) = self.schema.pointer_mut("/properties/data/properties/record") {
            *record = json!({"type": "object"});
        }
    }
}

impl Webhooks {
    /// One event.
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

    /// Every event that can happen now: events of the service, its tables and its plugins. The
    /// catalogue also lists events that can no longer happen.
    #[must_use]
    pub fn possible(&self, plugins: &Index) -> Vec<DescribedEvent> {
        self.raised(plugins).into_iter().map(|entry| self.described(entry)).collect()
    }
}

/// The plugin under which the events of visits are registered.
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

    /// Adds these events to the catalogue. Existing entries keep their description, so registering
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
        let names: Vec<(String, String)> = self.0.base.db().all(sql::REGISTERED, args![]).await?;
        Ok(names.into_iter().collect())
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

/// The schema of the body of a delivery. The schema of an item's event comes from its table as it
/// is now.
fn schema(tables: &Tables, event: &RegisteredEvent) -> Json {
    let name = event.event_name.as_str();
    let data = match (&event.content_table, find_entry(name)) {
        (Some(table), _) => item_schema(tables.find(table).as_deref(), name.ends_with(".updated")),
        (None, Some(known)) => known.schema().clone(),
        (None, None) => {
            json!({"description": format!("What {} tells of it.", event.plugin_id)})
        }
    };
    of_delivery(name, &event.description, data)
}

/// The schema of a record's event. A table that no longer exists could have had any columns.
fn item_schema(table: Option<&Table>, is_update: bool) -> Json {
    let mut schema = of::<ItemData<'_>>();
    let Some(table) = table else { return schema };
    schema["properties"]["table"] = json!({"const": table.name});
    schema["properties"]["record"] = record(table);
    if let (true, Some(names)) = (is_update, schema["required"].as_array_mut()) {
        names.push("changed".into());
    }
    if let (false, Some(members)) = (is_update, schema["properties"].as_object_mut()) {
        members.remove("changed");
    }
    schema
}

/// No column is required: a retry sends the original body, which lacks columns added since.
fn record(table: &Table) -> Json {
    let properties: Map<String, Json> = payload_columns(table)
        .map(|column| (column.name.clone(), column.schema(table.adopted, true)))
        .collect();
    json!({
        "type": "object",
        "description": format!("A record of {}, declared by {}.", table.name, table.plugin),
        "properties": properties,
    })
}

/// An example of an event's data; `None` when only the program that raises the event
/// knows its data.
fn example(tables: &Tables, event: &RegisteredEvent) -> Option<Json> {
    match &event.content_table {
        Some(table) => {
            let is_update = event.event_name.ends_with(".updated");
            tables.find(table).map(|table| item_example(&table, is_update))
        }
        None => find_entry(&event.event_name).map(|known| known.example()),
    }
}

fn item_example(table: &Table, is_update: bool) -> Json {
    let columns = payload_columns(table);
    let record: Json = columns
        .clone()
        .map(|column| (column.name.clone(), column.example()))
        .collect::<Map<_, _>>()
        .into();
    let mut key: Vec<_> = table.key_columns().map(Column::example).collect();
    let id = if key.len() == 1 { key.remove(0) } else { key.into() };
    let language = table.multilanguage.then_some("en");
    let last = || columns.map(|column| column.name.clone()).rfind(|name| name != "id");
    let changed = is_update.then(|| last().into_iter().collect());
    event_data(table, &id, language, &record, changed)
}

/// The columns that events contain.
fn payload_columns(table: &Table) -> impl DoubleEndedIterator<Item = &Column> + Clone {
    table.columns.iter().filter(|column| column.readable() && !is_removed(&column.name))
}

/// Statements of the catalogue of events.
pub(in crate::webhooks) mod sql {
    use super::RegisteredEvent;
    use crate::{
        Change, Result,
        change::Reader,
        db::{Statement, args, record, statements},
        events::is_name,
        items::{Made, OwnColumn, RowList},
    };

    record! { RegisteredEvent: event_columns {
        id: "id",
        plugin_id: "plugin_id",
        event_name: "event_name",
        event_type: "event_type",
        content_table: "content_table",
        description: "description",
    } }

    /// The catalogue as a list.
    pub(crate) static LIST: RowList = RowList {
        name: "The list of events",
        table: "cms_webhook_events",
        columns: &[
            OwnColumn::integer("id"),
            OwnColumn::text("plugin_id").searched(),
            OwnColumn::text("event_name").searched(),
            OwnColumn::text("event_type"),
            OwnColumn::text("content_table").nullable(),
            OwnColumn::text("description").searched(),
        ],
        rows: Statement::new(
            concat!(module_path!(), "::LIST"),
            concat!("select ", event_columns!(), " from cms_webhook_events where id in"),
        ),
        made: Made::new(),
    };

    statements! {
        REGISTER = "insert into cms_webhook_events \
                    (plugin_id, event_name, event_type, content_table, description) \
                    values ($1, $2, $3, $4, $5) on conflict (plugin_id, event_name) do nothing";
        REGISTERED = "select plugin_id, event_name from cms_webhook_events";
        NAMED = concat!(
            "select ", event_columns!(), " from cms_webhook_events where event_name = $1 order by \
             id"
        );
    }

    pub(super) async fn register(change: &mut Change, event: &RegisteredEvent) -> Result<bool> {
        let args = args![
            &event.plugin_id,
            &event.event_name,
            &event.event_type,
            event.content_table.clone(),
            &event.description
        ];
        Ok(change.run(REGISTER, args).await? > 0)
    }

    /// Entries with this name: several plugins may raise the same event.
    pub(in crate::webhooks) async fn named(
        from: impl Into<Reader<'_>>,
        name: &str,
    ) -> Result<Vec<RegisteredEvent>> {
        // No engine stores other names, and PostgreSQL refuses to compare with them.
        if !is_name(name) {
            return Ok(Vec::new());
        }
        from.into().all(NAMED, args![name]).await
    }
}
