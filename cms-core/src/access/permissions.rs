//! What a backend user may do: a set of permission keys, or everything. Pure.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::FieldError;

/// The built-in areas of the backend. `{area}_view` allows reading, `{area}_edit` changing.
pub const AREAS: [&str; 8] = [
    "formfunnel_inbox", "formfunnel_funnels", "webhooks_subscriptions", "keys_keys", "pages_pages",
    "media_media", "forms_forms", "settings_settings",
];

/// The owner of the permission keys of built-in areas.
pub const CORE: &str = "core";

/// The permission keys of an area, or of a button named `{plugin}_{button}`.
#[must_use]
pub fn keys_of(area: &str) -> [String; 2] {
    ["view", "edit"].map(|act| format!("{area}_{act}"))
}

/// The area that a table of the core belongs to.
#[must_use]
pub(crate) fn area_of(table: &str) -> Option<&'static str> {
    match table {
        "pages" | "menu_items" | "redirects" => Some("pages_pages"),
        "settings" => Some("settings_settings"),
        "forms" => Some("forms_forms"),
        "media" => Some("media_media"),
        _ => None,
    }
}

/// Permission keys, each with the plugin whose button it is; [`CORE`] for built-in areas. A key
/// without an owner allows nothing until a plugin claims it. In JSON: the keys alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions(BTreeMap<String, String>);

/// The owner that is recorded for a key without an owner.
const NOBODY: &str = "";

impl Permissions {
    /// The keys.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// Whether the set holds this key of this plugin.
    #[must_use]
    pub fn holds(&self, plugin: &str, key: &str) -> bool {
        plugin != NOBODY && self.owner_of(key) == plugin
    }

    /// The plugin that owns a held key; empty for a key that has no owner or is not held.
    pub(crate) fn owner_of(&self, key: &str) -> &str {
        self.0.get(key).map_or(NOBODY, String::as_str)
    }

    /// Whether every key of `asked` is held, each for the same plugin.
    fn covers(&self, asked: &Self) -> bool {
        asked.0.iter().all(|(key, plugin)| self.0.get(key) == Some(plugin))
    }

    /// Gives each key the owner that `owner` returns, and drops keys for which it returns None.
    pub(crate) fn owned_by(&self, owner: impl Fn(&str, &str) -> Option<String>) -> Self {
        let named = |(key, held): (&String, &String)| Some((key.clone(), owner(key, held)?));
        Self(self.0.iter().filter_map(named).collect())
    }
}

impl FromIterator<String> for Permissions {
    fn from_iter<I: IntoIterator<Item = String>>(keys: I) -> Self {
        let owned = |key: String| {
            let area = key.strip_suffix("_view").or_else(|| key.strip_suffix("_edit"));
            let is_area = area.is_some_and(|area| AREAS.contains(&area));
            (key, if is_area { CORE } else { NOBODY }.to_owned())
        };
        Self(keys.into_iter().map(owned).collect())
    }
}

/// The rights of a group, or of a user through all groups together. As JSON: a list of permission
/// keys, or the text `"0"` for everything.
///
/// ```
/// use cms_core::access::HeldPermissions;
/// let editor = r#"["pages_pages_view", "pages_pages_edit"]"#;
/// let editor: HeldPermissions = serde_json::from_str(editor)?;
/// assert!(editor.may("pages_pages_edit") && !editor.may("keys_keys_view"));
/// assert!(HeldPermissions::Admin.may("keys_keys_view"));
/// assert!(HeldPermissions::Admin.covers(&editor) && !editor.covers(&HeldPermissions::Admin));
/// assert_eq!(serde_json::to_string(&HeldPermissions::Admin)?, r#""0""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldPermissions {
    /// Everything.
    Admin,
    /// What these permission keys allow.
    Only(Permissions),
}

impl Default for HeldPermissions {
    fn default() -> Self {
        Self::Only(Permissions::default())
    }
}

impl HeldPermissions {
    /// Whether these rights include a permission key of a built-in area, such as
    /// `pages_pages_view`.
    #[must_use]
    pub fn may(&self, permission: &str) -> bool {
        self.may_use(CORE, permission)
    }

    /// Whether these rights include a permission key of a plugin. The same key of another plugin
    /// does not count.
    #[must_use]
    pub fn may_use(&self, plugin: &str, permission: &str) -> bool {
        match self {
            Self::Admin => true,
            Self::Only(keys) => keys.holds(plugin, permission),
        }
    }

    /// Whether these rights allow everything that `other` allows.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Admin, _) => true,
            (Self::Only(_), Self::Admin) => false,
            (Self::Only(held), Self::Only(asked)) => held.covers(asked),
        }
    }

    /// The union of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Only(mut a), Self::Only(b)) => {
                // A key without an owner must not hide another group's same key with an owner.
                for (key, plugin) in b.0 {
                    let held = a.0.entry(key).or_default();
                    if held == NOBODY {
                        *held = plugin;
                    }
                }
                Self::Only(a)
            }
            _ => Self::Admin,
        }
    }

    /// The form in which groups are stored: `{"key": "plugin"}`, or `"0"`.
    pub(crate) fn to_stored(&self) -> crate::Result<String> {
        match self {
            Self::Admin => serde_json::to_string(self),
            Self::Only(Permissions(keys)) => serde_json::to_string(keys),
        }
        .map_err(crate::Error::internal)
    }

    /// Reads the stored form. Earlier versions stored a list of keys.
    pub(crate) fn from_stored(text: String) -> crate::Result<Self> {
        match text.starts_with('{') {
            true => serde_json::from_str(&text).map(|keys| Self::Only(Permissions(keys))),
            false => serde_json::from_str(&text),
        }
        .map_err(crate::Error::internal)
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
                    "{key:?} is not a permission key: write {{plugin}}_{{button}}_view or \
                     {{plugin}}_{{button}}_edit"
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

impl Serialize for HeldPermissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Admin => serializer.serialize_str("0"),
            Self::Only(keys) => serializer.collect_seq(keys.iter()),
        }
    }
}

impl JsonSchema for HeldPermissions {
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

impl<'de> Deserialize<'de> for HeldPermissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            List(Vec<String>),
        }
        let wrong = || {
            D::Error::custom(
                "rights are a list of permission keys, or the text \"0\" for administrators",
            )
        };
        match Form::deserialize(deserializer).map_err(|_| wrong())? {
            Form::Text(text) if text == "0" => Ok(Self::Admin),
            Form::Text(_) => Err(wrong()),
            Form::List(keys) => Ok(Self::Only(keys.into_iter().collect())),
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
            "", "_view", "pages_view", "pages__view", "_pages_view", "pages_pages",
            "pages_pages_delete", "a b_c_view", "*", "0",
        ] {
            assert!(!is_permission(key), "{key}");
        }
    }

    #[test]
    fn rights_are_a_list_or_the_text_zero() {
        for bad in ["0", "\"1\"", "{}", "null", "[0]", "true"] {
            assert!(serde_json::from_str::<HeldPermissions>(bad).is_err(), "{bad}");
        }
        assert_eq!(
            serde_json::from_str::<HeldPermissions>("\"0\"").expect("rights"),
            HeldPermissions::Admin
        );
        let schema = schemars::schema_for!(HeldPermissions);
        assert_eq!(schema.pointer("/oneOf/0/const"), Some(&"0".into()));
        let both: HeldPermissions =
            serde_json::from_str(r#"["b_b_view","a_a_view","b_b_view"]"#).expect("rights");
        assert_eq!(serde_json::to_string(&both).expect("json"), r#"["a_a_view","b_b_view"]"#);
        assert_eq!(both.clone().and(HeldPermissions::Admin), HeldPermissions::Admin);
        assert_eq!(HeldPermissions::Admin.and(both), HeldPermissions::Admin);
    }

    #[test]
    fn rights_are_compared_and_joined() {
        let only = |keys: &[&str]| {
            HeldPermissions::Only(keys.iter().map(|key| (*key).to_owned()).collect())
        };
        let (none, a, b, both) = (only(&[]), only(&["a"]), only(&["b"]), only(&["a", "b"]));
        for (held, asked, covers) in [
            (&HeldPermissions::Admin, &HeldPermissions::Admin, true),
            (&HeldPermissions::Admin, &both, true),
            (&both, &HeldPermissions::Admin, false),
            (&both, &a, true),
            (&a, &both, false),
            (&a, &b, false),
            (&a, &none, true),
        ] {
            assert_eq!(held.covers(asked), covers, "{held:?} {asked:?}");
        }
        assert_eq!(a.clone().and(b), both);
        assert!(!a.may("a"), "a key of nobody allows nothing");
        assert!(HeldPermissions::Admin.may("b"));
    }

    #[test]
    fn a_key_belongs_to_one_plugin() {
        let stored = |text: &str| HeldPermissions::from_stored(text.to_owned()).expect("rights");
        let held = stored(r#"{"a_b_c_edit": "a_b", "keys_keys_view": "core"}"#);
        assert!(held.may_use("a_b", "a_b_c_edit") && held.may("keys_keys_view"));
        assert!(!held.may_use("a", "a_b_c_edit") && !held.may("a_b_c_edit"));
        assert!(!held.covers(&stored(r#"{"a_b_c_edit": "a"}"#)));
        assert_eq!(stored(&held.to_stored().expect("text")), held);
        assert_eq!(
            serde_json::to_value(&held).expect("JSON"),
            serde_json::json!(["a_b_c_edit", "keys_keys_view"])
        );
        // As earlier versions stored them.
        let old = stored(r#"["a_b_c_edit", "keys_keys_view"]"#);
        assert!(old.may("keys_keys_view") && !old.may_use("", "a_b_c_edit"));
        assert!(old.and(held).may_use("a_b", "a_b_c_edit"));
        assert_eq!(stored("\"0\""), HeldPermissions::Admin);
    }

    #[test]
    fn what_is_no_permission_key_cannot_be_saved() {
        let rights: HeldPermissions =
            serde_json::from_str(r#"["pages_pages_view","pages"]"#).expect("rights");
        let problems = rights.problems();
        assert!(problems.len() == 1 && problems[0].message.starts_with("\"pages\" is not"));
        assert!(HeldPermissions::Admin.problems().is_empty());
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
