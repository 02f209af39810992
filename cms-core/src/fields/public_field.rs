//! A declared field as visitors see it.

use serde_json::Value as Json;

use super::FieldType;
use crate::ground::html::sanitize;

/// Settings of fields that stay here, by type.
const HIDDEN: [(&str, &str); 2] = [("calculated", "expression"), ("email", "blocked_domains")];

/// The field with all settings of its type, but those that stay here.
pub(crate) fn shown(declared: &Json) -> Json {
    let named = declared["type"].as_str().unwrap_or_default();
    let default = FieldType::find(named).map(FieldType::default_config);
    let mut settings = default.and_then(|json| json.as_object().cloned()).unwrap_or_default();
    settings.extend(declared.as_object().cloned().unwrap_or_default());
    let hides = |name: &str| HIDDEN.contains(&(named, name));
    settings.retain(|name, _| !hides(name));
    if let Some(Json::String(html)) = settings.get_mut("html") {
        *html = sanitize(html);
    }
    settings.into()
}
