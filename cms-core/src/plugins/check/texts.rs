//! Texts that people read: no characters that hide, or that turn the direction of what follows.

use serde_json::Value as Json;

use super::Check;
use crate::plain::is_hidden;

/// Members that hold such texts.
const TEXTS: [&str; 8] = [
    "title",
    "support_text",
    "submit_text",
    "placeholder",
    "widget_title",
    "widget_subtitle",
    "description",
    "version",
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
                        // There the title names a column.
                        Json::String(_) if at.ends_with("/select_value/title") => {}
                        Json::String(text) if TEXTS.contains(&name.as_str()) => {
                            self.text(&at, text);
                        }
                        // Values of rows, whatever they are.
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
