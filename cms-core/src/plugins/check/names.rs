//! Checks names, and texts that people read: such a text has no hidden characters, and none that
//! change the direction of the text after them.

use serde_json::Value as Json;

use super::Check;
use crate::plain::is_hidden;

pub(super) const IDENTIFIER: &str = "lower-case letters, digits and _, a letter first,";

/// Columns that every table has on PostgreSQL.
pub(super) const SYSTEM: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

pub(super) fn is_identifier(name: &str) -> bool {
    let starts = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    starts
        && name.len() <= 60
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Parts of letters, digits, `_` and `-`, with slashes between them.
pub(super) fn is_path(path: &str) -> bool {
    path.len() <= 200 && path.split('/').all(is_word)
}

/// A path whose parts after the first may be parameters, `{id}`, each with a name of its own.
pub(super) fn is_endpoint(path: &str) -> bool {
    let mut names = std::collections::BTreeSet::new();
    let mut parts = path.split('/');
    path.len() <= 200
        && parts.next().is_some_and(is_word)
        && parts.all(|part| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => is_identifier(name) && names.insert(name),
            None => is_word(part),
        })
}

/// The path of a picture within its widget's folder.
pub(super) fn is_icon(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(stem, end)| {
        is_path(stem) && ["svg", "png", "jpg", "jpeg", "webp"].contains(&end)
    })
}

pub(super) fn is_word(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

/// Members whose texts people read.
const TEXTS: [&str; 8] = [
    "title", "support_text", "submit_text", "placeholder", "widget_title", "widget_subtitle",
    "description", "version",
];

impl Check<'_> {
    pub(super) fn texts(&mut self) {
        self.text("/name", &self.manifest.name);
        let Ok(manifest) = serde_json::to_value(self.manifest) else { return };
        self.texts_in(&manifest, "");
    }

    fn texts_in(&mut self, value: &Json, at: &str) {
        match value {
            Json::Object(members) => {
                for (name, member) in members {
                    let at = format!("{at}/{name}");
                    match member {
                        // In this place the title names a column.
                        Json::String(_) if at.ends_with("/select_value/title") => {}
                        Json::String(text) if TEXTS.contains(&name.as_str()) => {
                            self.text(&at, text);
                        }
                        // Values of rows may be anything.
                        _ if ["default", "enum", "value"].contains(&name.as_str()) => {}
                        member => self.texts_in(member, &at),
                    }
                }
            }
            Json::Array(elements) => {
                for (i, element) in elements.iter().enumerate() {
                    self.texts_in(element, &format!("{at}/{i}"));
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, at: &str, text: &str) {
        if let Some(found) = text.chars().find(|c| is_hidden(*c) && !matches!(c, '\n' | '\t')) {
            let remedy = format!(
                "no control characters and none that turn the direction of text: it holds U+{:04X}",
                u32::from(found)
            );
            self.fault(at, remedy);
        }
    }
}
