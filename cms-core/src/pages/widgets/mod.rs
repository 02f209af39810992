//! Widgets of the page builder: the kinds that can be placed on a page, the fields that each asks
//! its editor for, and the content that it shows besides.
//!
//! ```text
//! builtin   the widgets of the service: a JSON file for each group; icons; content of some
//! content   what placed widgets show beside their values
//! pictures  texts and sizes of pictures in that content
//! picker    widgets as editors choose them; their icons; components of templates
//! register  what the database knows of widgets, refreshed when plugins are installed
//! values    values of a placed widget, checked by its menu
//! ```

mod builtin;
mod content;
mod picker;
mod pictures;
mod register;
pub(crate) mod values;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, RwLock},
};

use arc_swap::ArcSwap;
use serde_json::{Map, Value as Json};

pub use self::values::address as address_of;
pub(crate) use builtin::choices;
pub use picker::{Components, Icon, PickedField, PickedWidget};
pub use register::{WidgetAction, WidgetChange};

pub(super) use self::content::{DEADLINE, MOST_BYTES as MOST_CONTENT, size};
pub(crate) use self::register::{Refresh, sql};
use crate::{
    Result,
    base::Base,
    items::Items,
    plugins::{
        MOST_COLUMNS, Plugins, WIDGET_COLUMNS, WidgetContent,
        manifest::{self, FieldType, List, MenuEntry},
    },
};

/// The widget that shows the rows of another page. `fill.rs` fills it.
pub(super) const ELEMENT: &str = "pagebuilder_element";

/// The fields that a widget, or each of its items, asks for.
pub type Menu = List<MenuEntry>;

/// A kind of widget, as registered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Widget {
    /// Its name, which is unique.
    pub name: String,
    /// The plugin that declares it; `None`: it is built in.
    pub plugin: Option<String>,
    /// Its group in the picker: one of the service's groups, or the plugin.
    pub group: String,
    /// The title of the group.
    pub group_title: String,
    /// Title in the picker.
    pub title: String,
    /// Second line in the picker.
    pub subtitle: Option<String>,
    /// The file of its icon.
    pub icon: String,
    /// The name of the component that shows it.
    pub template: String,
    /// The fields that it asks for.
    pub menu: Menu,
    /// The fields of each item of a repeater; empty: it has no items.
    pub item_menu: Menu,
    /// The version of its group or plugin.
    pub version: String,
}

impl Widget {
    /// Builds a widget from its declaration.
    fn new(
        plugin: Option<&str>,
        (group, group_title): (&str, &str),
        version: &str,
        declared: manifest::WidgetDeclaration,
    ) -> Self {
        Self {
            name: declared.widget_template.clone(),
            plugin: plugin.map(str::to_owned),
            group: group.to_owned(),
            group_title: group_title.to_owned(),
            title: declared.widget_title,
            subtitle: declared.widget_subtitle,
            icon: declared.widget_icon,
            template: declared.widget_template,
            menu: declared.widget_menu,
            item_menu: declared.widget_item_menu,
            version: version.to_owned(),
        }
    }

    /// The stored text of a column as JSON; null for a password.
    #[must_use]
    pub fn shown(&self, column: &str, text: &str) -> Json {
        values::shown(Some(&self.menu), column, text)
    }

    /// Whether it has items.
    #[must_use]
    pub fn is_repeater(&self) -> bool {
        !self.item_menu.is_empty()
    }

    /// The columns that hold its values and those of its items.
    fn rows(&self) -> impl Iterator<Item = &str> {
        self.menu.iter().chain(self.item_menu.iter()).map(|entry| entry.row.as_str())
    }
}

/// The registered widgets of a site: `cms.pages().widgets()`. Clones share them.
#[derive(Clone)]
pub struct Widgets(Arc<Inner>);

struct Inner {
    base: Base,
    items: Items,
    plugins: Plugins,
    /// The providers of the content of built-in widgets.
    own: RwLock<Vec<Arc<dyn WidgetContent>>>,
    known: ArcSwap<Registry>,
}

/// The widgets at one moment.
#[derive(Debug, Default)]
struct Registry {
    /// The widgets in service, in the order of the picker.
    listed: Vec<Arc<Widget>>,
    by_name: BTreeMap<String, Arc<Widget>>,
    /// All columns that registered widgets use, as far as one statement can name them.
    columns: Vec<String>,
    /// All registered widgets, also those of plugins out of service.
    registered: Vec<Widget>,
}

impl Widgets {
    pub(super) fn new(base: &Base, items: &Items, plugins: &Plugins) -> Self {
        let known = ArcSwap::from_pointee(Registry::new(builtin::all().to_vec(), |_| true));
        let footer: Arc<dyn WidgetContent> = Arc::new(builtin::FooterLinks(base.clone()));
        let own = RwLock::new(vec![footer, Arc::new(builtin::Jobs(base.clone()))]);
        let (base, items, plugins) = (base.clone(), items.clone(), plugins.clone());
        Self(Arc::new(Inner { base, items, plugins, own, known }))
    }

    /// The widgets that can be placed, in the order of the picker: built-in ones first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Widget>> {
        self.0.known.load().listed.clone()
    }

    /// The widget of this name, if it can be placed.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<Widget>> {
        self.0.known.load().by_name.get(name).cloned()
    }

    /// The registered widget of this name, also while its plugin is out of service.
    pub(super) fn registered(&self, name: &str) -> Option<Arc<Widget>> {
        let known = self.0.known.load();
        let other = || known.registered.iter().find(|widget| widget.name == name);
        known.by_name.get(name).cloned().or_else(|| other().cloned().map(Arc::new))
    }

    /// The value columns of the tables of placed widgets and of their items: [`WIDGET_COLUMNS`],
    /// then those that plugins have added.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        self.0.known.load().columns.clone()
    }

    /// The password columns of a widget and of its items, also while its plugin is out of service.
    pub(super) fn passwords(&self, name: &str) -> [BTreeSet<String>; 2] {
        let known = self.0.known.load();
        let found = known.registered.iter().find(|widget| widget.name == name);
        let secret = |menu: &Menu| {
            let entries = menu.iter().filter(|entry| entry.field_type == FieldType::Password);
            entries.map(|entry| entry.row.clone()).collect()
        };
        found.map_or_else(Default::default, |widget| {
            [secret(&widget.menu), secret(&widget.item_menu)]
        })
    }

    /// Checks values against a menu. Returns them in canonical form, with passwords sealed. Null
    /// clears a value.
    ///
    /// # Errors
    /// `validation_failed` with every unknown column and every invalid value.
    pub fn check(&self, menu: &Menu, data: &Map<String, Json>) -> Result<Map<String, Json>> {
        values::sealed(menu, values::check(menu, data)?, self.0.base.vault())
    }
}

impl Registry {
    /// `serves` says whether a plugin is in service.
    fn new(registered: Vec<Widget>, serves: impl Fn(&str) -> bool) -> Self {
        let in_service = |widget: &Widget| widget.plugin.as_deref().is_none_or(&serves);
        // Widgets out of service get the remaining room, so that drafts stay readable.
        let (served, others): (Vec<_>, Vec<_>) = registered.iter().partition(|one| in_service(one));
        let mut more = BTreeSet::new();
        for row in served.into_iter().chain(others).flat_map(Widget::rows) {
            if more.len() < MOST_COLUMNS && !WIDGET_COLUMNS.contains(&row) {
                more.insert(row);
            }
        }
        let own = WIDGET_COLUMNS.into_iter();
        let columns: Vec<String> = own.chain(more).map(str::to_owned).collect();
        let listed = registered.iter().filter(|widget| in_service(widget)).cloned().map(Arc::new);
        let listed: Vec<_> = listed.collect();
        let by_name = listed.iter().map(|widget| (widget.name.clone(), widget.clone())).collect();
        Self { listed, by_name, columns, registered }
    }
}
