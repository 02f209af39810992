//! What the list shows: saved as a view, which is its filter and order under a name, or written
//! into a file. The views are those of the command line too.

use std::path::PathBuf;

use cms_http::{
    client::Ask,
    wire::{
        NoBody,
        inbox::{DeleteView, Export, InboxExported, InboxFilter, NewView, SaveView, Views},
        parameters::ById,
    },
};

use super::filter::{self, Conditions};
use crate::{screens::prelude::*, step::Saving};

/// The filter and the order that are saved.
#[derive(Clone)]
struct CurrentView {
    words: String,
    filter: InboxFilter,
    sort: Option<String>,
}

/// The order of the list, as the service takes it.
fn order(scene: &Scene<'_>) -> Option<String> {
    scene.sort.map(|(column, down)| if down { format!("-{column}") } else { column.to_owned() })
}

pub(super) fn choose(scene: &Scene<'_>) -> Step {
    let conditions = match Conditions::read(scene.filter, scene.now, scene.who) {
        Ok(conditions) => conditions,
        Err(fault) => return Step::Fault(fault),
    };
    let words = scene.filter.to_owned();
    let shown = CurrentView { words, filter: conditions.body(), sort: order(scene) };
    let (readonly, now) = (scene.readonly, scene.now);
    get::<Views>(&NoQuery {}).then(move |reply| offered(reply.data, shown, readonly, now))
}

fn said(view: &Json, now: i64) -> String {
    let words = filter::words(&view["query"]["filter"], now);
    let sort = plain_text(&view["query"]["sort"]);
    let sort = if sort.is_empty() { sort } else { format!(" by {sort}") };
    let name = plain_text(&view["name"]);
    format!("{name:<20} {}{}", cut(&safe(&words), 48), safe(&sort))
}

fn offered(views: Json, shown: CurrentView, readonly: bool, now: i64) -> Step {
    let views = items(&views).to_vec();
    let mut entries: Vec<String> = views.iter().map(|view| said(view, now)).collect();
    entries.push("all: no filter".to_owned());
    if !readonly {
        entries.push("save what is shown as a view …".to_owned());
        if !views.is_empty() {
            entries.push("delete a view …".to_owned());
        }
    }
    Step::Menu(Menu::new("Saved views", entries, move |n| match n.checked_sub(views.len()) {
        None => see(&views[n]["query"], now),
        Some(0) => see(&Json::Null, now),
        Some(1) => save(shown),
        Some(_) => delete(views, now),
    }))
}

fn see(query: &Json, now: i64) -> Step {
    let sort = query["sort"].as_str().unwrap_or_default();
    // Lists of the interface have one order at a time.
    let first = sort.split(',').next().unwrap_or_default().to_owned();
    Step::Several(vec![
        Step::Set("sort", first),
        Step::Set("filter", filter::words(&query["filter"], now)),
    ])
}

fn save(shown: CurrentView) -> Step {
    let words = if shown.words.is_empty() { "no filter" } else { &shown.words };
    let mut note = format!("Shows: {}.", safe(words));
    if let Some(sort) = &shown.sort {
        note.push_str(&format!(" In the order {sort}."));
    }
    if ["since:", "before:", "visit:under-way"].iter().any(|word| shown.words.contains(word)) {
        note.push_str(
            " The time of since:2d, before:12h or visit:under-way is kept as the moment that it is \
             now.",
        );
    }
    let field = Field::text("name", "Name", "").required();
    let hint = "one of the same name is replaced";
    Form::new("Save a view", vec![field.hint(hint)], move |values| {
        let name = values.text("name");
        let mut new = NewView::new(&name);
        (new.query.filter, new.query.sort) = (shown.filter.clone(), shown.sort.clone());
        send::<SaveView>(&NoQuery {}, &new).did(format!("The view {name} is saved"))
    })
    .note(note)
    .step()
}

fn delete(views: Vec<Json>, now: i64) -> Step {
    let entries = views.iter().map(|view| said(view, now)).collect();
    Step::Menu(Menu::new("Delete a view", entries, move |n| {
        let Some(view) = views.into_iter().nth(n) else { return Step::None };
        let (name, id) = (plain_text(&view["name"]), view["id"].as_i64().unwrap_or_default());
        Step::Confirm(Confirm::new(format!("Delete the view {name}?"), move || {
            get::<DeleteView>(&ById { id }).did(format!("The view {name} is deleted"))
        }))
    }))
}

const FORMATS: [&str; 2] = ["csv", "jsonl"];

pub(super) fn export(scene: &Scene<'_>) -> Step {
    let asked = match Conditions::read(scene.filter, scene.now, scene.who) {
        Ok(conditions) => conditions.query(),
        Err(fault) => return Step::Fault(fault),
    };
    let sort = order(scene);
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
            Ok(ask) => Step::Save(Saving { ask, path: export_path(values) }),
            Err(error) => Step::Fault(Fault::from(error)),
        }
    })
    .note(note)
    .step()
}

/// The file, ending as its format says.
fn export_path(values: &Values) -> PathBuf {
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
