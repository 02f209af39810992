//! A node as visitors see it.

use serde_json::{Map, Value as Json, json};

use crate::{fields, ground::html::sanitize};

/// Members of a node's settings that visitors see, beside the fields of a step; `public` holds
/// whatever the page needs. All others stay here.
const PUBLIC: [&str; 6] = ["title", "text", "html", "button_label", "media_id", "public"];
/// The same of ends.
const OF_ENDS: [&str; 4] = ["end_kind", "kind", "redirect_url", "url"];

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
        *html = sanitize(html);
    }
    if let Some(Json::Array(fields)) = config.get_mut("fields") {
        for declared in fields {
            *declared = fields::shown(declared);
        }
    }
    json!({"id": id, "type": kind, "name": name, "config": config})
}
