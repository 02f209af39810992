//! Saved views: filter and order under a name. They are those of the command line too.

use cms_http::wire::{
    inbox::{DeleteView, InboxFilter, NewView, SaveView, Views},
    parameters::ById,
};

use super::filter::{self, Conditions};
use crate::screens::prelude::*;

/// The filter and the order that are saved.
#[derive(Clone)]
struct CurrentView {
    words: String,
    filter: InboxFilter,
    sort: Option<String>,
}

pub(super) fn choose(scene: &Scene<'_>) -> Step {
    let order =
        |(column, down): (&str, bool)| if down { format!("-{column}") } else { column.into() };
    let conditions = match Conditions::read(scene.filter, scene.now, scene.who) {
        Ok(conditions) => conditions,
        Err(fault) => return Step::Fault(fault),
    };
    let words = scene.filter.to_owned();
    let shown = CurrentView { words, filter: conditions.body(), sort: scene.sort.map(order) };
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
