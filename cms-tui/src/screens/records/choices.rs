//! The choices of columns, as the forms of the table's plugin offer them.

use std::collections::BTreeMap;

use cms_http::wire::plugins::{Buttons, WhichButtons};

use super::name;
use crate::screens::prelude::*;

/// Title and value of each choice, by column.
pub(super) type Choices = BTreeMap<String, Vec<(String, Json)>>;

/// Reads the choices, then goes on. There are none for whoever does not see the plugin.
pub(super) fn read(table: &Json, next: impl FnOnce(Choices) -> Step + Send + 'static) -> Step {
    let plugin = table["plugin"].as_str().filter(|plugin| *plugin != "core");
    let Some(plugin) = plugin.map(str::to_owned) else { return next(Choices::new()) };
    let table = name(table);
    get::<Buttons>(&WhichButtons { plugin, row: None }).ending(move |outcome| {
        let mut choices = Choices::new();
        collect(&table, &outcome.unwrap_or_default().data, &mut choices);
        next(choices)
    })
}

/// The first form with choices for a column counts.
fn collect(table: &str, buttons: &Json, into: &mut Choices) {
    for button in items(buttons) {
        let fields = items(&button["editable_rows"]).iter();
        for field in fields.filter(|_| button["table"] == table) {
            let column = field["column"].as_str().unwrap_or_default();
            let options = field["options"].as_array().filter(|options| !options.is_empty());
            if let Some(options) = options {
                let choice = |option: &Json| {
                    let title = option["title"].as_str().unwrap_or_default();
                    (title.to_owned(), option["value"].clone())
                };
                let made = || options.iter().map(choice).collect();
                into.entry(column.to_owned()).or_insert_with(made);
            }
        }
        collect(table, &button["buttons"], into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_from_forms_of_this_table() {
        let field = |column: &str, values: &[&str]| {
            let options: Vec<_> =
                values.iter().map(|value| json!({"title": value, "value": value})).collect();
            json!({"column": column, "type": "select", "options": options})
        };
        let buttons = json!([
            {"table": "other", "editable_rows": [field("status", &["wrong"])]},
            {"table": null, "buttons": [
                {"table": "posts", "editable_rows": [field("status", &["new", "done"])]},
            ]},
            {"table": "posts", "editable_rows": [field("status", &["later"]), field("kind", &[])]},
        ]);
        let mut choices = Choices::new();
        collect("posts", &buttons, &mut choices);
        let titles: Vec<_> = choices["status"].iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!((titles, choices.len()), (vec!["new", "done"], 1));
    }
}
