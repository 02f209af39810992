//! A new page: its address and title; its draft is opened then.

use cms_http::wire::{
    item::{Create, Table},
    tables::{Read, WhichTables},
};
use serde_json::{Value as Json, json};

use super::{about, address};
use crate::{
    step::{Form, Place, Step, get, send_json},
    widgets::{field::Field, form::Values},
};

/// Reads which languages there are, then asks.
pub(super) fn begin() -> Step {
    let table =
        get::<Read>(&WhichTables { name: Some("pages".to_owned()), ..WhichTables::default() });
    table.map(|call| call.then(|reply| form(&reply.data))).into()
}

fn form(table: &Json) -> Step {
    let languages = table["languages"].as_array().into_iter().flatten().filter_map(Json::as_str);
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
    let call = send_json::<Create>(&Table { table: "pages".to_owned(), no_events: None }, page);
    let call = call.map(|call| {
        call.then(|reply| {
            let page = about(&reply.data);
            let did = Step::did(format!("{} is made; a adds to its draft", address(&page)));
            Step::Several(vec![did, Step::Open(Place::about("page", &page))])
        })
    });
    call.into()
}
