//! `cms pages diff`: a line for each difference

use cms_core::pages::builder::{Difference, Happened};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        pagebuilder::{Compared, Diff},
    },
};
use serde_json::Value as Json;

use crate::{
    output::{Done, Output},
    reply::{self, draft::id_of},
};

pub(super) async fn run(
    out: &Output,
    client: &Client,
    page: &str,
    from: Option<String>,
    to: Option<String>,
) -> Done {
    let compared = Compared { page_id: id_of(client, page).await?, from, to };
    let (answer, found) = reply::call::<Diff>(client, &compared, &NoBody).await?;
    if out.json {
        out.line(&answer.body)?;
    } else {
        for one in &found.data {
            out.line(&line(one))?;
        }
    }
    if found.data.is_empty() {
        out.note("Nothing differs.");
    }
    Ok(())
}

/// `~ title 3: title "A" → "B"`.
fn line(one: &Difference) -> String {
    let name = one.widget.as_deref().unwrap_or(one.kind.as_str());
    let value = |value: &Option<Json>| value.as_ref().map_or("null".to_owned(), Json::to_string);
    let (from, to) = (value(&one.from), value(&one.to));
    let id = one.id;
    match one.change {
        Happened::Added => format!("+ {name} {id}"),
        Happened::Removed => format!("- {name} {id}"),
        Happened::Moved => format!("> {name} {id}: {from} → {to}"),
        Happened::Changed => {
            let column = one.column.as_deref().unwrap_or_default();
            format!("~ {name} {id}: {column} {from} → {to}")
        }
    }
}
