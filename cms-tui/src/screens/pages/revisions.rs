//! What was published of a page: compared with the draft and with each other, drawn, restored.

use std::collections::BTreeSet;

use cms_http::wire::pagebuilder::{
    MayName, OneRevision, Restore, Restored, Revisions, WhichRevision, WhichRevisions,
};

use super::{
    address, compare, diff,
    hold::{DraftView, reading},
    nodes, page_id, who, wording,
};
use crate::screens::{browser::by_id, cells::number, prelude::*};

const DRAFT: &str = "draft";

pub(crate) static SPEC: Spec = Spec {
    rows: |_, data| by_id(data, "number"),
    detail: Some(|row, page| diff(page_id(page), Some(count(row)), Some(DRAFT.to_owned()))),
    preview: |row, differs, _, now| preview(row, differs, now),
    empty: "It was never published: P on its draft does.",
    follows: |event, _| event.starts_with("page."),
    ..Spec::new("revisions", title, columns, list, act)
};

fn title(page: &Json) -> String {
    format!("Revisions of {}", address(page))
}

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Revisions>(&WhichRevisions {
        page_id: page_id(asked.subject),
        limit: Limit(PAGE),
        cursor: asked.cursor.clone(),
        count: None,
    })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NUMBER", "number", 8, number),
        column("PUBLISHED", "created_at", 9, age),
        column("BY", "actor", 0, who),
        column("BYTES", "bytes", 8, number),
        column("CHECKSUM", "checksum", 12, checksum).from(60),
    ]
}

/// Its beginning: equal ones show the same.
fn checksum(row: &Json, name: &str, _: i64) -> Cell {
    (plain_text(&row[name]).chars().take(12).collect(), Role::Quiet)
}

fn number_of(row: &Json) -> i64 {
    row["number"].as_i64().unwrap_or_default()
}

/// Its number, as text.
fn count(row: &Json) -> String {
    number_of(row).to_string()
}

fn preview(row: &Json, differs: Option<&Json>, now: i64) -> Lines {
    let mut lines = members(row, &[("Published", "created_at"), ("Checksum", "checksum")], now);
    lines.push((Role::Title, format!("From revision {} to the draft", count(row))));
    match differs {
        Some(found) => lines.extend(wording::differences(found, 60)),
        None => lines.push(loading()),
    }
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let (page, row) = (scene.subject.clone(), scene.row.cloned().unwrap_or_default());
    match verb {
        "compare" => match &scene.marks[..] {
            [] => compare(&page, Some(count(&row)), Some(DRAFT.to_owned())),
            [one, other] => {
                let mut both = [one, other].map(|row| number_of(row));
                both.sort_unstable();
                let [from, to] = both.map(|number| Some(number.to_string()));
                compare(&page, from, to)
            }
            _ => Step::tell("Mark two to compare them, or none: then with the draft."),
        },
        "tree" => drawn(&page, &row),
        "restore" => reading(&page, move |seen| restore(seen, number_of(&row))),
        _ => Step::None,
    }
}

/// The revision as a tree.
fn drawn(page: &Json, row: &Json) -> Step {
    let which = WhichRevision { page_id: page_id(page), number: number_of(row) };
    let title = format!("{} · revision {}", address(page), count(row));
    let page = page.clone();
    get::<OneRevision>(&which).then(move |reply| {
        let rows = nodes::rows(&page, &reply.data, &BTreeSet::new());
        let lines = rows.iter().map(|row| (Role::Plain, nodes::line(&row.json)));
        Step::View(Viewer::new(title, lines.collect()))
    })
}

/// Asks with what the draft would lose.
fn restore(seen: DraftView, number: i64) -> Step {
    let (from, to) = (Some(DRAFT.to_owned()), Some(number.to_string()));
    diff(seen.id(), from, to).then(move |reply| {
        let found = items(&reply.data);
        if found.is_empty() {
            return Step::Tell(format!("The draft is as revision {number} was."));
        }
        Step::Confirm(question(seen, number, &wording::in_short(found)))
    })
}

fn question(seen: DraftView, number: i64, changes: &str) -> Confirm {
    let name = seen.name();
    let unpublished = if seen.state["changed"] == true {
        " What the draft has changed since its last publication is lost."
    } else {
        ""
    };
    let text = format!(
        "Make the draft of {name} what revision {number} is: {changes}?{unpublished} \
         Visitors see it after the next publication."
    );
    Confirm::new(text, move || {
        let body = Restored { page_id: Some(seen.id()), revision: number };
        let make = move || send::<Restore>(&MayName::default(), &body);
        let say = format!("the draft of {name} is as revision {number} was");
        seen.change(make, move |_, others| Step::did(format!("{say}{others}"))).step()
    })
}
