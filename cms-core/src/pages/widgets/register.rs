//! Updates the registered widgets: built-in ones when the service starts, those of a plugin when
//! it is installed or installed again. Changes in a plugin's declaration wait for that.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Registry, Widget, Widgets, builtin};
use crate::{
    Actor, AuditEntry, Change, Code, Error, Result,
    content::{columns, install, resolve},
    db::{Lock, PerEngine},
    plugins::{Manifest, Names, Problem, installed, names},
};

/// The tables whose columns hold the values of menus.
const TABLES: [&str; 2] = ["cms_page_row_col_widget", "cms_page_widget_item"];

/// Waits until no change writes pages, and blocks such changes until the transaction ends. `None`:
/// on this engine a writing transaction excludes all others anyway.
const HOLD_PAGES: PerEngine<Option<&str>> =
    PerEngine { sqlite: None, postgres: Some("lock table cms_pages in share row exclusive mode") };

/// Which widgets a load registers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refresh<'a> {
    /// No widgets: the load writes nothing.
    Nothing,
    /// The widgets of the service, and of plugins that have none registered.
    New,
    /// The widgets of the service, and of this plugin or of all.
    Again(Option<&'a str>),
}

/// A widget whose declaration differs from what is registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct WidgetChange {
    /// The name of the widget.
    pub widget: String,
    /// What installing the plugin again does to it.
    pub action: WidgetAction,
}

/// What becomes of a registered widget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WidgetAction {
    /// It is declared and not registered.
    Add,
    /// It is registered with other members.
    Change,
    /// It is registered and declared no longer.
    Remove,
}

impl WidgetAction {
    /// The name of the action, as a step of a plugin.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add_widget",
            Self::Change => "change_widget",
            Self::Remove => "remove_widget",
        }
    }
}

impl Widgets {
    /// Reads the registered widgets, after updating them as `refresh` says. `plugins` are those in
    /// service. Returns the plugins whose widgets the database refuses, each with the reason.
    pub(crate) async fn load(
        &self,
        plugins: &[Arc<Manifest>],
        refresh: Refresh<'_>,
    ) -> Result<Vec<(String, Error)>> {
        let db = self.0.base.db();
        let mut registered = sql::registered(db).await?;
        let declared: Vec<_> = plugins.iter().map(|plugin| declared(plugin)).collect();
        let is_due = |plugin: &Manifest| match refresh {
            Refresh::Nothing => false,
            Refresh::New => !registered.iter().any(|widget| is_of(widget, Some(&plugin.id))),
            Refresh::Again(only) => only.is_none_or(|only| only == plugin.id),
        };
        let mut todo: Vec<(Option<&Manifest>, &[Widget])> = Vec::new();
        if !matches!(refresh, Refresh::Nothing) {
            todo.push((None, builtin::all()));
        }
        let due = plugins.iter().zip(&declared).filter(|(plugin, _)| is_due(plugin));
        todo.extend(due.map(|(plugin, widgets)| (Some(&**plugin), widgets.as_slice())));
        todo.retain(|(plugin, widgets)| {
            !differences(&registered, plugin.map(|one| one.id.as_str()), widgets).is_empty()
        });
        let (is_any, mut refused) = (!todo.is_empty(), Vec::new());
        for (plugin, widgets) in todo {
            match (self.register(&registered, plugin, widgets).await, plugin) {
                (Ok(()), _) => {}
                (Err(error), Some(plugin)) if error.code() != Code::Unavailable => {
                    refused
                        .push((plugin.id.clone(), install::with_engine_message(&plugin.id, error)));
                }
                (Err(error), _) => return Err(error),
            }
        }
        if is_any {
            registered = sql::registered(db).await?;
        }
        let is_refused = |id: &str| refused.iter().any(|(other, _)| other == id);
        let served = plugins.iter().zip(&declared).filter(|(plugin, _)| !is_refused(&plugin.id));
        for (plugin, widgets) in served {
            let changes = differences(&registered, Some(&plugin.id), widgets);
            if !changes.is_empty() {
                let names: Vec<_> = changes.iter().map(|one| one.widget.as_str()).collect();
                let (plugin, names) = (&plugin.id, names.join(", "));
                let remedy = format!("`cms plugins apply {plugin}` registers them");
                tracing::warn!(plugin, widgets = names, "its widgets have changed: {remedy}");
            }
        }
        // A database that was not updated yet may lack some.
        let missing = builtin::all().iter();
        let missing = missing.filter(|one| !registered.iter().any(|other| other.name == one.name));
        let missing: Vec<_> = missing.cloned().collect();
        registered.extend(missing);
        let place = |widget: &Widget| {
            let built_in = builtin::all().iter().position(|one| one.name == widget.name);
            (widget.plugin.clone(), built_in)
        };
        registered.sort_by_cached_key(place);
        let serves = |id: &str| plugins.iter().any(|plugin| plugin.id == id);
        self.0.known.store(Arc::new(Registry::new(registered, serves)));
        Ok(refused)
    }

    /// Registers the widgets of a plugin, or of the service, in a change of its own: when the
    /// database refuses them, other plugins are still served. Claims the names of the plugin, so
    /// that no other process overwrites its widgets before it is recorded.
    async fn register(
        &self,
        registered: &[Widget],
        plugin: Option<&Manifest>,
        widgets: &[Widget],
    ) -> Result<()> {
        let mut change = self.begin(registered, plugin, widgets).await?;
        change.announce(installed::TABLE);
        change.commit().await
    }

    /// As [`Widgets::register`], without the commit.
    async fn begin(
        &self,
        registered: &[Widget],
        plugin: Option<&Manifest>,
        widgets: &[Widget],
    ) -> Result<Change> {
        exposed(registered, widgets).map_or(Ok(()), Err)?;
        let mut change = self.0.base.change(Actor::System).await?;
        change.lock(Lock::SCHEMA).await?;
        if let Some(plugin) = plugin {
            let clashes = Names::load(&mut change).await?.clashes(plugin);
            if !clashes.is_empty() {
                let told: Vec<_> = clashes.iter().map(Problem::to_string).collect();
                return Err(resolve::load_error(told.join(" ")));
            }
            // A plugin removed meanwhile has given up its names.
            if !installed::is_removed(&mut change, &plugin.id).await? {
                names::claim(&mut change, plugin).await?;
            }
        }
        let plugin = plugin.map(|plugin| plugin.id.as_str());
        register(&mut change, registered, plugin, widgets).await?;
        Ok(change)
    }

    /// Why the database refuses the widgets of a plugin, tried in a change that is taken back.
    /// `again`: this load also registers those of a plugin that has some registered.
    pub(crate) async fn refusal(&self, plugin: &Manifest, again: bool) -> Result<Option<Error>> {
        let registered = sql::registered(self.0.base.db()).await?;
        let (id, widgets) = (Some(plugin.id.as_str()), declared(plugin));
        let is_due = again || !registered.iter().any(|widget| is_of(widget, id));
        if !is_due || differences(&registered, id, &widgets).is_empty() {
            return Ok(None);
        }
        match self.begin(&registered, Some(plugin), &widgets).await {
            Err(error) if error.code() != Code::Unavailable => {
                Ok(Some(install::with_engine_message(&plugin.id, error)))
            }
            // Dropped without a commit.
            _ => Ok(None),
        }
    }

    /// The columns that registered widgets of plugins use, by plugin, whether in service or not.
    pub(crate) async fn rows_of_plugins(&self) -> Result<BTreeMap<String, BTreeSet<String>>> {
        let mut rows = BTreeMap::<String, BTreeSet<String>>::new();
        for widget in sql::registered(self.0.base.db()).await? {
            let Some(plugin) = &widget.plugin else { continue };
            rows.entry(plugin.clone()).or_default().extend(widget.rows().map(str::to_owned));
        }
        Ok(rows)
    }

    /// The columns of each table that holds values of widgets.
    pub(crate) async fn columns_made(&self) -> Result<[Vec<String>; 2]> {
        let db = self.0.base.db();
        let [widgets, items] = TABLES;
        Ok([db.columns_of(widgets).await?, db.columns_of(items).await?])
    }

    /// The changes that installing a plugin again would make to its widgets.
    #[must_use]
    pub fn differences(&self, plugin: &Manifest) -> Vec<WidgetChange> {
        differences(&self.0.known.load().registered, Some(&plugin.id), &declared(plugin))
    }
}

/// The widgets that a plugin declares.
fn declared(plugin: &Manifest) -> Vec<Widget> {
    let title = if plugin.name.is_empty() { &plugin.id } else { &plugin.name };
    let group = (plugin.id.as_str(), title.as_str());
    let widgets = plugin.pagebuilder_widgets.iter().cloned();
    widgets.map(|widget| Widget::new(Some(&plugin.id), group, &plugin.version, widget)).collect()
}

fn is_of(widget: &Widget, plugin: Option<&str>) -> bool {
    widget.plugin.as_deref() == plugin
}

/// The changes that registering the widgets of a plugin, or of the service, would make.
fn differences(
    registered: &[Widget],
    plugin: Option<&str>,
    wanted: &[Widget],
) -> Vec<WidgetChange> {
    let before = |name: &str| registered.iter().find(|widget| widget.name == name);
    let change = |widget: &Widget, action| WidgetChange { widget: widget.name.clone(), action };
    let news = wanted.iter().filter_map(|widget| match before(&widget.name) {
        Some(known) if known == widget => None,
        Some(known) if is_of(known, plugin) => Some(change(widget, WidgetAction::Change)),
        _ => Some(change(widget, WidgetAction::Add)),
    });
    let is_wanted = |known: &&Widget| wanted.iter().any(|widget| widget.name == known.name);
    let gone = registered.iter().filter(|known| is_of(known, plugin) && !is_wanted(known));
    news.chain(gone.map(|widget| change(widget, WidgetAction::Remove))).collect()
}

/// Refuses widgets that would show text that was sealed as a password.
fn exposed(registered: &[Widget], wanted: &[Widget]) -> Option<Error> {
    wanted.iter().find_map(|widget| {
        let was = registered.iter().find(|one| one.name == widget.name)?;
        let menus = [(&was.menu, &widget.menu), (&was.item_menu, &widget.item_menu)];
        let find = |(was, now)| installed::exposed_entry(was, now).map(|at| &now[at].row);
        let row = menus.into_iter().find_map(find)?;
        let why = format!("widget {}: {}", widget.name, installed::exposure(row));
        Some(Error::new(Code::ValidationFailed, why))
    })
}

async fn register(
    change: &mut Change,
    registered: &[Widget],
    plugin: Option<&str>,
    wanted: &[Widget],
) -> Result<()> {
    for one in differences(registered, plugin, wanted) {
        match wanted.iter().position(|widget| widget.name == one.widget) {
            Some(place) => sql::register(change, &wanted[place], place).await?,
            None => sql::forget(change, &one.widget).await?,
        }
    }
    let Some(plugin) = plugin else { return Ok(()) };
    let rows: BTreeSet<_> = wanted.iter().flat_map(Widget::rows).collect();
    let mut lacking = Vec::new();
    for table in TABLES {
        lacking.push((table, columns::lacking(change, table, &rows).await?));
    }
    lacking.retain(|(_, names)| !names.is_empty());
    // An edit of a draft locks the row of its page first, then these tables in another order.
    if let Some(hold) = change.dialect().of(&HOLD_PAGES).filter(|_| !lacking.is_empty()) {
        change.script(hold).await?;
    }
    for (table, names) in lacking {
        columns::add(change, table, &names).await?;
    }
    let table = "cms_page_widgets";
    change.audit(AuditEntry { action: "register", table, id: plugin, columns: &[] }).await
}

/// The statements of the registry of widgets.
pub(crate) mod sql {
    use super::Widget;
    use crate::{
        Change, Error, Result,
        db::{Db, args, read, record, statements},
    };

    record! { Widget: widget_columns {
        name: "name",
        plugin: "plugin",
        group: "widget_group",
        group_title: "group_title",
        title: "title",
        subtitle: "subtitle",
        icon: "icon",
        template: "template",
        menu: "menu" => read::json,
        item_menu: "item_menu" => read::json,
        version: "version",
    } }

    statements! {
        REGISTERED =
            concat!("select ", widget_columns!(), " from cms_page_widgets order by sort_order");
        REGISTER = concat!("insert into cms_page_widgets (", widget_columns!(), ", sort_order) \
                            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
                            on conflict (name) do update set plugin = excluded.plugin, \
                            widget_group = excluded.widget_group, \
                            group_title = excluded.group_title, title = excluded.title, \
                            subtitle = excluded.subtitle, icon = excluded.icon, \
                            template = excluded.template, menu = excluded.menu, \
                            item_menu = excluded.item_menu, version = excluded.version, \
                            sort_order = excluded.sort_order");
        FORGET = "delete from cms_page_widgets where name = $1";
    }

    /// Every registered widget.
    pub(super) async fn registered(db: &Db) -> Result<Vec<Widget>> {
        db.all(REGISTERED, args![]).await
    }

    /// Registers a widget at this place among the widgets of its plugin.
    pub(super) async fn register(change: &mut Change, widget: &Widget, place: usize) -> Result<()> {
        let text = |menu| serde_json::to_string(menu).map_err(Error::internal);
        let args = args![
            &widget.name,
            widget.plugin.as_deref(),
            &widget.group,
            &widget.group_title,
            &widget.title,
            widget.subtitle.as_deref(),
            &widget.icon,
            &widget.template,
            text(&widget.menu)?,
            text(&widget.item_menu)?,
            &widget.version,
            place as i64
        ];
        change.run(REGISTER, args).await.map(drop)
    }

    pub(super) async fn forget(change: &mut Change, name: &str) -> Result<()> {
        change.run(FORGET, args![name]).await.map(drop)
    }
}
