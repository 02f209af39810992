//! Buttons as a user sees them, with permissions, status, languages and options applied.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Index, Manifest,
    manifest::{
        Button, ButtonType, ButtonValues, FieldType, ForStatus, List, SelectOption, SelectSource,
        Style,
    },
};
use crate::{
    Result,
    access::HeldPermissions,
    items::{Items, Query, Record},
};

/// Maximum number of options of a select.
const MAX_OPTIONS: u32 = 500;

/// The viewer of buttons, with what is needed to show them.
pub struct ButtonViewer<'a> {
    /// Reads the options of selects.
    pub items: &'a Items,
    /// The permissions that count for `can_execute`.
    pub rights: &'a HeldPermissions,
    /// Whether every button is visible, because the caller is not a user.
    pub sees_all: bool,
    /// Whether the caller may read a table without the rights that buttons give.
    pub may_read: Box<dyn Fn(&str) -> bool + Send + Sync + 'a>,
    /// The languages of the site.
    pub languages: &'a [String],
    /// The permission keys that a checklist of groups offers.
    pub index: Arc<Index>,
}

/// A button as a user sees it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShownButton {
    /// Its id.
    pub button_id: String,
    /// What it does.
    pub r#type: ButtonType,
    /// The list it stands in: `content_button` (rows), `action_button` or `header_buttons`
    /// (headers), `buttons` when nested.
    pub placement: String,
    /// Whether the caller may use it; otherwise it is only visible.
    pub can_execute: bool,
    /// Colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Name of the icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// Label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Help text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_text: Option<String>,
    /// Label of the submit button.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_text: Option<String>,
    /// The status of rows that show it, by the rule of `parseInt`.
    #[serde(default, rename = "forStatus", skip_serializing_if = "Option::is_none")]
    pub for_status: Option<ForStatus>,
    /// The table it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The languages of its form; empty without language tabs.
    #[serde(default)]
    pub languages: Vec<String>,
    /// The fields of its form.
    #[serde(default)]
    pub editable_rows: Vec<ShownField>,
    /// What it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<ButtonValues>,
    /// The options of a checklist: the `enum` of its column, or of `user_groups.rights` the
    /// permission keys that the caller may pass on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<SelectOption>>,
    /// The modal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// The address of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The buttons on the rows of the list that it opens.
    #[serde(default)]
    pub buttons: Vec<ShownButton>,
}

/// A field of a form, with its options.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShownField {
    /// The column.
    pub column: String,
    /// How it is edited.
    pub r#type: FieldType,
    /// Label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// The options of a select: fixed ones, or the first 500 rows of its table by title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<SelectOption>>,
    /// Features of AI.
    #[serde(default, rename = "data-aifeature", skip_serializing_if = "Option::is_none")]
    pub ai_feature: Option<String>,
}

/// The status that a row has in each table. None: the table has no such row.
pub type RowStatuses = BTreeMap<String, Option<Json>>;

/// The options of each source.
type Options = BTreeMap<(String, String, String), Vec<SelectOption>>;

impl ButtonViewer<'_> {
    /// Whether the caller sees a button.
    #[must_use]
    pub fn sees(&self, plugin: &str, button: &str) -> bool {
        self.sees_all || self.may(plugin, button, "view")
    }

    fn may(&self, plugin: &str, button: &str, act: &str) -> bool {
        self.rights.may_use(plugin, &format!("{plugin}_{button}_{act}"))
    }

    /// The tables of the rows that visible buttons write, or whose status they depend on. If there
    /// are none, the plugin's first table.
    #[must_use]
    pub fn row_tables<'m>(&self, manifest: &'m Manifest) -> BTreeSet<&'m str> {
        let first = manifest.first_table();
        let buttons = manifest.content_button.iter();
        let buttons = buttons.filter(|button| self.sees(&manifest.id, &button.button_id));
        let asked = |button: &'m Button| button.for_status.as_ref().and(first);
        let tables = buttons.filter_map(|one| one.row_table(first).or_else(|| asked(one)));
        // A checklist may write groups of users, which are not content.
        let tables: BTreeSet<_> = tables.filter(|table| *table != "user_groups").collect();
        if tables.is_empty() { first.into_iter().collect() } else { tables }
    }

    /// The buttons of a plugin that the caller sees. Buttons on rows are shown for the given
    /// statuses of a row in [`ButtonViewer::row_tables`]. A source that cannot be read gives
    /// no options.
    pub async fn buttons(
        &self,
        manifest: &Manifest,
        row: Option<&RowStatuses>,
    ) -> Vec<ShownButton> {
        let options = self.options(manifest).await;
        let mut shown = Vec::new();
        for (placement, header, list) in manifest.button_lists() {
            let row = row.filter(|_| !header);
            let table = manifest.first_table();
            shown.extend(self.list(manifest, list, placement, table, row, &options));
        }
        shown
    }

    /// The buttons on the rows of the list that a button opens.
    pub async fn nested(&self, manifest: &Manifest, button: &str) -> Vec<ShownButton> {
        let Some(button) = manifest.button(button) else { return Vec::new() };
        let options = self.options(manifest).await;
        let table = button.values.as_ref().and_then(|values| values.table.as_deref());
        self.list(manifest, &button.buttons, "buttons", table, None, &options)
    }

    fn list(
        &self,
        manifest: &Manifest,
        list: &List<Button>,
        placement: &str,
        listed: Option<&str>,
        row: Option<&RowStatuses>,
        options: &Options,
    ) -> Vec<ShownButton> {
        let visible = list.iter().filter(|button| {
            self.sees(&manifest.id, &button.button_id)
                && row.is_none_or(|statuses| is_on(statuses, button, listed))
        });
        visible
            .map(|button| {
                let nested = button.values.as_ref().and_then(|values| values.table.as_deref());
                let buttons =
                    self.list(manifest, &button.buttons, "buttons", nested, None, options);
                self.button(manifest, button, placement, listed, buttons, options)
            })
            .collect()
    }

    fn button(
        &self,
        manifest: &Manifest,
        button: &Button,
        placement: &str,
        listed: Option<&str>,
        buttons: Vec<ShownButton>,
        options: &Options,
    ) -> ShownButton {
        let kind = button.button_type;
        let writes = matches!(kind, ButtonType::Edit | ButtonType::Insert | ButtonType::Delete);
        let table = button.table_of(listed);
        let fields = button.editable_rows.iter().map(|field| ShownField {
            column: field.column.clone(),
            r#type: field.field_type,
            placeholder: field.placeholder.clone(),
            options: match (&field.select_options, &field.select_value) {
                (Some(fixed), _) => Some(fixed.to_vec()),
                (None, Some(source)) => options.get(&key(source)).cloned(),
                (None, None) => table.and_then(|table| self.of_enum(table, &field.column)),
            },
            ai_feature: field.ai_feature.clone(),
        });
        ShownButton {
            button_id: button.button_id.clone(),
            r#type: kind,
            placement: placement.to_owned(),
            can_execute: self.may(&manifest.id, &button.button_id, "edit"),
            style: button.style,
            icon: button.icon.clone(),
            title: button.title.clone(),
            support_text: button.support_text.clone(),
            submit_text: button.submit_text.clone(),
            for_status: button.for_status.clone(),
            table: table.filter(|_| writes).map(str::to_owned),
            languages: if button.multilanguage.0 { self.languages.to_vec() } else { Vec::new() },
            editable_rows: fields.collect(),
            values: button.values.clone(),
            options: self.of_checklist(button),
            component: button.component.clone(),
            url: button.url.clone(),
            buttons,
        }
    }

    /// The options of a checklist.
    fn of_checklist(&self, button: &Button) -> Option<Vec<SelectOption>> {
        let is_checklist = button.button_type == ButtonType::ShowChecklist;
        let values = button.values.as_ref().filter(|_| is_checklist)?;
        let (table, column) = (values.table.as_deref()?, values.column.as_deref()?);
        if table != "user_groups" {
            return self.of_enum(table, column);
        }
        let keys = self.index.grantable().into_iter();
        let held = keys.filter(|(key, plugin)| self.rights.may_use(plugin, key));
        Some(held.map(|(key, _)| option(key.into())).collect())
    }

    /// The values of a column's `enum` as options.
    fn of_enum(&self, table: &str, column: &str) -> Option<Vec<SelectOption>> {
        let table = self.items.table(table).ok()?;
        let column = table.columns.iter().find(|one| one.name == column)?;
        Some(column.enum_values()?.into_iter().map(option).collect())
    }

    async fn options(&self, manifest: &Manifest) -> Options {
        let mut options = Options::new();
        for (_, button) in manifest.buttons() {
            if !self.sees(&manifest.id, &button.button_id) {
                continue;
            }
            let sources = button.editable_rows.iter().filter_map(|f| f.select_value.as_ref());
            for source in sources.filter(|source| (self.may_read)(&source.table)) {
                let Entry::Vacant(room) = options.entry(key(source)) else { continue };
                match options_of(self.items, source).await {
                    Ok(found) => drop(room.insert(found)),
                    Err(error) => {
                        let (plugin, table) = (&manifest.id, &source.table);
                        tracing::error!(plugin, table, ?error, "a select has no options");
                        room.insert(Vec::new());
                    }
                }
            }
        }
        options
    }
}

/// Whether a row shows a button, judged by the status of the row in the button's own table.
fn is_on(statuses: &RowStatuses, button: &Button, listed: Option<&str>) -> bool {
    let written = button.row_table(listed);
    let status = written.or(listed).and_then(|table| statuses.get(table));
    if written.is_some() && status == Some(&None) {
        return false;
    }
    let status = status.and_then(Option::as_ref);
    button.for_status.as_ref().is_none_or(|rule| rule.shows(status))
}

/// The options from a table, sorted by title.
pub(crate) async fn options_of(items: &Items, source: &SelectSource) -> Result<Vec<SelectOption>> {
    let mut fields = vec![source.value.clone(), source.title.clone()];
    fields.dedup();
    let sort = vec![(source.title.clone(), false)];
    let query = Query { limit: MAX_OPTIONS, fields, sort, ..Query::default() };
    let list = items.list(&source.table, &query).await?;
    let option = |row: &Record| SelectOption {
        value: row.value(&source.value).clone(),
        title: title(row.value(&source.title)),
    };
    Ok(list.records()?.iter().map(option).collect())
}

fn key(source: &SelectSource) -> (String, String, String) {
    (source.table.clone(), source.value.clone(), source.title.clone())
}

/// A value with itself as its label.
fn option(value: Json) -> SelectOption {
    SelectOption { title: title(&value), value }
}

/// A value as a label.
fn title(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
