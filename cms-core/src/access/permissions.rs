//! What a backend user may do: a set of permission keys, or everything. Pure.

use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::FieldError;

/// The built-in areas of the backend. `{area}_view` allows reading, `{area}_edit` changing.
pub const AREAS: [&str; 8] = [
    "formfunnel_inbox",
    "formfunnel_funnels",
    "webhooks_subscriptions",
    "keys_keys",
    "pages_pages",
    "media_media",
    "forms_forms",
    "settings_settings",
];

/// The permission keys of an area, or of a button named `{plugin}_{button}`.
#[must_use]
pub fn keys_of(area: &str) -> [String; 2] {
    ["view", "edit"].map(|act| format!("{area}_{act}"))
}

/// The area that a table of the core belongs to.
#[must_use]
pub fn area_of(table: &str) -> Option<&'static str> {
    match table {
        "pages" | "menu_items" => Some("pages_pages"),
        "settings" => Some("settings_settings"),
        "forms" => Some("forms_forms"),
        "media" => Some("media_media"),
        _ => None,
    }
}

/// The rights of a group, or of a user through all groups together. As JSON: a list of permission
/// keys, or the text `"0"` for everything.
///
/// ```
/// use cms_core::access::Rights;
/// let editor: Rights = serde_json::from_str(r#"["pages_pages_view", "pages_pages_edit"]"#)?;
/// assert!(editor.may("pages_pages_edit") && !editor.may("keys_keys_view"));
/// assert!(Rights::Admin.may("keys_keys_view"));
/// assert!(Rights::Admin.covers(&editor) && !editor.covers(&Rights::Admin));
/// assert_eq!(serde_json::to_string(&Rights::Admin)?, r#""0""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Everything.
    Admin,
    /// What these permission keys allow.
    Only(BTreeSet<String>),
}

impl Default for Rights {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl Rights {
    /// Whether these rights include a permission key such as `pages_pages_view`.
    #[must_use]
    pub fn may(&self, permission: &str) -> bool {
        match self {
            Self::Admin => true,
            Self::Only(keys) => keys.contains(permission),
        }
    }

    /// Whether these rights allow everything that `other` allows.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Admin, _) => true,
            (Self::Only(_), Self::Admin) => false,
            (Self::Only(held), Self::Only(asked)) => asked.is_subset(held),
        }
    }

    /// The union of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Only(mut a), Self::Only(b)) => {
                a.extend(b);
                Self::Only(a)
            }
            _ => Self::Admin,
        }
    }

    /// Faults of rights that are about to be saved.
    pub(crate) fn problems(&self) -> Vec<FieldError> {
        let Self::Only(keys) = self else { return Vec::new() };
        let wrong = keys.iter().filter(|key| !is_permission(key));
        wrong
            .map(|key| FieldError {
                field: "rights".to_owned(),
                code: "format",
                message: format!(
                    "{key:?} is no permission key: \
                     {{plugin}}_{{button}}_view or {{plugin}}_{{button}}_edit"
                ),
            })
            .collect()
    }
}

/// The form of a permission key, as a regular expression.
const PATTERN: &str = "^[A-Za-z0-9-]+_[A-Za-z0-9_-]+_(view|edit)$";

fn is_permission(key: &str) -> bool {
    let stem = key.strip_suffix("_view").or_else(|| key.strip_suffix("_edit"));
    key.len() <= 200
        && stem.is_some_and(|stem| {
            stem.split_once('_')
                .is_some_and(|(plugin, button)| !plugin.is_empty() && !button.is_empty())
        })
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

impl Serialize for Rights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Admin => serializer.serialize_str("0"),
            Self::Only(keys) => keys.serialize(serializer),
        }
    }
}

impl JsonSchema for Rights {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rights".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Permission keys, or \"0\" for administrators.",
            "oneOf": [
                {"const": "0"},
                {"type": "array", "items": {"type": "string", "pattern": PATTERN}},
            ],
        })
    }
}

impl<'de> Deserialize<'de> for Rights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            List(BTreeSet<String>),
        }
        let wrong = || {
            D::Error::custom(
                "rights are a list of permission keys, or the text \"0\" for administrators",
            )
        };
        match Form::deserialize(deserializer).map_err(|_| wrong())? {
            Form::Text(text) if text == "0" => Ok(Self::Admin),
            Form::Text(_) => Err(wrong()),
            Form::List(keys) => Ok(Self::Only(keys)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_keys_have_a_form() {
        let areas = AREAS.iter().flat_map(|area| [format!("{area}_view"), format!("{area}_edit")]);
        assert!(areas.into_iter().all(|key| is_permission(&key)));
        for key in [
            "",
            "_view",
            "pages_view",
            "pages__view",
            "_pages_view",
            "pages_pages",
            "pages_pages_delete",
            "a b_c_view",
            "*",
            "0",
        ] {
            assert!(!is_permission(key), "{key}");
        }
    }

    #[test]
    fn rights_are_a_list_or_the_text_zero() {
        for bad in ["0", "\"1\"", "{}", "null", "[0]", "true"] {
            assert!(serde_json::from_str::<Rights>(bad).is_err(), "{bad}");
        }
        assert_eq!(serde_json::from_str::<Rights>("\"0\"").expect("rights"), Rights::Admin);
        let schema = schemars::schema_for!(Rights);
        assert_eq!(schema.pointer("/oneOf/0/const"), Some(&"0".into()));
        let both: Rights =
            serde_json::from_str(r#"["b_b_view","a_a_view","b_b_view"]"#).expect("rights");
        assert_eq!(serde_json::to_string(&both).expect("json"), r#"["a_a_view","b_b_view"]"#);
        assert_eq!(both.clone().and(Rights::Admin), Rights::Admin);
        assert_eq!(Rights::Admin.and(both), Rights::Admin);
    }

    #[test]
    fn rights_are_compared_and_joined() {
        let only = |keys: &[&str]| Rights::Only(keys.iter().map(|key| (*key).to_owned()).collect());
        let (none, a, b, both) = (only(&[]), only(&["a"]), only(&["b"]), only(&["a", "b"]));
        for (held, asked, covers) in [
            (&Rights::Admin, &Rights::Admin, true),
            (&Rights::Admin, &both, true),
            (&both, &Rights::Admin, false),
            (&both, &a, true),
            (&a, &both, false),
            (&a, &b, false),
            (&a, &none, true),
        ] {
            assert_eq!(held.covers(asked), covers, "{held:?} {asked:?}");
        }
        assert_eq!(a.clone().and(b), both);
        assert!(a.may("a") && !a.may("b") && Rights::Admin.may("b"));
    }

    #[test]
    fn what_is_no_permission_key_cannot_be_saved() {
        let rights: Rights =
            serde_json::from_str(r#"["pages_pages_view","pages"]"#).expect("rights");
        let problems = rights.problems();
        assert!(problems.len() == 1 && problems[0].message.starts_with("\"pages\" is no"));
        assert!(Rights::Admin.problems().is_empty());
    }

    #[test]
    fn tables_of_the_core_belong_to_areas() {
        for (table, area) in [
            ("pages", Some("pages_pages")),
            ("menu_items", Some("pages_pages")),
            ("settings", Some("settings_settings")),
            ("forms", Some("forms_forms")),
            ("media", Some("media_media")),
            ("orders", None),
        ] {
            assert_eq!(area_of(table), area, "{table}");
            assert!(area.is_none_or(|area| AREAS.contains(&area)));
        }
    }
}
