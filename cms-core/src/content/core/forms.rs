//! What the columns of `forms` hold.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::{
    FieldError,
    fields::{Fields, address, broken_links},
    ground::plain,
};

/// Characters of a name at most.
const NAME: usize = 64;
/// Characters of a title at most.
const TITLE: usize = 200;
/// Characters of a text of thanks at most.
const THANKS: usize = 5000;
/// Recipients at most.
const RECIPIENTS: usize = 20;

/// Field types that one call cannot carry.
const BEYOND: [(&str, &str); 3] = [
    ("file_upload", "forms take no files yet"),
    ("signature", "forms take no files yet"),
    ("payment", "forms take no payments"),
];

/// What is wrong with a value of the right type; null is a value of columns that may be empty.
pub(super) fn problems(column: &str, value: &Json) -> Vec<FieldError> {
    let wrong = |field: String, code, message: &str| FieldError {
        field,
        code,
        message: message.to_owned(),
    };
    let unless = |good: bool, code, message: &str| {
        if good { Vec::new() } else { vec![wrong(column.to_owned(), code, message)] }
    };
    let text = value.as_str().unwrap_or_default();
    match column {
        _ if value.is_null() => Vec::new(),
        "name" => unless(
            is_name(text),
            "format",
            "a small letter, then up to 63 small letters, digits, _ and - are expected",
        ),
        "title" => match plain::problem(column, text) {
            Some(problem) => vec![problem],
            None => unless(text.chars().count() <= TITLE, "range", "at most 200 characters"),
        },
        "thanks" => unless(text.chars().count() <= THANKS, "range", "at most 5000 characters"),
        "redirect_url" => unless(!text.is_empty(), "format", "write null for none"),
        "min_seconds" => unless(
            value.as_i64().is_some_and(|seconds| (0..=600).contains(&seconds)),
            "range",
            "0 to 600 seconds are expected",
        ),
        "retention_days" => unless(
            value.as_i64().is_some_and(|days| (1..=36_500).contains(&days)),
            "range",
            "1 to 36500 days are expected, or null to keep submissions",
        ),
        "fields" => fields(value),
        "recipients" => match value.as_array().filter(|list| list.len() <= RECIPIENTS) {
            None => unless(false, "type", "a list of at most 20 addresses of mail is expected"),
            Some(list) => {
                let place = |at: usize| format!("{column}[{at}]");
                let (mut seen, mut faults) = (BTreeSet::new(), Vec::new());
                for (at, one) in list.iter().enumerate() {
                    match recipient(one) {
                        Err(message) => faults.push(wrong(place(at), "format", &message)),
                        Ok(address) if seen.insert(address.to_lowercase()) => {}
                        Ok(_) => {
                            let message = "this address is an earlier recipient: leave it out";
                            faults.push(wrong(place(at), "duplicate", message));
                        }
                    }
                }
                faults
            }
        },
        _ => Vec::new(),
    }
}

/// An address in its stored form; else how to mend it.
fn recipient(given: &Json) -> Result<String, String> {
    let text = given.as_str().unwrap_or_default();
    if text.trim() != text {
        return Err("an address without spaces around it is expected".to_owned());
    }
    address(text)
}

fn fields(declared: &Json) -> Vec<FieldError> {
    let mut faults = match Fields::read(declared) {
        Ok(fields) => fields.uncomputable(),
        Err(faults) => faults,
    };
    faults.extend(broken_links(declared));
    for (at, one) in declared.as_array().into_iter().flatten().enumerate() {
        let beyond = BEYOND.iter().find(|(name, _)| one["type"] == *name);
        faults.extend(beyond.map(|(name, why)| FieldError {
            field: format!("[{at}]"),
            code: "unknown_field_type",
            message: format!("{why}: leave {name} out"),
        }));
    }
    for fault in &mut faults {
        fault.field = format!("fields{}", fault.field);
    }
    faults
}

/// Names begin with a letter, so that no name can be an id.
fn is_name(text: &str) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    text.len() <= NAME
        && text.bytes().all(fits)
        && text.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_column_has_its_rule() {
        let long = "x".repeat(201);
        let too_long = format!("{}@{}org", "x".repeat(60), "example.".repeat(25));
        for (column, value, told) in [
            ("name", json!("contact"), None),
            ("name", json!("a-b_9"), None),
            ("name", json!("9"), Some("name")),
            ("name", json!("Contact"), Some("name")),
            ("name", json!(""), Some("name")),
            ("name", json!("a".repeat(65)), Some("name")),
            ("title", json!("Write to us"), None),
            ("title", json!("a\u{202e}b"), Some("title")),
            ("title", json!(long), Some("title")),
            ("thanks", json!("Thank you,\nwe answer soon."), None),
            ("thanks", json!("x".repeat(5001)), Some("thanks")),
            ("redirect_url", json!(null), None),
            ("redirect_url", json!(""), Some("redirect_url")),
            ("min_seconds", json!(0), None),
            ("min_seconds", json!(601), Some("min_seconds")),
            ("retention_days", json!(null), None),
            ("retention_days", json!(30), None),
            ("retention_days", json!(0), Some("retention_days")),
            ("recipients", json!([]), None),
            ("recipients", json!(["Sales@Example.org", "ü@bücher.example"]), None),
            ("recipients", json!("a@example.org"), Some("recipients")),
            ("recipients", json!(["a@example.org", "a@b.c,d@e.f"]), Some("recipients[1]")),
            ("recipients", json!(["a@example.org\r\nBcc: b@example.org"]), Some("recipients[0]")),
            ("recipients", json!(vec!["a@example.org"; 21]), Some("recipients")),
            ("recipients", json!(["a@example.org", "A@EXAMPLE.org"]), Some("recipients[1]")),
            ("recipients", json!(["a@example.org", 7]), Some("recipients[1]")),
            ("recipients", json!([" a@example.org"]), Some("recipients[0]")),
            ("recipients", json!([too_long]), Some("recipients[0]")),
            ("fields", json!([{"id": "a", "type": "email"}]), None),
            ("fields", json!({"a": "email"}), Some("fields")),
            ("fields", json!([{"id": "a", "type": "email"}, {"id": "a"}]), Some("fields[1]")),
            ("fields", json!([{"id": "a", "type": "file_upload"}]), Some("fields[0]")),
            (
                "fields",
                json!([{"id": "a", "type": "calculated", "expression": "b + 1"}]),
                Some("fields[0]"),
            ),
            ("active", json!(true), None),
        ] {
            let found = problems(column, &value);
            let first = found.first().map(|problem| problem.field.as_str());
            assert_eq!((first, found.len() <= 1), (told, true), "{column} {value}: {found:?}");
        }
    }
}
