//! The payload filter: removes members whose names look like secrets.

use serde_json::{Map, Value};

/// A name that contains one of these words, in any case, is removed; so are harmless names such as
/// `keywords`.
const WORDS: [&str; 6] = ["password", "secret", "hash", "key", "token", "salt"];

/// Members that name what an object's `value` is, in any case.
const NAMES: [&str; 2] = ["name", "key"];

/// Whether a member of this name is removed.
pub(crate) fn is_removed(name: &str) -> bool {
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Removes such members at any depth, and the values of such names. Returns the payload and the
/// removed paths.
pub(crate) fn filter(mut data: Value) -> (Value, Vec<String>) {
    let mut removed = Vec::new();
    walk(&mut data, "", &mut removed);
    (data, removed)
}

/// Whether an object is a name beside its secret value, such as a row of `settings`: its name looks
/// like a secret's, or it says that it is not public.
fn holds_secret(members: &Map<String, Value>) -> bool {
    let mut names = members.iter().filter(|(name, _)| is_one_of(&NAMES, name)).peekable();
    let is_named = names.peek().is_some();
    let is_secret = names.any(|(_, text)| text.as_str().is_some_and(is_removed));
    let is_public = |value: &Value| *value == true || *value == 1;
    let mut others = members.iter().filter(|(name, _)| is_one_of(&["public"], name));
    is_named && (is_secret || others.any(|(_, public)| !is_public(public)))
}

/// Whether a name is one of these, in any case.
fn is_one_of(names: &[&str], name: &str) -> bool {
    names.contains(&name.to_lowercase().as_str())
}

fn walk(value: &mut Value, path: &str, removed: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let is_secret = holds_secret(members);
            members.retain(|name, value| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if is_removed(name) || (is_secret && is_one_of(&["value"], name)) {
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

    #[test]
    fn a_value_is_as_secret_as_its_name_and_its_row() {
        for (row, kept) in [
            (json!({"name": "smtp", "value": "x", "public": false}), false),
            (json!({"name": "smtp", "value": "x", "public": 0}), false),
            (json!({"name": "smtp", "value": "x", "public": null}), false),
            (json!({"name": "smtp_password", "value": "x", "public": true}), false),
            (json!({"name": "smtp_password", "value": {"a": 1}}), false),
            (json!({"name": "site_title", "value": "x", "public": true}), true),
            (json!({"name": "site_title", "value": "x", "public": 1}), true),
            (json!({"name": "colour", "value": "red"}), true),
            (json!({"value": "x", "public": false}), true),
            (json!({"Name": "smtp_password", "value": "x"}), false),
            (json!({"name": "smtp", "value": "x", "Public": false}), false),
            (json!({"key": "smtp_password", "value": "x"}), false),
            (json!({"key": "colour", "value": "red"}), true),
        ] {
            let (data, removed) = super::filter(json!({"record": row.clone(), "list": [row]}));
            let has = |row: &serde_json::Value| row.get("value").is_some();
            assert_eq!((has(&data["record"]), has(&data["list"][0])), (kept, kept), "{data}");
            let paths = ["list[0].value".to_owned(), "record.value".to_owned()];
            let mut expected = if kept { Vec::new() } else { paths.to_vec() };
            expected.sort();
            let mut removed = removed;
            // A member `key` goes too.
            removed.retain(|path| path.ends_with(".value"));
            removed.sort();
            assert_eq!(removed, expected);
        }
    }
}
