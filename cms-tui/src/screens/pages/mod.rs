//! Pages: the list, the draft of one as a tree, its revisions.
//!
//! ```text
//! tree       the screen of one: its draft drawn as a tree, edited there
//! nodes      a draft as the lines of a tree
//! wording    the state of a page, and what two of its states differ in, in words
//! texts      where two texts differ
//! act        what can be done with a page as a whole
//! hold       changes sent only while the draft is as it was seen
//! plan       when a page is published and taken off by itself
//! make       a new page; a draft made that of another page
//! links      links that show a draft without a login: made, listed, taken back
//! revisions  what was published: compared, restored
//! ```

mod act;
mod hold;
mod links;
mod make;
mod nodes;
mod plan;
mod revisions;
mod texts;
mod tree;
mod wording;

use std::collections::BTreeSet;

use cms_http::wire::{
    item,
    pagebuilder::{Compared, Diff, OfPage, Read},
};

pub(super) use links::SPEC as LINKS;
pub(super) use revisions::SPEC as REVISIONS;
pub(super) use tree::PageTree;

use super::prelude::*;

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
    ..Spec::new("pages", |_| "Pages".to_owned(), columns, list, act::act)
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
