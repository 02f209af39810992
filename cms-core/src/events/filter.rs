//! The payload filter: removes members whose names look like secrets.

use serde_json::Value;

/// A name that contains one of these words, in any case, is removed; so are harmless names such as
/// `keywords`.
const WORDS: [&str; 6] = ["password", "secret", "hash", "key", "token", "salt"];

/// Whether a member of this name is removed.
pub(crate) fn is_removed(name: &str) -> bool {
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Removes such members at any depth. Returns the payload and the removed paths.
pub(crate) fn filter(mut data: Value) -> (Value, Vec<String>) {
    let mut removed = Vec::new();
    walk(&mut data, "", &mut removed);
    (data, removed)
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
        let (kept, mut removed) = super::filter(data);
        assert_eq!(kept, json!({"title": "a", "list": [{"ok": 4}, [{}]], "deep": {}}));
        removed.sort();
        assert_eq!(
            removed,
            [
                "Password",
                "api_KEY",
                "deep.mySecret",
                "deep.sha_hash",
                "keywords",
                "list[0].token",
                "list[1][0].saltiness"
            ]
        );
    }
}
