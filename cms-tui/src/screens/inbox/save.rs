//! Submissions changed: one, unless somebody else has changed it meanwhile; many, as one act of
//! the service, which can also undo its last one. If two people change one submission, both edits
//! are kept, or the user decides.

use std::sync::Arc;

use cms_http::wire::inbox::{
    Bulk, BulkOp, ChangeSubmissions, DeleteSubmission, InboxFilter, MayNameSubmission, Nothing,
    SubmissionDeletion, Undo as TakeBack, UpdateSubmission,
};

use super::{filter::Conditions, id, name, whole};
use crate::{
    screens::prelude::*,
    step::{Did, Patch, Way},
};

/// Ids that one change names.
const IDS: usize = 10_000;

/// Which submissions.
#[derive(Clone, Debug)]
pub(super) enum Target {
    One(Json),
    Many(Vec<i64>),
    /// All that match this filter, with their number as the service counted them.
    All(InboxFilter, u64),
}

impl Target {
    pub(super) fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(ids) => ids.len(),
            Self::All(_, expected) => usize::try_from(*expected).unwrap_or(usize::MAX),
        }
    }

    /// In words, for questions.
    pub(super) fn said(&self) -> String {
        match self {
            Self::One(row) => name(row),
            Self::Many(ids) => count(ids.len(), "submission"),
            Self::All(..) => format!("all {} that match", count(self.count(), "submission")),
        }
    }

    /// A change of these.
    pub(super) fn change(&self, op: BulkOp, value: Option<Json>) -> Bulk {
        let (ids, filter, expected) = match self {
            Self::One(row) => (Some(vec![id(row)]), None, None),
            Self::Many(ids) => (Some(ids.clone()), None, None),
            Self::All(filter, expected) => {
                (None, Some(filter.clone()), i64::try_from(*expected).ok())
            }
        };
        Bulk { op, ids, filter, expected, value }
    }
}

/// Finds out which submissions are meant, then continues.
pub(super) fn chosen(
    scene: &Scene<'_>,
    next: impl FnOnce(Target) -> Step + Send + 'static,
) -> Step {
    if scene.is_all {
        let read = Conditions::read(scene.filter, scene.now, scene.who);
        return match read {
            Ok(conditions) => counted(conditions.body(), next),
            Err(fault) => Step::Fault(fault),
        };
    }
    let rows = scene.rows();
    match rows[..] {
        [] => Step::None,
        [row] => next(Target::One(row.clone())),
        ref rows if rows.len() > IDS => Step::Fault(Fault::new(format!(
            "At most {IDS} can be marked one by one: * marks all that match the filter."
        ))),
        ref rows => next(Target::Many(rows.iter().map(|row| id(row)).collect())),
    }
}

/// Lets the service count: it refuses a change that expects no submissions, and says
/// how many match.
fn counted(filter: InboxFilter, next: impl FnOnce(Target) -> Step + Send + 'static) -> Step {
    let body = Target::All(filter.clone(), 0).change(BulkOp::SetStatus, Some("new".into()));
    let call = send::<ChangeSubmissions>(&NoQuery {}, &body).map(Calling::counting);
    call.ending(move |outcome| match outcome {
        Ok(_) => Step::tell("No submission matches."),
        Err(Fault { matched: Some(matched), .. }) => next(Target::All(filter, matched)),
        Err(fault) => Step::Fault(fault),
    })
}

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

/// A change of many.
#[derive(Clone, Debug)]
struct Change {
    body: Bulk,
    /// The result, such as `qualified`.
    done: String,
    /// Whether the change names its submissions, so that it can be made again.
    has_ids: bool,
}

/// Sets a member of many: `op` is `set_status` or `assign`.
pub(super) fn set_many(target: &Target, op: BulkOp, value: Json, done: String) -> Step {
    let body = target.change(op, Some(value));
    let change = Change { body, done, has_ids: !matches!(target, Target::All(..)) };
    many_ended(&change, |change, reply| {
        let undo = taking_back(change.clone());
        let has_changed = reply.data["changed"] != 0;
        Step::undoable(many_said(&reply, &change.done), has_changed.then_some(undo))
    })
}

/// Asks, then deletes.
pub(super) fn delete_many(target: &Target) -> Step {
    let many = target.count();
    let expected = i64::try_from(many).ok();
    let body = Bulk { expected, ..target.change(BulkOp::Delete, None) };
    let change = Change { body, done: "deleted".to_owned(), has_ids: false };
    let text = format!(
        "Delete {} for good, with their files and mails? This cannot be taken back.",
        target.said()
    );
    let ask = Confirm::new(text, move || {
        many_ended(&change, |change, reply| Step::did(many_said(&reply, &change.done)))
    });
    Step::Confirm(ask.typing(many.to_string()))
}

fn many_ended(change: &Change, next: impl FnOnce(Change, Reply) -> Step + Send + 'static) -> Step {
    let made = change.clone();
    send::<ChangeSubmissions>(&NoQuery {}, &change.body).then(move |reply| next(made, reply))
}

fn submissions(json: &Json) -> String {
    count(usize::try_from(json.as_i64().unwrap_or(0)).unwrap_or(0), "submission")
}

/// `3 submissions are qualified; 1 was so before`.
fn many_said(reply: &Reply, done: &str) -> String {
    let (matched, changed) = (&reply.data["matched"], &reply.data["changed"]);
    let are = if matched == 1 { "is" } else { "are" };
    let text = format!("{} {are} {done}", submissions(matched));
    match (matched.as_i64(), changed.as_i64()) {
        (Some(matched), Some(changed)) if changed < matched => {
            format!("{text}; {} of them before", matched - changed)
        }
        _ => text,
    }
}

/// An undo by the service: it leaves out submissions that somebody else has changed since.
fn taking_back(change: Change) -> Undo {
    let whole = move |number| {
        let change = change.clone();
        send::<TakeBack>(&NoQuery {}, &Nothing {}).ending(move |outcome| match outcome {
            Ok(reply) => {
                let redo = change.has_ids.then(|| making_again(change));
                let did = Did { say: restored(&reply.data), undo: redo, way: Way::Back };
                Step::Undone(number, did)
            }
            // Another session of the same user has undone it already.
            Err(fault) if fault.code == "not_found" => {
                let say = "nothing to take back: it was done already".to_owned();
                Step::Undone(number, Did { say, undo: None, way: Way::Back })
            }
            Err(fault) => Step::Fault(fault),
        })
    };
    Undo { whole: Some(Arc::new(whole)), ..Undo::default() }
}

fn making_again(change: Change) -> Undo {
    let whole = move |number| {
        many_ended(&change, move |change, reply| {
            let (say, undo) = (many_said(&reply, &change.done), Some(taking_back(change)));
            Step::Undone(number, Did { say, undo, way: Way::Again })
        })
    };
    Undo { whole: Some(Arc::new(whole)), ..Undo::default() }
}

/// What an undo did.
fn restored(undone: &Json) -> String {
    let mut text = format!("{} as before", submissions(&undone["restored"]));
    if undone["changed_since"] != 0 {
        let left = plain_text(&undone["changed_since"]);
        text.push_str(&format!("; {left} stay, because somebody changed them since"));
    }
    if undone["gone"] != 0 {
        text.push_str(&format!("; {} are deleted", plain_text(&undone["gone"])));
    }
    text
}
