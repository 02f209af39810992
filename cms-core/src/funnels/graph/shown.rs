//! A node as visitors see it.

use serde_json::{Map, Value as Json, json};

use crate::{fields::FieldType, funnels::html::harmless};

/// Members of a node's settings that visitors see, beside the fields of a step; `public` holds
/// whatever the page needs. All others stay here.
const PUBLIC: [&str; 6] = ["title", "text", "html", "button_label", "media_id", "public"];
/// The same of ends.
const OF_ENDS: [&str; 4] = ["end_kind", "kind", "redirect_url", "url"];
/// Settings of fields that stay here, by type.
const HIDDEN: [(&str, &str); 2] = [("calculated", "expression"), ("email", "blocked_domains")];

/// The node with what is meant for visitors, each field with all settings of its type but those
/// that stay here.
pub(super) fn shown(id: i64, kind: &str, name: &str, config: &Map<String, Json>) -> Json {
    let is_public = |name: &str| match kind {
        "step" => PUBLIC.contains(&name) || name == "fields",
        "end" => PUBLIC.contains(&name) || OF_ENDS.contains(&name),
        _ => false,
    };
    let own = config.iter().filter(|(name, _)| is_public(name));
    let mut config: Map<_, _> = own.map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(Json::String(html)) = config.get_mut("html") {
        *html = harmless(html);
    }
    if let Some(Json::Array(fields)) = config.get_mut("fields") {
        for declared in fields {
            *declared = field(declared);
        }
    }
    json!({"id": id, "type": kind, "name": name, "config": config})
}

fn field(declared: &Json) -> Json {
    let named = declared["type"].as_str().unwrap_or_default();
    let default = FieldType::find(named).map(FieldType::default_config);
    let mut settings = default.and_then(|json| json.as_object().cloned()).unwrap_or_default();
    settings.extend(declared.as_object().cloned().unwrap_or_default());
    let hides = |name: &str| HIDDEN.contains(&(named, name));
    settings.retain(|name, _| !hides(name));
    if let Some(Json::String(html)) = settings.get_mut("html") {
        *html = harmless(html);
    }
    settings.into()
}
