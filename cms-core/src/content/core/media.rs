//! What the columns of `media` hold, and which of them people write.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::{Code, Error, FieldError, Result, ground::plain::is_language};

/// The columns that items may change: the texts.
const TEXTS: [&str; 2] = ["alt", "title"];
/// Characters of a text at most.
const TEXT: usize = 1000;
/// Characters of a name or a folder at most.
const NAME: usize = 200;
/// Folders within each other at most.
const DEEP: usize = 8;

/// Files are uploaded and removed; as items only their texts change.
pub(super) fn check_caller_write<'n>(
    columns: Option<impl IntoIterator<Item = &'n String>>,
) -> Result<()> {
    let why = "files are uploaded, filed and removed at /api/backend/media; as an item only alt \
               and title change";
    let Some(columns) = columns else {
        return Err(Error::new(
            Code::MethodNotAllowed,
            format!("Items make and remove no files: {why}."),
        ));
    };
    match columns.into_iter().find(|name| !TEXTS.contains(&name.as_str())) {
        Some(other) => Err(Error::invalid_field(other, "read_only", why)),
        None => Ok(()),
    }
}

/// What is wrong with a value of the right type; null is a value of columns that may be empty.
pub(super) fn problems(column: &str, value: &Json) -> Vec<FieldError> {
    let fault = match column {
        _ if value.is_null() => None,
        "file_name" if !is_name(value) => Some("1 to 200 characters without / are expected"),
        "folder" if !is_folder(value) => Some(
            "names joined by / are expected, such as products/2026: up to 8, of 200 characters",
        ),
        "alt" | "title" if !are_texts(value) => Some(
            "an object of texts by language is expected, such as {\"en\": \"A bicycle\"}; each \
             language once, up to 1000 characters each",
        ),
        "focal_x" | "focal_y" if !is_share(value) => {
            Some("0 to 1 is expected: from the left, from the top")
        }
        _ => None,
    };
    fault.map_or_else(Vec::new, |message| {
        vec![FieldError { field: column.to_owned(), code: "format", message: message.to_owned() }]
    })
}

fn is_name(value: &Json) -> bool {
    let text = value.as_str().unwrap_or_default();
    !text.is_empty() && text.chars().count() <= NAME && !text.contains(['/', '\\'])
}

fn is_folder(value: &Json) -> bool {
    let text = value.as_str().unwrap_or_default();
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.trim() == part;
    text.is_empty()
        || (text.chars().count() <= NAME
            && text.split('/').count() <= DEEP
            && !text.contains('\\')
            && text.split('/').all(is_part))
}

/// Whether the value has a text for each language, each language once: `de` or `DE`.
fn are_texts(value: &Json) -> bool {
    value.as_object().is_some_and(|texts| {
        let mut languages = BTreeSet::new();
        texts.iter().all(|(language, text)| {
            is_language(language)
                && languages.insert(language.to_ascii_lowercase())
                && text.as_str().is_some_and(|text| text.chars().count() <= TEXT)
        })
    })
}

fn is_share(value: &Json) -> bool {
    value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_column_has_its_rule() {
        for (column, value, is_good) in [
            ("file_name", json!("a.png"), true),
            ("file_name", json!("../a.png"), false),
            ("file_name", json!(""), false),
            ("file_name", json!("a".repeat(201)), false),
            ("folder", json!(""), true),
            ("folder", json!("products/2026"), true),
            ("folder", json!("/products"), false),
            ("folder", json!("a/../b"), false),
            ("folder", json!("a//b"), false),
            ("folder", json!("a/ b"), false),
            ("folder", json!("a/b/c/d/e/f/g/h/i"), false),
            ("alt", json!({}), true),
            ("alt", json!({"en": "A", "de-AT": ""}), true),
            ("alt", json!("A"), false),
            ("alt", json!({"de_DE": "A"}), true),
            ("alt", json!({"de": "A", "DE": "A"}), false),
            ("alt", json!({"english language": "A"}), false),
            ("alt", json!({"": "A"}), false),
            ("title", json!({"en": 7}), false),
            ("title", json!({"en": "x".repeat(1001)}), false),
            ("focal_x", json!(0.5), true),
            ("focal_x", json!(null), true),
            ("focal_y", json!(1.01), false),
            ("focal_y", json!(-0.1), false),
        ] {
            assert_eq!(problems(column, &value).is_empty(), is_good, "{column} {value}");
        }
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert!(check_caller_write(Some(&names(&["alt", "title"]))).is_ok());
        assert!(check_caller_write(Some(&names(&["alt", "path"]))).is_err());
        assert!(check_caller_write(None::<&Vec<String>>).is_err());
    }
}
