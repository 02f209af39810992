//! What the columns of `redirects` hold, and which of them people write.

use serde_json::Value as Json;

use super::{Resource, ResourceColumn};
use crate::{Error, FieldError, Result, ground::Address, parse_rfc3339};

/// What a redirect answers with (RFC 9110, 15.4 and 15.5.11).
const STATUSES: &[i64] = &[301, 302, 307, 308, 410];

pub(super) const RESOURCE: Resource = Resource {
    noun: "redirects",
    about: "Old addresses of the site, and where they lead",
    table: "redirects",
    columns: &[
        ResourceColumn {
            is_required: true,
            example: "/old",
            ..ResourceColumn::new(
                "from",
                "text",
                "Path that visitors ask for; /* at its end takes every path below it",
            )
        },
        ResourceColumn {
            example: "/new",
            ..ResourceColumn::new(
                "to",
                "text",
                "Path or address that it leads to; * stands for what * of from matched. Null \
                 with 410",
            )
        },
        ResourceColumn {
            allowed: STATUSES,
            ..ResourceColumn::new("status", "integer", "Status to answer with; 301 without it")
        },
        ResourceColumn::new(
            "language_short",
            "text",
            "Only for this language; null: for every one",
        ),
        ResourceColumn::new("active", "checkbox", "Whether it is followed; true without it"),
        ResourceColumn {
            is_written: false,
            ..ResourceColumn::new("hits", "integer", "How often it was asked for")
        },
        ResourceColumn {
            is_written: false,
            ..ResourceColumn::new("last_hit_at", "text", "When it was asked for last")
        },
    ],
};

pub(super) fn check_caller_write<'n>(
    columns: Option<impl IntoIterator<Item = &'n String>>,
) -> Result<()> {
    let is_counted = |name: &&String| {
        RESOURCE.columns.iter().any(|column| column.name == name.as_str() && !column.is_written)
    };
    match columns.into_iter().flatten().find(is_counted) {
        Some(name) => {
            Err(Error::invalid_field(name, "read_only", "the service counts: leave it out"))
        }
        None => Ok(()),
    }
}

/// What is wrong with a value of the right type; null is a value of columns that may be empty.
pub(super) fn problems(column: &str, value: &Json) -> Vec<FieldError> {
    let Some(text) = value.as_str() else { return Vec::new() };
    let problem = match column {
        "from" => {
            let bare = text.strip_suffix("/*").map(|rest| if rest.is_empty() { "/" } else { rest });
            let problem = Address::Path.problem(bare.unwrap_or(text));
            problem.map(|problem| format!("{problem}; /* at its end takes every path below it"))
        }
        // Visitors choose the text that replaces `*`.
        "to" if !is_behind_the_host(text) => Some("* may not be a part of the host".to_owned()),
        "to" => Address::Redirect.problem(&text.replacen('*', "x", 1)),
        "last_hit_at" if parse_rfc3339(text).is_none() => {
            Some("a time is expected, such as 2026-11-21T09:30:00Z".to_owned())
        }
        "language_short" if text.is_empty() => Some("write null for every language".to_owned()),
        _ => None,
    };
    let fault = |message| FieldError { field: column.to_owned(), code: "format", message };
    problem.into_iter().map(fault).collect()
}

/// Whether `*`, if there is one, comes after the host of a whole address.
fn is_behind_the_host(to: &str) -> bool {
    let Some((_, rest)) = to.split_once("://") else { return true };
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    !host.contains('*') && rest.as_bytes().get(host.len()).is_none_or(|byte| *byte == b'/')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_column_has_its_rule() {
        for (column, value, is_good) in [
            ("from", json!("/"), true),
            ("from", json!("/old/page"), true),
            ("from", json!("/old/*"), true),
            ("from", json!("/*"), true),
            ("from", json!("/old*"), false),
            ("from", json!("/old/*/x"), false),
            ("from", json!("old"), false),
            ("from", json!("/old?a=1"), false),
            ("from", json!("https://example.org/old"), false),
            ("to", json!("/new"), true),
            ("to", json!("/new/*"), true),
            ("to", json!("https://example.org/*?from=old"), true),
            ("to", json!(null), true),
            ("to", json!("/new/*/*"), false),
            ("to", json!("https://example.org"), true),
            ("to", json!("https://example.org*"), false),
            ("to", json!("https://*.example.org/"), false),
            ("to", json!("https://*"), false),
            ("to", json!("javascript:alert(1)"), false),
            ("to", json!("//example.org"), false),
            ("language_short", json!(null), true),
            ("language_short", json!("de"), true),
            ("language_short", json!(""), false),
            ("last_hit_at", json!("2026-11-21T09:30:00Z"), true),
            ("last_hit_at", json!("yesterday"), false),
        ] {
            assert_eq!(problems(column, &value).is_empty(), is_good, "{column} {value}");
        }
        assert!(check_caller_write(Some(&["from".to_owned()])).is_ok());
        assert!(check_caller_write(Some(&["hits".to_owned()])).is_err());
        assert!(check_caller_write(None::<&Vec<String>>).is_ok());
    }
}
