//! Pages: the list, and what can be done with a page as a whole.
//!
//! ```text
//! tree       the screen of one: its draft drawn as a tree, edited there
//! nodes      a draft as the lines of a tree
//! wording    the state of a page, and what two of its states differ in, in words
//! hold       changes sent only while the draft is as it was seen
//! plan       when a page is published and taken off by itself
//! make       a new page; a draft made that of another page
//! links      links that show a draft without a login: made, listed, taken back
//! revisions  what was published: compared, restored
//! ```

mod hold;
mod links;
mod make;
mod nodes;
mod plan;
mod revisions;
mod tree;
mod wording;

use std::collections::BTreeSet;

use cms_http::wire::{
    item,
    pagebuilder::{Compared, Diff, Discard, MayName, OfPage, OnePage, Publish, Read, TakeOff},
};

pub(super) use links::SPEC as LINKS;
pub(super) use revisions::SPEC as REVISIONS;
pub(super) use tree::PageTree;

use super::prelude::*;
use hold::{DraftView, OthersEdits, reading};

pub(crate) static SPEC: Spec = Spec {
    count: Some(count),
    extra: Some(&plan::EXTRA_COLUMNS),
    detail: Some(|row, _| draft(acts::id(row))),
    preview: |row, draft, _, _| preview(row, draft),
    tokens: Some(|_| TOKENS.to_owned()),
    sorts: |_| SORTS.map(str::to_owned).to_vec(),
    open: Some(|row, _| Step::Open(Place::about("page", &about(row)))),
    empty: "No page yet: n makes one.",
    follows: |event, _| event.starts_with("page.") || event.starts_with("item.pages."),
    ..Spec::new("pages", |_| "Pages".to_owned(), columns, list, act)
};

const TOKENS: &str = "lang:de is:published is:hidden TEXT";
const SORTS: [&str; 4] = ["url_rewrite", "title", "language_short", "id"];
const FIELDS: &str = "id,base_id,language_short,url_rewrite,title,view,published";

/// A page as its screens know it: its record, and its id where those of nodes stand beside it.
fn about(row: &Json) -> Json {
    let mut page = row.as_object().cloned().unwrap_or_default();
    page.insert("page_id".to_owned(), row["id"].clone());
    Json::Object(page)
}

fn page_id(page: &Json) -> i64 {
    page["page_id"].as_i64().unwrap_or_else(|| acts::id(page))
}

/// Its address, which people know it by.
fn address(page: &Json) -> String {
    plain_text(&page["url_rewrite"])
}

/// The draft of a page, with its entity tag.
fn draft(page: i64) -> Result<Calling, Fault> {
    get::<Read>(&OfPage { page_id: page })
}

/// The record of a page.
fn record(page: i64) -> Result<Calling, Fault> {
    get::<item::Read>(&item::WhichItems {
        table: "pages".to_owned(),
        id: Some(page.to_string()),
        fields: Some(FIELDS.to_owned()),
        ..item::WhichItems::default()
    })
}

/// What leads from one state of a page to another: numbers of revisions, or `draft`.
fn diff(page: i64, from: Option<String>, to: Option<String>) -> Result<Calling, Fault> {
    get::<Diff>(&Compared { page_id: page, from, to })
}

/// Who did something.
fn who(row: &Json, name: &str, _: i64) -> Cell {
    let actor = &row[name];
    let name = actor["name"].as_str().or(actor["kind"].as_str()).unwrap_or_default();
    (plain_text(&name.into()), Role::Plain)
}

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<item::Read>(&query(asked)?)
}

fn count(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let (limit, count) = (Some("1".to_owned()), Some("true".to_owned()));
    let which = item::WhichItems { limit, count, sort: None, cursor: None, ..query(asked)? };
    get::<item::Read>(&which)
}

fn query(asked: &ListQuery<'_>) -> Result<item::WhichItems, Fault> {
    let mut which = item::WhichItems {
        table: "pages".to_owned(),
        fields: Some(FIELDS.to_owned()),
        limit: Some(PAGE.to_string()),
        cursor: asked.cursor.clone(),
        sort: asked.sort.clone().or_else(|| Some(SORTS[0].to_owned())),
        ..item::WhichItems::default()
    };
    let (pieces, mut text) = (pieces(asked.filter), Vec::new());
    for piece in &pieces {
        let (column, value) = match piece.word() {
            Word::Text(word) => {
                text.push(word);
                continue;
            }
            Word::Token("lang", language) => ("language_short", language),
            Word::Token("is", "published") => ("published", "true"),
            Word::Token("is", "hidden") => ("published", "false"),
            Word::Token(name, _) => return Err(unknown(name, TOKENS)),
        };
        which.filters.insert(format!("filter[{column}][eq]"), value.to_owned());
    }
    which.search = (!text.is_empty()).then(|| text.join(" "));
    Ok(which)
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("ADDRESS", "url_rewrite", 0, plain),
        column("TITLE", "title", 0, plain),
        column("LANG", "language_short", 4, plain),
        column("STATE", "published", 11, state),
        column("VIEW", "view", 12, plain).from(96),
    ]
}

fn state(row: &Json, name: &str, _: i64) -> Cell {
    match row[name].as_bool() {
        Some(true) => ("● published".to_owned(), Role::Good),
        _ => ("○ hidden".to_owned(), Role::Quiet),
    }
}

fn preview(row: &Json, draft: Option<&Json>) -> Lines {
    let Some(draft) = draft else { return vec![loading()] };
    let mut lines = wording::state(draft);
    lines.push((Role::Title, "Draft".to_owned()));
    let rows = nodes::rows(&about(row), draft, &BTreeSet::new());
    lines.extend(rows.iter().map(|row| (Role::Plain, nodes::line(&row.json))));
    lines
}

/// In the list: the draft is read first, so that the question is about what it is now.
fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let page = about(scene.row.unwrap_or(&Json::Null));
    let verb = verb.to_owned();
    match verb.as_str() {
        "new" => make::begin_new(),
        "revisions" | "compare" | "copy" | "link" | "links" => {
            let seen = DraftView { page, ..DraftView::default() };
            whole(&verb, seen)
        }
        _ => reading(&page, move |seen| whole(&verb, seen)),
    }
}

/// With the draft as it was seen.
fn whole(verb: &str, seen: DraftView) -> Step {
    match verb {
        "show" => Step::View(Viewer::json(seen.name(), &seen.state)),
        "publish" => publish(seen),
        "take_off" => take_off(&seen),
        "discard" => discard(seen),
        "schedule" => plan::form(seen),
        "revisions" => Step::Open(Place::about("revisions", &seen.page)),
        "compare" => compare(&seen.page, None, None),
        "copy" => make::begin_copy(&seen.page),
        "link" => links::make_link(&seen.page),
        "links" => Step::Open(Place::about("links", &seen.page)),
        _ => Step::None,
    }
}

/// Shows what leads from one state to another; without both, what publishing would change.
fn compare(page: &Json, from: Option<String>, to: Option<String>) -> Step {
    let said = |state: &Option<String>, usual: &str| match state.as_deref() {
        Some("draft") => "draft".to_owned(),
        Some(number) => format!("revision {number}"),
        None => usual.to_owned(),
    };
    let states = format!("{} → {}", said(&from, "published"), said(&to, "draft"));
    let title = format!("{} · {states}", address(page));
    // Long texts may differ at their end.
    diff(page_id(page), from, to).map(Calling::whole::<Diff>).then(move |reply| {
        Step::View(Viewer::new(title, wording::differences(&reply.data, wording::WIDE)))
    })
}

/// Reads what the draft has changed, then goes on.
fn changed(
    seen: DraftView,
    next: impl FnOnce(DraftView, &[Json]) -> Step + Send + 'static,
) -> Step {
    diff(seen.id(), None, None).then(move |reply| next(seen, items(&reply.data)))
}

fn publish(seen: DraftView) -> Step {
    changed(seen, |seen, found| {
        let name = seen.name();
        let text = match (found.is_empty(), seen.state["published"] == true) {
            (true, true) => {
                return Step::Tell(format!(
                    "Visitors see {name} as the draft is: nothing differs."
                ));
            }
            (true, false) => format!("Publish {name}? Visitors see it from then on."),
            _ => format!("Publish {name}? Visitors see {} from then on.", wording::in_short(found)),
        };
        Step::Confirm(Confirm::new(text, move || {
            let body = body(&seen);
            let said = name.clone();
            let done = move |reply: &Reply, others: &OthersEdits| {
                let revision = plain_text(&reply.data["revision"]);
                Step::did(format!("{said} is published as revision {revision}{others}"))
            };
            seen.change(move || send::<Publish>(&MayName::default(), &body), done).step()
        }))
    })
}

fn body(seen: &DraftView) -> OnePage {
    OnePage { page_id: Some(seen.id()) }
}

fn take_off(seen: &DraftView) -> Step {
    let name = seen.name();
    if seen.state["published"] != true {
        return Step::Tell(format!("{name} is not published."));
    }
    let text = format!("Take off {name}? Visitors see it no longer; its revisions stay.");
    let seen = seen.clone();
    Step::Confirm(Confirm::new(text, move || {
        let body = body(&seen);
        let make = move || send::<TakeOff>(&MayName::default(), &body);
        seen.change(make, move |_, others| Step::did(format!("{name} is taken off{others}"))).step()
    }))
}

fn discard(seen: DraftView) -> Step {
    let name = seen.name();
    let Some(revision) = seen.state["revision"].as_i64() else {
        let why = "was never published, so there is nothing to return to: delete its rows instead.";
        return Step::Tell(format!("{name} {why}"));
    };
    changed(seen, move |seen, found| {
        if found.is_empty() {
            return Step::Tell(format!("The draft of {name} is revision {revision} already."));
        }
        let text = format!(
            "Lose what the draft of {name} has changed? It becomes revision {revision} again, \
             without {}.",
            wording::in_short(found)
        );
        Step::Confirm(Confirm::new(text, move || {
            let body = body(&seen);
            let make = move || send::<Discard>(&MayName::default(), &body);
            let say = format!("the draft of {name} is revision {revision} again");
            seen.change(make, move |_, others| Step::did(format!("{say}{others}"))).step()
        }))
    })
}
