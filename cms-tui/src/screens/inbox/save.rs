//! Changes one submission unless somebody else has changed it meanwhile. If two people change one
//! submission, both edits are kept, or the user decides.

use std::sync::Arc;

use cms_http::wire::inbox::{
    DeleteSubmission, MayNameSubmission, SubmissionDeletion, UpdateSubmission,
};

use super::{id, name, whole};
use crate::{screens::prelude::*, step::Patch};

/// What people call the members.
const LABELS: [(&str, &str); 3] =
    [("inbox_status", "state"), ("assigned_to", "for"), ("inbox_notes", "notes")];

fn which(row: &Json) -> MayNameSubmission {
    MayNameSubmission { id: Some(id(row)) }
}

/// Writes members over a submission as it was seen.
pub(super) fn write(seen: Json, wanted: Map<String, Json>, done: String) -> Step {
    let mut body = Json::Object(wanted.clone());
    body["rev"] = seen["inbox_rev"].clone();
    send_json::<UpdateSubmission>(&which(&seen), body).ending(move |outcome| match outcome {
        Ok(_) => saved(&seen, wanted, &done),
        Err(fault) if fault.code == "rev_conflict" => ask(seen, wanted, done),
        Err(fault) => Step::Fault(fault),
    })
}

fn saved(seen: &Json, wanted: Map<String, Json>, done: &str) -> Step {
    let before = acts::before(seen, &wanted);
    let undo = (before.len() == wanted.len()).then(|| {
        let (row, by) = (seen.clone(), which(seen));
        let patch = Patch {
            name: name(seen),
            again: Arc::new(move || whole(&row)),
            write: Arc::new(move |members| send_json::<UpdateSubmission>(&by, members)),
            seen: wanted,
            wanted: before,
            has_undo: true,
        };
        Undo { rows: vec![patch.checked()], ..Undo::default() }
    });
    Step::undoable(format!("{} {done}", name(seen)), undo)
}

/// Reads it again and compares.
fn ask(seen: Json, wanted: Map<String, Json>, done: String) -> Step {
    whole(&seen).then(move |now| decide(&seen, wanted, now, done))
}

/// A member as people read it.
fn said(row: &Json, member: &str, value: &Json) -> String {
    match (member, value) {
        ("assigned_to", Json::Null) => "nobody".to_owned(),
        // The name is that of the user in the row.
        ("assigned_to", value) if row["assigned_to"] == *value => plain_text(&row["assigned_name"]),
        ("assigned_to", value) => format!("user {value}"),
        (_, value) => plain_text(value),
    }
}

fn decide(seen: &Json, wanted: Map<String, Json>, now: Reply, done: String) -> Step {
    let clashing = acts::clashes(seen, &wanted, &now.data);
    if clashing.is_empty() {
        let done = format!("{done}; somebody else changed it too, and both changes are kept");
        return write(now.data, wanted, done);
    }
    let title = format!("Somebody changed {} too", name(seen));
    let mut entries = vec!["keep theirs".to_owned(), "write mine over theirs".to_owned()];
    let notes = wanted.get("inbox_notes").cloned();
    entries.push("leave all as it is now".to_owned());
    if notes.is_some() {
        entries.push("put my notes below theirs".to_owned());
    }
    for member in &clashing {
        let label = LABELS.iter().find(|(name, _)| name == member).map_or("", |(_, label)| label);
        let shown = |row: &Json, value: &Json| cut(&said(row, member, value), 48).into_owned();
        let theirs = shown(&now.data, &now.data[member.as_str()]);
        entries.push(format!("{label}: theirs {theirs} · yours {}", shown(seen, &wanted[member])));
    }
    Step::Menu(Menu::new(title, entries, move |n| match (n, notes) {
        (0, _) => {
            let rest: Map<_, _> =
                wanted.into_iter().filter(|(name, _)| !clashing.contains(name)).collect();
            match rest.is_empty() {
                true => Step::tell("Theirs is kept."),
                false => write(now.data, rest, done),
            }
        }
        (1, _) => write(now.data, wanted, done),
        (3, Some(notes)) => {
            let mut both = wanted;
            both.insert("inbox_notes".to_owned(), joined(&now.data, &notes).into());
            write(now.data, both, done)
        }
        _ => Step::Fault(Fault::new("Nothing was written: what you wrote is still here.")),
    }))
}

/// Their notes, then what this user has written.
fn joined(now: &Json, mine: &Json) -> String {
    let theirs = now["inbox_notes"].as_str().unwrap_or_default().trim_end();
    let mine = mine.as_str().unwrap_or_default();
    // Lines that both texts have are kept once.
    let rest: Vec<&str> =
        mine.lines().filter(|line| !theirs.lines().any(|one| one == *line)).collect();
    format!("{theirs}\n{}", rest.join("\n"))
}

/// Asks, then deletes one.
pub(super) fn delete(row: &Json) -> Step {
    let (row, called) = (row.clone(), name(row));
    let text =
        format!("Delete {called} for good, with its files and mails? This cannot be taken back.");
    Step::Confirm(Confirm::new(text, move || delete_as_seen(row)))
}

fn delete_as_seen(row: Json) -> Step {
    let mut body = SubmissionDeletion::default();
    body.rev = row["inbox_rev"].as_i64();
    send::<DeleteSubmission>(&which(&row), &body).ending(move |outcome| match outcome {
        Ok(_) => Step::did(format!("{} deleted", name(&row))),
        Err(fault) if fault.code == "rev_conflict" => {
            whole(&row).then(|now| delete_all_the_same(now.data))
        }
        Err(fault) => Step::Fault(fault),
    })
}

/// After another change: shows the present state, then asks again before deleting.
fn delete_all_the_same(now: Json) -> Step {
    let person = now["assigned_name"].as_str().map_or("nobody".into(), safe);
    let notes = cut(&plain_text(&now["inbox_notes"]), 80).into_owned();
    let notes = if notes.is_empty() { notes } else { format!(", notes: {notes}") };
    let text = format!(
        "Somebody changed {}: it is {} now, for {person}{notes}. Delete it all the same?",
        name(&now),
        plain_text(&now["inbox_status"]),
    );
    Step::Confirm(Confirm::new(text, move || delete_as_seen(now)))
}

/// Reads them whole, then shows their form.
pub(super) fn edit_notes(row: &Json) -> Step {
    whole(row).then(|reply| form(reply.data))
}

fn form(seen: Json) -> Step {
    let text = seen["inbox_notes"].as_str().unwrap_or_default();
    let field = Field::lines("inbox_notes", "Notes", text);
    let title = format!("Notes of {}", name(&seen));
    let submit = move |values: &Values| {
        let notes = values.all.get("inbox_notes").and_then(Json::as_str).unwrap_or_default();
        if values.changed.is_empty() {
            return Step::tell("Nothing was changed.");
        }
        let wanted = Map::from_iter([("inbox_notes".to_owned(), Json::from(notes))]);
        write(seen.clone(), wanted, "has its new notes".to_owned())
    };
    let note = "For the staff; visitors never see them. What others write meanwhile is kept.";
    Form::new(title, vec![field], submit).note(note).step()
}
