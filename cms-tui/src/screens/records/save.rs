//! Writes a record on condition that nobody else did meanwhile. Two people at one record: both
//! edits survive, or the user decides.

use std::sync::Arc;

use cms_http::wire::item::Update;

use super::{id_of, name, one, which};
use crate::{
    screens::prelude::*,
    step::{Patch, Reread},
};

/// Writes columns over a record as it was read.
pub(super) fn write(table: &Json, read: &Reply, changed: Map<String, Json>) -> Step {
    write_over(table, read, changed, "is saved")
}

/// As [`write`]; `done` says how it went.
fn write_over(table: &Json, read: &Reply, changed: Map<String, Json>, done: &'static str) -> Step {
    let id = id_of(table, &read.data);
    let query = which(table, id.clone());
    let (table, read) = (table.clone(), read.clone());
    let sent = changed.clone();
    send_json::<Update>(&query, Json::Object(changed))
        .map(|call| call.if_match(read.etag.clone()))
        .ending(move |outcome| match outcome {
            Ok(reply) => saved(&table, &read, &sent, &reply, done),
            Err(fault) if fault.code == "stale" || fault.code == "rev_conflict" => {
                ask(&table, read, sent)
            }
            Err(fault) => Step::Fault(fault),
        })
}

/// Reads the record of a row again.
pub(super) fn again(table: &Json, row: &Json) -> Reread {
    let (table, row) = (table.clone(), row.clone());
    Arc::new(move || one(&table, &row))
}

/// Columns written over a record, as it was seen in a row or a form.
pub(super) fn patch(table: &Json, row: &Json, seen: &Json, wanted: Map<String, Json>) -> Patch {
    let id = id_of(table, row);
    let which = which(table, id.clone());
    Patch {
        name: format!("{id} of {}", name(table)),
        again: again(table, row),
        write: Arc::new(move |columns| send_json::<Update>(&which, columns)),
        seen: acts::before(seen, &wanted),
        wanted,
        has_undo: true,
    }
}

/// Undo writes the old values back, unless somebody changed them since.
fn saved(table: &Json, read: &Reply, sent: &Map<String, Json>, reply: &Reply, done: &str) -> Step {
    let before = acts::before(&read.data, sent);
    let said = format!("{} {} {done}", name(table), id_of(table, &read.data));
    let undo = (!before.is_empty()).then(|| {
        let back = patch(table, &read.data, &reply.data, before).checked();
        Undo { rows: vec![back], ..Undo::default() }
    });
    Step::undoable(said, undo)
}

/// Reads the record again and compares.
fn ask(table: &Json, read: Reply, mine: Map<String, Json>) -> Step {
    let known = table.clone();
    one(table, &read.data).then(move |now| decide(&known, &read, mine, now))
}

fn decide(table: &Json, read: &Reply, mine: Map<String, Json>, now: Reply) -> Step {
    let clashing = acts::clashes(&read.data, &mine, &now.data);
    if clashing.is_empty() {
        // They changed other columns: both edits fit.
        let done = "is saved; somebody changed other columns, and both edits are kept";
        return write_over(table, &now, mine, done);
    }
    let shown = |value: &Json| cut(&plain_text(value), 22).into_owned();
    let title =
        format!("Somebody changed record {} of {} too", id_of(table, &read.data), name(table));
    let lines = clashing.iter().map(|name| {
        let theirs = shown(&now.data[name.as_str()]);
        format!("{name}: theirs {theirs} · yours {}", shown(&mine[name.as_str()]))
    });
    let mut entries = vec![
        "keep theirs, add my other columns".to_owned(),
        "write mine over theirs".to_owned(),
        "leave all as it is now".to_owned(),
    ];
    entries.extend(lines);
    let table = table.clone();
    Step::Menu(Menu::new(title, entries, move |n| match n {
        0 => {
            let rest: Map<_, _> =
                mine.into_iter().filter(|(name, _)| !clashing.contains(name)).collect();
            if rest.is_empty() {
                return Step::tell("Theirs is kept.");
            }
            write(&table, &now, rest)
        }
        1 => write(&table, &now, mine),
        _ => Step::Fault(Fault::new("Nothing was written: your values are still here.")),
    }))
}
