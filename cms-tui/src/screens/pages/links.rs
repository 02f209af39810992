//! The links that show the draft of a page without a login: for whom, until when. One can be taken
//! back.

use cms_http::wire::{
    pagebuilder::{Links, Unlink, WhichLinks},
    parameters::Limit,
};
use serde_json::Value as Json;

use super::{address, link, page_id, revisions::who};
use crate::{
    actions::Scene,
    calls::Fault,
    moment,
    screens::{
        acts,
        browser::{ListQuery, Spec},
        cells::{Cell, Column, age, column, members, plain_text},
    },
    step::{Calling, Confirm, Step, get},
    theme::Role,
    widgets::window::PAGE,
};

pub(crate) static SPEC: Spec = Spec {
    preview: |row, _, _, now| preview(row, now),
    empty: "No link shows this draft: n makes one.",
    ..Spec::new("links", title, columns, list, act)
};

fn title(page: &Json) -> String {
    format!("Links to the draft of {}", address(page))
}

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Links>(&WhichLinks {
        page_id: page_id(asked.subject),
        limit: Limit(PAGE),
        cursor: asked.cursor.clone(),
    })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("FOR", "note", 0, |row, _, _| whom(row)),
        column("BY", "actor", 12, who),
        column("MADE", "created_at", 6, age),
        column("UNTIL (UTC)", "expires_at", 16, |row, name, _| {
            (row[name].as_str().map(moment::minute).unwrap_or_default(), Role::Plain)
        }),
        column("ENDS", "expires_at", 7, age),
    ]
}

fn whom(row: &Json) -> Cell {
    match plain_text(&row["note"]) {
        note if note.is_empty() => ("(not said)".to_owned(), Role::Quiet),
        note => (note, Role::Plain),
    }
}

fn preview(row: &Json, now: i64) -> Vec<(Role, String)> {
    let mut lines = vec![(Role::Title, whom(row).0)];
    lines.extend(members(row, &[("Made", "created_at"), ("Ends", "expires_at")], now));
    lines.push((Role::Plain, format!("{:<12} {}", "By", who(row, "actor", now).0)));
    let kept = "The address is not kept: whoever lost it gets a new link (n).";
    lines.push((Role::Quiet, kept.to_owned()));
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    match verb {
        "new" => link::begin(&scene.subject),
        "delete" => take_back(&scene.row.cloned().unwrap_or_default()),
        _ => Step::None,
    }
}

fn take_back(row: &Json) -> Step {
    let said = match plain_text(&row["note"]) {
        note if note.is_empty() => format!("link {}", acts::id(row)),
        note => format!("the link for {note}"),
    };
    let text = format!("Take back {said}? Whoever has it no longer sees the draft.");
    let which = acts::by_id(row);
    Step::Confirm(Confirm::new(text, move || {
        let call = get::<Unlink>(&which);
        call.map(|call| call.then(move |_| Step::did(format!("{said} is taken back")))).into()
    }))
}
