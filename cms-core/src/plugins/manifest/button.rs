//! Buttons of lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ButtonType, EditableField, ForStatus, List, Switch, kind};

/// A button. Its id is part of two permission keys: `{plugin}_{button}_view` and
/// `{plugin}_{button}_edit`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = kind::members_of_each_type)]
pub struct Button {
    /// Unique within the plugin, including nested buttons.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,80}$"))]
    pub button_id: String,
    /// What the button does.
    #[serde(rename = "type")]
    pub button_type: ButtonType,
    /// Colour; the front end chooses its default without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Name of the icon, without the prefix of the icon set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^(?!fa-|icon-|glyphicon-|mdi-)[A-Za-z0-9][A-Za-z0-9_-]*$"))]
    pub icon: Option<String>,
    /// Label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Help text, for example in the delete dialog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_text: Option<String>,
    /// Label of the submit button in the modal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_text: Option<String>,
    /// Visible only on rows with this status; -1 or none: on every row.
    #[serde(default, rename = "forStatus", skip_serializing_if = "Option::is_none")]
    pub for_status: Option<ForStatus>,
    /// The table that is written; the plugin's first one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Tabs for languages in the modal. The table is `multilanguage`.
    #[serde(default, skip_serializing_if = "Switch::is_off")]
    pub multilanguage: Switch,
    /// Fields of the form.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub editable_rows: List<EditableField>,
    /// Buttons on the rows of the list that this button opens.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub buttons: List<Button>,
    /// The modal: `{plugin}/admin/{ModalName}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*/admin/[A-Za-z][A-Za-z0-9]*$"))]
    pub component: Option<String>,
    /// What is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<ButtonValues>,
    /// The script: a path under the plugin's folder `script/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*\\.php$"))]
    pub script: Option<String>,
    /// The address of a link: a path, or an address with `https:`, `http:`, `mailto:` or `tel:`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri-reference"))]
    pub url: Option<String>,
}

impl Button {
    /// The table that the button writes, in a list of the rows of `listed`.
    #[must_use]
    pub fn table_of<'a>(&'a self, listed: Option<&'a str>) -> Option<&'a str> {
        self.table.as_deref().or(listed)
    }
}

/// What a button shows: `table` and `template` of a module list, `table` and `column` of a
/// checklist, `class` and `template` of custom content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ButtonValues {
    /// A content table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// A JSON column of that table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The class whose content is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The template that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// Colours of buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it all")]
#[non_exhaustive]
pub enum Style {
    Default,
    Primary,
    Success,
    Info,
    Danger,
}
