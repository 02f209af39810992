//! Widgets as the registry knows them: titles, groups, menus. A form from the menu of a widget, or
//! of its items, has a field for each entry, by its type.

use std::sync::Arc;

use cms_http::wire::widgets::{Read, WhichWidgets};

use crate::{
    calls::LONGEST,
    screens::prelude::*,
    widgets::{field::Kind, input::Input},
};

/// Widgets of a page.
const MOST: u32 = 500;

/// The registry, as far as it was read, in the order of its picker.
#[derive(Clone, Debug, Default)]
pub(super) struct WidgetRegistry {
    pub(super) is_read: bool,
    pub(super) has_failed: bool,
    widgets: Arc<Vec<Json>>,
}

/// All that can be placed, from this page on.
pub(super) fn all(cursor: Option<String>) -> Result<Calling, Fault> {
    get::<Read>(&WhichWidgets { limit: Limit(MOST), cursor, ..WhichWidgets::default() })
}

/// One, with values that are not cut.
pub(super) fn one(name: &str) -> Result<Calling, Fault> {
    get::<Read>(&WhichWidgets { widget: Some(name.to_owned()), ..WhichWidgets::default() })
}

/// The entries of a menu.
pub(super) fn menu<'w>(widget: &'w Json, kind: &str) -> &'w [Json] {
    let name = if kind == "item" { "item_menu" } else { "menu" };
    items(&widget[name])
}

impl WidgetRegistry {
    #[cfg(test)]
    pub(super) fn of(widgets: Json) -> Self {
        let mut known = Self::default();
        known.take(Ok(Reply { data: widgets, ..Reply::default() }));
        known
    }

    /// It is read from its beginning.
    pub(super) fn begin(&mut self) {
        self.widgets = Arc::default();
    }

    /// Takes a page of the registry. Returns where the next one starts.
    pub(super) fn take(&mut self, page: Result<Reply, Fault>) -> Option<String> {
        let Ok(Reply { data: Json::Array(mut more), next, .. }) = page else {
            *self = Self { has_failed: true, ..Self::default() };
            return None;
        };
        Arc::make_mut(&mut self.widgets).append(&mut more);
        (self.is_read, self.has_failed) = (next.is_none(), false);
        next
    }

    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.widgets.iter().find(|one| one["name"] == name)
    }

    /// Group and name of each, for a picker.
    pub(super) fn options(&self) -> Vec<(String, String)> {
        self.widgets.iter().map(option).collect()
    }

    /// What an editor calls a member of a node's values.
    pub(super) fn label(&self, node: &Json, row: &str) -> Option<String> {
        let widget = self.get(node["widget"].as_str()?)?;
        let menu = menu(widget, node["kind"].as_str()?);
        let entry = menu.iter().find(|entry| entry["row"] == row)?;
        Some(plain_text(&entry["label"]))
    }
}

fn option(widget: &Json) -> (String, String) {
    let text = |name: &str| plain_text(&widget[name]);
    (text("group_title"), format!("{} · {}", text("name"), text("title")))
}

/// The name in an option of the picker.
pub(super) fn name_in(option: &str) -> &str {
    option.split(" · ").next().unwrap_or_default()
}

fn text_of(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn field(entry: &Json, value: &Json) -> Field {
    let (text, options) = (text_of(value), entry["options"].as_array());
    let kind = entry["type"].as_str().unwrap_or_default();
    let made = match (kind, options) {
        _ if text.len() >= LONGEST => {
            Kind::Fixed(format!("{} KB: too long to edit here", text.len() / 1000))
        }
        ("select", Some(options)) => chosen(options, value, entry["table"].is_string()),
        ("checkbox", _) => Kind::Flag(value.as_bool()),
        ("number", _) => Kind::Number(Input::of(&text)),
        ("textarea" | "richtext_editor" | "code_editor", _) => Kind::Text(Input::lines(&text)),
        ("password", _) => Kind::Secret(Input::default()),
        _ => Kind::Text(Input::of(&text)),
    };
    let row = plain_text(&entry["row"]);
    Field::new(&row, &plain_text(&entry["label"]), made).hint(hint(&row, kind, entry))
}

fn hint(row: &str, kind: &str, entry: &Json) -> String {
    let how = match (kind, entry["table"].as_str()) {
        ("select", Some(table)) => format!("a value of the table {}", plain_text(&table.into())),
        ("richtext_editor", _) => "HTML".to_owned(),
        ("code_editor", _) => "LESS".to_owned(),
        ("image", _) => "a path such as /media/ab/picture.webp".to_owned(),
        ("date", _) => "YYYY-MM-DD".to_owned(),
        ("time", _) => "HH:MM".to_owned(),
        ("datetime", _) => "such as 2026-11-21T09:30:00Z".to_owned(),
        ("color", _) => "#rgb, #rrggbb or #rrggbbaa".to_owned(),
        ("password", _) => "empty: it stays as it is".to_owned(),
        (kind, _) => plain_text(&kind.into()),
    };
    format!("{row}: {how}")
}

/// Values from a table are kept as text, whatever its column holds.
fn chosen(options: &[Json], value: &Json, is_of_table: bool) -> Kind {
    let kept = |value: &Json| match is_of_table {
        true => text_of(value).into(),
        false => value.clone(),
    };
    let option = |one: &Json| (plain_text(&one["title"]), kept(&one["value"]));
    Kind::choice(options.iter().map(option).collect(), value, "no option")
}

/// A field for each entry of a menu, with these values.
pub(super) fn fields(menu: &[Json], data: &Json) -> Vec<Field> {
    menu.iter()
        .map(|entry| field(entry, &data[entry["row"].as_str().unwrap_or_default()]))
        .collect()
}

/// Whether what stood in a row is never read back.
pub(super) fn is_password(menu: &[Json], row: &str) -> bool {
    menu.iter().any(|entry| entry["row"] == row && entry["type"] == "password")
}

/// What the user changed. An empty password stays as it is.
pub(super) fn changed(menu: &[Json], values: &Values) -> Map<String, Json> {
    let mut changed = values.changed.clone();
    changed.retain(|row, value| !(value.is_null() && is_password(menu, row)));
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_read_page_by_page() {
        let mut known = WidgetRegistry::default();
        let page = |name: &str, next: Option<&str>| {
            let next = next.map(str::to_owned);
            Ok(Reply { data: json!([{"name": name}]), next, ..Reply::default() })
        };
        assert_eq!(known.take(page("a", Some("c1"))).as_deref(), Some("c1"));
        assert!(!known.is_read, "the rest is not known yet");
        assert_eq!(known.take(page("b", None)), None);
        assert!(known.is_read && known.get("a").is_some() && known.get("b").is_some());
        assert_eq!(known.take(Err(Fault::new("away"))), None);
        assert!(known.has_failed && !known.is_read);
    }

    #[test]
    fn each_type_has_its_input() {
        let options = json!([{"value": 1, "title": "One"}, {"value": 2, "title": "Two"}]);
        let menu: Vec<_> = [
            ("title", "text"),
            ("text", "richtext_editor"),
            ("amount", "number"),
            ("show_date", "checkbox"),
            ("secret", "password"),
        ]
        .map(|(row, kind)| json!({"row": row, "type": kind, "label": row}))
        .into_iter()
        .chain([json!({"row": "per_row", "type": "select", "label": "In", "options": options})])
        .collect();
        let data = json!({"title": "A", "text": "<p>\n</p>", "amount": 3, "per_row": 9});
        let fields = fields(&menu, &data);
        let values: Vec<_> = fields.iter().map(|field| field.value().expect("a value")).collect();
        let expected = [json!("A"), json!("<p>\n</p>"), json!(3), Json::Null, Json::Null, json!(9)];
        assert_eq!(values, expected, "what is no option stays what it is");
        assert!(fields.iter().all(|field| !field.is_changed()));
        let mut values = Values::default();
        let title = ("title".to_owned(), Json::from("B"));
        values.changed.extend([("secret".to_owned(), Json::Null), title.clone()]);
        assert_eq!(changed(&menu, &values), Map::from_iter([title]));
    }

    /// A table has numbers, the service keeps texts.
    #[test]
    fn a_value_from_a_table_is_found_again() {
        let options = json!([{"value": 3, "title": "Contact"}, {"value": 4, "title": "Quote"}]);
        let entry = json!({"row": "form", "type": "select", "label": "Form", "table": "forms",
            "options": options});
        let mut made = field(&entry, &json!("3"));
        match &made.kind {
            Kind::One { options, at } => {
                assert_eq!(at.map(|at| options[at].0.as_str()), Some("Contact"));
            }
            other => panic!("{other:?}"),
        }
        made.key("Right".parse().expect("a key"));
        assert_eq!(made.value(), Ok(json!("4")), "as the service reads it back");
    }

    #[test]
    fn what_was_cut_is_not_offered() {
        let entry = json!({"row": "text", "type": "textarea", "label": "Text"});
        let made = field(&entry, &Json::from("x".repeat(LONGEST)));
        assert!(matches!(made.kind, Kind::Fixed(_)));
    }
}
