//! The notes of one submission.

use serde_json::{Map, Value as Json};

use super::{name, save, whole};
use crate::{
    step::{Form, Step},
    widgets::{
        field::{Field, Kind},
        form::Values,
        input::Input,
    },
};

/// Reads them whole, then shows their form.
pub(super) fn edit(row: &Json) -> Step {
    whole(row).map(|call| call.then(|reply| form(reply.data))).into()
}

fn form(seen: Json) -> Step {
    let mut text = Input::of(seen["inbox_notes"].as_str().unwrap_or_default());
    text.is_multiline = true;
    let field = Field::new("inbox_notes", "Notes", Kind::Text(text));
    let title = format!("Notes of {}", name(&seen));
    let submit = move |values: &Values| {
        let notes = values.all.get("inbox_notes").and_then(Json::as_str).unwrap_or_default();
        if values.changed.is_empty() {
            return Step::Tell("Nothing was changed.".to_owned());
        }
        let wanted = Map::from_iter([("inbox_notes".to_owned(), Json::from(notes))]);
        save::write(seen.clone(), wanted, "has its new notes".to_owned())
    };
    let note = "For the staff; visitors never see them. What others write meanwhile is kept.";
    Form::new(title, vec![field], submit).note(note).step()
}
