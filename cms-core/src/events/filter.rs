//! The payload filter: removes members whose names look like secrets.

use serde_json::Value;

/// A name that contains one of these words, in upper or lower case, is removed, even a harmless
/// one such as `keywords`.
const WORDS: [&str; 6] = ["password", "secret", "hash", "key", "token", "salt"];

/// What the names of events of the table `settings` begin with.
const OF_SETTINGS: &str = "item.settings.";

/// Whether a member of this name is removed.
pub(crate) fn is_removed(name: &str) -> bool {
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Removes members whose names look like secrets, at any depth of an event's data, and the value
/// of a secret setting. Returns the data and the removed paths.
pub(crate) fn filter(event: &str, mut data: Value) -> (Value, Vec<String>) {
    let mut removed = Vec::new();
    if event.starts_with(OF_SETTINGS)
        && let Some(row) = data.get_mut("record").and_then(Value::as_object_mut)
        && is_secret(row.get("name"), row.get("public"))
        && row.remove("value").is_some()
    {
        removed.push("record.value".to_owned());
    }
    walk(&mut data, "", &mut removed);
    (data, removed)
}

/// Whether a row of `settings` holds a secret: its name looks like one, or it is not public.
fn is_secret(name: Option<&Value>, public: Option<&Value>) -> bool {
    let is_public = public.is_some_and(|public| *public == true || *public == 1);
    !is_public || name.and_then(Value::as_str).is_some_and(is_removed)
}

fn walk(value: &mut Value, path: &str, removed: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.retain(|name, value| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if is_removed(name) {
                    removed.push(path);
                    return false;
                }
                walk(value, &path, removed);
                true
            });
        }
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                walk(value, &format!("{path}[{index}]"), removed);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn secrets_are_removed_at_any_depth() {
        let data = json!({
            "title": "a", "Password": 1, "api_KEY": 2, "keywords": ["x"],
            "list": [{"token": 3, "ok": 4}, [{"saltiness": 5}]],
            "deep": {"sha_hash": 6, "mySecret": {"a": 7}},
        });
        let (kept, mut removed) = super::filter("order.created", data);
        assert_eq!(kept, json!({"title": "a", "list": [{"ok": 4}, [{}]], "deep": {}}));
        removed.sort();
        assert_eq!(
            removed,
            [
                "Password", "api_KEY", "deep.mySecret", "deep.sha_hash", "keywords",
                "list[0].token", "list[1][0].saltiness"
            ]
        );
    }

    #[test]
    fn a_setting_is_as_secret_as_its_name_and_its_row() {
        let settings = "item.settings.updated";
        for (event, row, kept) in [
            (settings, json!({"name": "smtp", "value": "x", "public": false}), false),
            (settings, json!({"name": "smtp", "value": "x", "public": 0}), false),
            (settings, json!({"name": "smtp", "value": "x", "public": null}), false),
            (settings, json!({"name": "smtp", "value": "x"}), false),
            (settings, json!({"name": "smtp_password", "value": "x", "public": true}), false),
            (settings, json!({"name": "API_TOKEN", "value": {"a": 1}, "public": 1}), false),
            (settings, json!({"name": "site_title", "value": "x", "public": true}), true),
            (settings, json!({"name": "site_title", "value": "x", "public": 1}), true),
            // Of other tables only names of members count.
            ("item.specs.created", json!({"name": "Monkey plush", "value": "x"}), true),
            ("item.specs.created", json!({"name": "a", "value": 1, "public": false}), true),
            ("item.settings_old.created", json!({"name": "key", "value": 1}), true),
            ("order.created", json!({"name": "key", "value": 1}), true),
        ] {
            let inner = json!({"name": "token", "value": 1});
            let data = json!({"record": row, "list": [inner]});
            let (data, removed) = super::filter(event, data);
            assert_eq!(data["record"].get("value").is_some(), kept, "{event} {data}");
            assert_eq!(removed, if kept { vec![] } else { vec!["record.value"] }, "{event}");
            assert_eq!(data["list"][0], inner);
        }
    }
}
