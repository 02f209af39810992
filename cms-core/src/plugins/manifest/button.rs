//! Buttons of lists: their nine types, the members of each, `forStatus` and `multilanguage`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Number, Value, json};

use super::{EditableField, List};

/// A button. Its id is part of two permission keys: `{plugin}_{button}_view` and
/// `{plugin}_{button}_edit`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = members_of_each_type)]
#[non_exhaustive]
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
    /// The table that the button writes, in a list of rows of `listed`.
    #[must_use]
    pub fn table_of<'a>(&'a self, listed: Option<&'a str>) -> Option<&'a str> {
        self.table.as_deref().or(listed)
    }

    /// The table of the row that the button writes, in a list of rows of `listed`. `None`: it
    /// writes no row.
    #[must_use]
    pub fn row_table<'a>(&'a self, listed: Option<&'a str>) -> Option<&'a str> {
        match self.button_type {
            ButtonType::Edit | ButtonType::Delete => self.table_of(listed),
            ButtonType::ShowChecklist => self.values.as_ref()?.table.as_deref(),
            _ => None,
        }
    }
}

/// What a button shows: `table` and `template` of a module list, `table` and `column` of a
/// checklist, `class` and `template` of custom content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
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

/// What a button does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ButtonType {
    /// Opens a form with the row's record; submits with PATCH.
    #[default]
    Edit,
    /// Opens an empty form; submits with POST.
    Insert,
    /// Asks, then sends DELETE.
    Delete,
    /// Runs a script of the plugin.
    Script,
    /// Opens a list of records that belong to the row.
    ShowModuleList,
    /// Opens checkboxes for the entries of a JSON column.
    ShowChecklist,
    /// Opens content that a class of the plugin makes.
    ShowCustomContent,
    /// A plain anchor.
    Link,
    /// Opens a modal of the plugin.
    Modal,
}

/// Whether a type of button has a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// It must be there.
    Required,
    /// It may be there.
    Optional,
}

/// A member that only some types of buttons have. `values/table` means the member `table`
/// of `values`.
pub type Member = (&'static str, &'static [(ButtonType, Need)]);

use ButtonType as B;
use Need::{Optional, Required};

/// The members that only some types have. All other members belong to every type.
pub const MEMBERS: &[Member] = &[
    ("table", &[(B::Edit, Optional), (B::Insert, Optional), (B::Delete, Optional)]),
    ("multilanguage", &[(B::Edit, Optional), (B::Insert, Optional)]),
    ("editable_rows", &[(B::Edit, Required), (B::Insert, Required)]),
    ("buttons", &[(B::ShowModuleList, Optional), (B::ShowCustomContent, Optional)]),
    ("component", &[(B::Modal, Required)]),
    ("script", &[(B::Script, Required)]),
    ("url", &[(B::Link, Required)]),
    (
        "values",
        &[
            (B::ShowModuleList, Required),
            (B::ShowChecklist, Required),
            (B::ShowCustomContent, Required),
        ],
    ),
    ("values/table", &[(B::ShowModuleList, Required), (B::ShowChecklist, Required)]),
    ("values/column", &[(B::ShowChecklist, Required)]),
    ("values/class", &[(B::ShowCustomContent, Required)]),
    ("values/template", &[(B::ShowModuleList, Required), (B::ShowCustomContent, Required)]),
];

impl ButtonType {
    /// All types.
    pub const ALL: [Self; 9] = [
        Self::Edit,
        Self::Insert,
        Self::Delete,
        Self::Script,
        Self::ShowModuleList,
        Self::ShowChecklist,
        Self::ShowCustomContent,
        Self::Link,
        Self::Modal,
    ];

    /// Its name in a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Script => "script",
            Self::ShowModuleList => "show_module_list",
            Self::ShowChecklist => "show_checklist",
            Self::ShowCustomContent => "show_custom_content",
            Self::Link => "link",
            Self::Modal => "modal",
        }
    }

    /// Whether a button of this type must or may have a member of [`MEMBERS`]; `None`: it
    /// must not.
    #[must_use]
    pub fn need(self, types: &[(Self, Need)]) -> Option<Need> {
        types.iter().find(|(kind, _)| *kind == self).map(|(_, need)| *need)
    }
}

/// Adds to the schema of a button which members each type has.
fn members_of_each_type(schema: &mut Schema) {
    let rules: Vec<Value> = ButtonType::ALL.into_iter().map(rule).collect();
    schema.insert("allOf".to_owned(), rules.into());
}

fn rule(kind: ButtonType) -> Value {
    let mut own = Rule::default();
    let mut values = Rule::default();
    for (name, types) in MEMBERS {
        match name.strip_prefix("values/") {
            Some(name) => values.add(name, kind.need(types)),
            None => own.add(name, kind.need(types)),
        }
    }
    if own.required.contains(&"values") {
        own.properties.insert("values".to_owned(), values.schema());
    }
    json!({
        "if": {"properties": {"type": {"const": kind.name()}}, "required": ["type"]},
        "then": own.schema(),
    })
}

/// The members that must be present, and those that must not.
#[derive(Default)]
struct Rule {
    required: Vec<&'static str>,
    properties: serde_json::Map<String, Value>,
}

impl Rule {
    fn add(&mut self, name: &'static str, need: Option<Need>) {
        match need {
            Some(Required) => {
                self.required.push(name);
                self.properties.insert(name.to_owned(), json!({"not": {"enum": [[], "[]", ""]}}));
            }
            Some(Optional) => {}
            None => {
                // An empty list and a switch that is off count as absent.
                self.properties.insert(name.to_owned(), json!({"enum": [[], "[]", false, "0"]}));
            }
        }
    }

    fn schema(self) -> Value {
        json!({"required": self.required, "properties": self.properties})
    }
}

/// The status of rows that show a button: a number, or text that begins with one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ForStatus {
    /// As a number.
    Number(Number),
    /// As text.
    Text(#[schemars(regex(pattern = "^\\s*[+-]?[0-9]"))] String),
}

impl ForStatus {
    /// Its whole number, by the rule of `parseInt`; `None`: it matches no row.
    #[must_use]
    pub fn number(&self) -> Option<i128> {
        match self {
            Self::Number(number) => parse_int(&number.to_string()),
            Self::Text(text) => parse_int(text),
        }
    }

    /// Whether a row with this `status` shows the button.
    #[must_use]
    pub fn shows(&self, status: Option<&Value>) -> bool {
        let wanted = self.number();
        let held = match status {
            Some(Value::Number(number)) => parse_int(&number.to_string()),
            Some(Value::String(text)) => parse_int(text),
            _ => None,
        };
        wanted == Some(-1) || (wanted.is_some() && wanted == held)
    }
}

/// The whole number at the start of a text, as `parseInt` of browsers reads it: `"2abc"` is 2.
#[must_use]
fn parse_int(text: &str) -> Option<i128> {
    let text = text.trim_start();
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((digits, 10), |digits| (digits, 16));
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    i128::from_str_radix(&digits[..end], radix).ok().map(|number| sign * number)
}

/// On or off: `true` or `"1"`, `false` or `"0"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Switch(pub bool);

impl Switch {
    /// Whether it is off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        !self.0
    }
}

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(on) => Ok(Self(on)),
            Value::String(text) if text == "1" => Ok(Self(true)),
            Value::String(text) if text == "0" => Ok(Self(false)),
            _ => Err(D::Error::custom("\"1\" or true is expected")),
        }
    }
}

impl JsonSchema for Switch {
    fn schema_name() -> Cow<'static, str> {
        "Switch".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": ["1", true, "0", false]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_manifest() {
        for kind in ButtonType::ALL {
            assert_eq!(serde_json::to_value(kind).expect("a name"), kind.name());
        }
    }

    #[test]
    fn for_status_compares_by_parse_int() {
        for (wanted, status, shown) in [
            (json!(2), json!(2), true),
            (json!(2), json!("2"), true),
            (json!("2abc"), json!(2), true),
            (json!(2), json!("2abc"), true),
            (json!(" 2"), json!("\t2.9"), true),
            (json!(2.7), json!(2.1), true),
            (json!("+2"), json!("2"), true),
            (json!("0x10"), json!(16), true),
            (json!("2e3"), json!(2), true),
            (json!(2), json!(3), false),
            (json!(2), json!(null), false),
            (json!(2), json!(true), false),
            (json!(2), json!("abc"), false),
            (json!("abc"), json!("abc"), false),
            (json!("abc"), json!(null), false),
            (json!(-1), json!(null), true),
            (json!("-1"), json!(7), true),
            (json!(-1), json!("abc"), true),
            (json!(0), json!(""), false),
            (json!(0), json!("-0"), true),
            (json!("-"), json!("-"), false),
        ] {
            let rule: ForStatus = serde_json::from_value(wanted.clone()).expect("forStatus");
            assert_eq!(rule.shows(Some(&status)), shown, "{wanted} {status}");
        }
        assert!(!ForStatus::Text("1".to_owned()).shows(None));
    }
}
