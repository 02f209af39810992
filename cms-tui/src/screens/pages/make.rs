//! A page made: a new one with its address and title, or the draft of one that of another, as a
//! translation begins.

use cms_http::wire::{
    item::{self, Create, Table},
    pagebuilder::{Copied, CopyTree},
    tables::{Read, WhichTables},
};

use super::{
    about, address,
    hold::{DraftView, reading},
    page_id,
};
use crate::screens::prelude::*;

/// Reads which languages there are, then asks.
pub(super) fn begin_new() -> Step {
    let table =
        get::<Read>(&WhichTables { name: Some("pages".to_owned()), ..WhichTables::default() });
    table.then(|reply| new_form(&reply.data))
}

fn new_form(table: &Json) -> Step {
    let languages = texts(&table["languages"]);
    let languages: Vec<&str> = languages.collect();
    let fields = vec![
        Field::text("url_rewrite", "Address", "/").hint("such as /about").required(),
        Field::text("title", "Title", "").required(),
        Field::one("language_short", "Language", &languages, 0),
    ];
    Form::new("A new page", fields, make)
        .note("Visitors see it after its first publication.")
        .step()
}

fn make(values: &Values) -> Step {
    let text = |name: &str| values.text(name).trim().to_owned();
    let page = json!({
        "url_rewrite": text("url_rewrite"),
        "title": text("title"),
        "language_short": text("language_short"),
    });
    send_json::<Create>(&Table { table: "pages".to_owned(), no_events: None }, page).then(|reply| {
        let page = about(&reply.data);
        let did = Step::did(format!("{} is made; a adds to its draft", address(&page)));
        Step::Several(vec![did, Step::Open(Place::about("page", &page))])
    })
}

/// Pages that are offered.
const MOST: &str = "500";

/// Asks into which page. Versions of the same page come first.
pub(super) fn begin_copy(page: &Json) -> Step {
    let from = page.clone();
    let Some(base) = from["base_id"].as_i64() else { return others(from, Vec::new()) };
    let next = |reply: Reply| others(from, list(reply.data));
    pages(Some(base)).then(next)
}

/// Reads the other pages too.
fn others(from: Json, versions: Vec<Json>) -> Step {
    let next = move |reply: Reply| {
        let is_new = |page: &Json| versions.iter().all(|one| acts::id(one) != acts::id(page));
        let mut others = list(reply.data);
        others.retain(is_new);
        let note = match reply.next {
            Some(_) => format!("Versions of this page, and the first {MOST} pages by address."),
            None => String::new(),
        };
        form(from, [versions, others].concat(), note)
    };
    pages(None).then(next)
}

/// Pages by address; those that are versions of one.
fn pages(base: Option<i64>) -> Result<Calling, Fault> {
    let filter = |base: i64| ("filter[base_id][eq]".to_owned(), base.to_string());
    get::<item::Read>(&item::WhichItems {
        table: "pages".to_owned(),
        fields: Some(super::FIELDS.to_owned()),
        limit: Some(MOST.to_owned()),
        sort: Some("url_rewrite".to_owned()),
        filters: base.map(filter).into_iter().collect(),
        ..item::WhichItems::default()
    })
}

fn list(rows: Json) -> Vec<Json> {
    let Json::Array(rows) = rows else { return Vec::new() };
    rows
}

/// A page in the list of targets: its id, which the form sends, and how people know it.
fn label(page: &Json) -> String {
    format!("{} {} {}", acts::id(page), address(page), plain_text(&page["title"]))
}

fn form(from: Json, mut pages: Vec<Json>, note: String) -> Step {
    pages.retain(|page| acts::id(page) != page_id(&from));
    if pages.is_empty() {
        return Step::tell("There is no other page to copy into.");
    }
    let is_version = |page: &Json| !page["base_id"].is_null() && page["base_id"] == from["base_id"];
    let option = |page: &Json| {
        let version = if is_version(page) { " (a version)" } else { "" };
        (format!("{}{version}", plain_text(&page["language_short"])), label(page))
    };
    let options = pages.iter().map(option).collect();
    let fields = vec![
        Field::pick("page", "Into", options).required(),
        Field::flag("replace", "Replace", false).hint("lose what the other draft holds"),
    ];
    let title = format!("Copy the draft of {} into another page", address(&from));
    Form::new(title, fields, move |values| submit(&from, &pages, values)).note(note).step()
}

/// The other draft is read first: only as it is now it is replaced.
fn submit(from: &Json, pages: &[Json], values: &Values) -> Step {
    let chosen = values.text("page");
    let Some(to) = pages.iter().find(|page| label(page) == chosen) else {
        return Step::Fault(Fault::new("Choose a page."));
    };
    let replace = values.all.get("replace").is_some_and(|replace| *replace == true);
    let (source, said) = (page_id(from), address(from));
    reading(&about(to), move |seen| copied(&seen, source, &said, replace))
}

fn copied(seen: &DraftView, source: i64, said: &str, replace: bool) -> Step {
    if !replace && !seen.is_empty {
        let why = format!("The draft of {} holds something: set Replace to lose it.", seen.name());
        return Step::Fault(Fault::new(why));
    }
    let body = Copied { from_page_id: source, page_id: seen.id(), replace };
    let say = format!("the draft of {} is that of {said} now", seen.name());
    let make = move || send::<CopyTree>(&NoQuery {}, &body);
    seen.change(make, move |_: &Reply, others| Step::did(format!("{say}{others}"))).step()
}
