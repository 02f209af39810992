//! What the list shows, written into a file.

use std::path::PathBuf;

use cms_http::{
    client::Ask,
    wire::{
        NoBody,
        inbox::{Export, InboxExported},
    },
};

use super::filter::Conditions;
use crate::{screens::prelude::*, step::Saving};

const FORMATS: [&str; 2] = ["csv", "jsonl"];

pub(super) fn ask(scene: &Scene<'_>) -> Step {
    let asked = match Conditions::read(scene.filter, scene.now, scene.who) {
        Ok(conditions) => conditions.query(),
        Err(fault) => return Step::Fault(fault),
    };
    let order =
        |(column, down): (&str, bool)| if down { format!("-{column}") } else { column.into() };
    let sort = scene.sort.map(order);
    let words = if scene.filter.is_empty() { "all submissions" } else { scene.filter };
    let name = format!("inbox-{}.csv", moment::day(scene.now));
    let funnel = asked.filters.get("filter[funnel_id][eq]").map_or("", String::as_str);
    let fields = vec![
        Field::text("path", "File", &name)
            .hint("~ is your home; a file that is there stays")
            .required(),
        Field::one("format", "As", &FORMATS, 0)
            .hint("csv for spreadsheets; jsonl: a JSON object a line"),
        Field::text("funnel", "Funnel", funnel)
            .hint("id or slug: the table then has a column for each of its answers"),
    ];
    let note = format!("Writes {} as they are while it is read.", safe(words));
    Form::new("Export the inbox", fields, move |values| {
        let exported = InboxExported {
            format: Some(values.text("format")),
            funnel_id: Some(values.text("funnel")).filter(|text| !text.is_empty()),
            bom: None,
            sort: sort.clone(),
            search: asked.search.clone(),
            filters: asked.filters.clone(),
        };
        match Ask::of::<Export>(&exported, &NoBody) {
            Ok(ask) => Step::Save(Saving { ask, path: path(values) }),
            Err(error) => Step::Fault(Fault::from(error)),
        }
    })
    .note(note)
    .step()
}

/// The file, ending as its format says.
fn path(values: &Values) -> PathBuf {
    let mut path = at_home(&values.text("path"));
    if path.extension().is_some_and(|end| FORMATS.iter().any(|format| end == *format)) {
        path.set_extension(values.text("format"));
    }
    path
}

/// A path in which `~` is the user's home.
pub(crate) fn at_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}
