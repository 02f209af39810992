//! The nine types of buttons, and which members each has.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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

/// A member that only some types of buttons have; `values/table` is a member of `values`.
pub type Member = (&'static str, &'static [(ButtonType, Need)]);

use ButtonType as B;
use Need::{Optional, Required};

/// The members that only some types have. All types have the others.
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

    /// Whether it has a member of [`MEMBERS`]; None when it may not have it.
    #[must_use]
    pub fn need(self, types: &[(Self, Need)]) -> Option<Need> {
        types.iter().find(|(kind, _)| *kind == self).map(|(_, need)| *need)
    }
}

/// Adds to the schema of a button which members each type has.
pub(super) fn members_of_each_type(schema: &mut Schema) {
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

/// Members that must be there, and those that must not.
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
                // An empty list, or what is off, says nothing.
                self.properties.insert(name.to_owned(), json!({"enum": [[], "[]", false, "0"]}));
            }
        }
    }

    fn schema(self) -> Value {
        json!({"required": self.required, "properties": self.properties})
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
}
