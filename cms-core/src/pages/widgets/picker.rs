//! Widgets as the picker offers them, their icons, and their components as a front end finds them.

use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
    io::Read as _,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Menu, Widget, WidgetAction, Widgets, builtin};
use crate::{
    Code, Error, Result,
    plugins::{
        MAX_ICON_BYTES, find_component, find_icon,
        manifest::{FieldType, MenuEntry, SelectOption, SelectSource},
        options_of,
    },
};

/// A widget of the picker.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PickedWidget {
    /// Its name.
    pub name: String,
    /// The plugin that brings it; null: it is built in.
    pub plugin: Option<String>,
    /// Its group: one of the service's, or the plugin.
    pub group: String,
    /// The title of the group.
    pub group_title: String,
    /// Title.
    pub title: String,
    /// Second line.
    pub subtitle: Option<String>,
    /// The path of its icon.
    pub icon: String,
    /// Name of the component that shows it.
    pub template: String,
    /// The version of its code; without code that of its group or plugin.
    pub version: String,
    /// Whether its content is more than the stored values.
    pub has_content: bool,
    /// How its plugin's declaration differs from the registered widget; applying the plugin
    /// registers it.
    pub pending: Option<WidgetAction>,
    /// What it asks for.
    pub menu: Vec<PickedField>,
    /// What each item asks for; empty: it has no items.
    pub item_menu: Vec<PickedField>,
}

/// A field of a widget.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PickedField {
    /// The member of `data` that holds the value.
    pub row: String,
    /// How it is edited.
    pub r#type: FieldType,
    /// Label.
    pub label: String,
    /// Options of a select; without them none, or the caller may not read their table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<SelectOption>>,
    /// The content table that the options come from, 500 rows at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Features of AI.
    #[serde(default, rename = "data-aifeature", skip_serializing_if = "Option::is_none")]
    pub ai_feature: Option<String>,
}

/// The components of widgets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Components {
    /// By template: the file in the folder of plugins. Those of built-in widgets are in the theme.
    pub components: BTreeMap<String, String>,
    /// Templates of plugins whose file is not there.
    pub missing: Vec<String>,
}

impl Widgets {
    /// The widgets of the picker. `may_read` says from which tables the caller may get options.
    pub async fn picker(
        &self,
        widgets: &[std::sync::Arc<Widget>],
        may_read: impl Fn(&str) -> bool,
    ) -> Result<Vec<PickedWidget>> {
        let mut options = BTreeMap::new();
        for source in widgets.iter().flat_map(|one| sources(one)).filter(|s| may_read(&s.table)) {
            let Entry::Vacant(room) = options.entry(key(&source)) else { continue };
            match options_of(&self.0.items, &source).await {
                Ok(found) => drop(room.insert(found)),
                Err(error) => {
                    tracing::error!(table = source.table, ?error, "a select has no options");
                }
            }
        }
        let fields = |menu: &Menu| menu.iter().map(|entry| field(entry, &options)).collect();
        let picked = |widget: &std::sync::Arc<Widget>| {
            let provider = self.provider(&widget.name);
            let version = provider.as_ref().map(|provider| provider.version().to_owned());
            PickedWidget {
                name: widget.name.clone(),
                plugin: widget.plugin.clone(),
                group: widget.group.clone(),
                group_title: widget.group_title.clone(),
                title: widget.title.clone(),
                subtitle: widget.subtitle.clone(),
                icon: format!("/api/backend/pagebuilder/icon?widget={}", widget.name),
                template: widget.template.clone(),
                version: version.unwrap_or_else(|| widget.version.clone()),
                has_content: provider.is_some() || has_content(&widget.name),
                pending: self.pending(widget),
                menu: fields(&widget.menu),
                item_menu: fields(&widget.item_menu),
            }
        };
        Ok(widgets.iter().map(picked).collect())
    }

    /// How the declaration of a widget's plugin differs from the registered widget.
    fn pending(&self, widget: &Widget) -> Option<WidgetAction> {
        let manifest = self.0.plugins.manifest(widget.plugin.as_deref()?)?;
        let changes = self.differences(&manifest);
        changes.into_iter().find(|one| one.widget == widget.name).map(|one| one.action)
    }

    /// The components of all widgets, as the folder of plugins contains them now.
    ///
    /// # Errors
    /// `internal_error` when the folder cannot be read.
    pub async fn components(&self) -> Result<Components> {
        let (widgets, folder) = (self.all(), self.0.base.settings().dirs.plugins.clone());
        let look = move || {
            let mut found = Components::default();
            for widget in widgets {
                let (owner, name) = (widget.plugin.as_ref().unwrap_or(&widget.group), &widget.name);
                let path = format!("{owner}/widgets/{name}/template/index.vue");
                let is_there =
                    widget.plugin.is_none() || find_component(&folder, owner, name).is_some();
                match is_there {
                    true => drop(found.components.insert(widget.template.clone(), path)),
                    false => found.missing.push(widget.template.clone()),
                }
            }
            found
        };
        tokio::task::spawn_blocking(look).await.map_err(Error::internal)
    }
}

/// Whether the content of a built-in widget is made without a provider.
fn has_content(widget: &str) -> bool {
    widget == super::ELEMENT || super::pictures::has_picture_data(widget)
}

type Key = (String, String, String);

fn key(source: &SelectSource) -> Key {
    (source.table.clone(), source.value.clone(), source.title.clone())
}

/// The table that a select gets its options from.
fn source(entry: &MenuEntry) -> Option<SelectSource> {
    let source = entry.select_value.as_ref()?;
    let (table, value, title) = (&source.table, &source.value, &source.title);
    Some(SelectSource { table: table.clone()?, value: value.clone()?, title: title.clone()? })
}

fn sources(widget: &Widget) -> impl Iterator<Item = SelectSource> {
    widget.menu.iter().chain(widget.item_menu.iter()).filter_map(source)
}

fn field(entry: &MenuEntry, options: &BTreeMap<Key, Vec<SelectOption>>) -> PickedField {
    let choices = entry.options.as_ref().map(|choices| {
        let option = |id: &serde_json::Value, title: &str| SelectOption {
            value: id.clone(),
            title: title.to_owned(),
        };
        choices.iter().map(|choice| option(&choice.id, &choice.title)).collect()
    });
    let fixed = || Some(entry.select_value.as_ref()?.options.as_ref()?.to_vec());
    let source = source(entry);
    let of_table = || options.get(&key(source.as_ref()?)).cloned();
    // With `options` and `value`, `title` names a member of an option and is no label.
    let title = entry.title.as_ref().filter(|_| entry.options.is_none() || entry.value.is_none());
    let label = entry.placeholder.as_ref().or(title).unwrap_or(&entry.row);
    PickedField {
        row: entry.row.clone(),
        r#type: entry.field_type,
        label: label.clone(),
        options: choices.or_else(fixed).or_else(of_table),
        table: source.as_ref().map(|source| source.table.clone()),
        ai_feature: entry.ai_feature.clone(),
    }
}

/// An icon as it is served. It comes from the program, from a plugin in Rust, or from a file in
/// the folder of its widget. The registry alone decides which file is read, never the request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Icon {
    /// Its name.
    pub file: String,
    /// Its type: of SVG, PNG, JPEG or WebP.
    pub media_type: &'static str,
    /// The file.
    pub content: Cow<'static, [u8]>,
}

impl Widgets {
    /// The icon of a widget.
    ///
    /// # Errors
    /// `not_found` when no such widget is registered, or its file is no longer there or too large.
    pub async fn icon(&self, name: &str) -> Result<Icon> {
        let missing = |what: &str| Error::new(Code::NotFound, format!("There is no {what}."));
        let widget = self.find(name).ok_or_else(|| missing(&format!("widget {name:?}")))?;
        let end = widget.icon.rsplit_once('.').map_or("", |(_, end)| end);
        let media_type = match end {
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "jpg" | "jpeg" => "image/jpeg",
            "webp" => "image/webp",
            _ => return Err(missing("icon of a known type")),
        };
        let content = match &widget.plugin {
            None => builtin::icon(&widget.icon).map(|svg| Cow::Borrowed(svg.as_bytes())),
            Some(plugin) => match self.0.plugins.icon(plugin, &widget.icon) {
                Some(bytes) => Some(Cow::Borrowed(bytes)),
                None => {
                    let folder = self.0.base.settings().dirs.plugins.clone();
                    let (plugin, icon) = (plugin.clone(), widget.icon.clone());
                    let name = widget.name.clone();
                    let read = move || read(&find_icon(&folder, &plugin, &name, &icon)?);
                    tokio::task::spawn_blocking(read).await.map_err(Error::internal)?
                }
            },
        };
        content
            .map(|content| Icon { file: widget.icon.clone(), media_type, content })
            .ok_or_else(|| missing(&format!("file {} of the widget {name}", widget.icon)))
    }
}

/// Reads a file, unless it has become too large.
fn read(path: &std::path::Path) -> Option<Cow<'static, [u8]>> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MAX_ICON_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_ICON_BYTES).then_some(Cow::Owned(bytes))
}
