//! Changes or deletes many submissions as one act of the service, which can also undo its last one.

use std::sync::Arc;

use cms_http::wire::inbox::{Bulk, BulkOp, ChangeSubmissions, Nothing, Undo as TakeBack};

use super::target::Target;
use crate::{
    screens::prelude::*,
    step::{Did, Way},
};

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
pub(super) fn set(target: &Target, op: BulkOp, value: Json, done: String) -> Step {
    let body = target.change(op, Some(value));
    let change = Change { body, done, has_ids: !matches!(target, Target::All(..)) };
    ended(&change, |change, reply| {
        let undo = taking_back(change.clone());
        let has_changed = reply.data["changed"] != 0;
        Step::undoable(said(&reply, &change.done), has_changed.then_some(undo))
    })
}

/// Asks, then deletes.
pub(super) fn delete(target: &Target) -> Step {
    let many = target.count();
    let expected = i64::try_from(many).ok();
    let body = Bulk { expected, ..target.change(BulkOp::Delete, None) };
    let change = Change { body, done: "deleted".to_owned(), has_ids: false };
    let text = format!(
        "Delete {} for good, with their files and mails? This cannot be taken back.",
        target.said()
    );
    let ask = Confirm::new(text, move || {
        ended(&change, |change, reply| Step::did(said(&reply, &change.done)))
    });
    Step::Confirm(ask.typing(many.to_string()))
}

fn call(change: &Change) -> Result<Calling, Fault> {
    send::<ChangeSubmissions>(&NoQuery {}, &change.body)
}

fn ended(change: &Change, next: impl FnOnce(Change, Reply) -> Step + Send + 'static) -> Step {
    let made = change.clone();
    call(change).then(move |reply| next(made, reply))
}

fn submissions(json: &Json) -> String {
    count(usize::try_from(json.as_i64().unwrap_or(0)).unwrap_or(0), "submission")
}

/// `3 submissions are qualified; 1 was so before`.
fn said(reply: &Reply, done: &str) -> String {
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
        ended(&change, move |change, reply| {
            let (say, undo) = (said(&reply, &change.done), Some(taking_back(change)));
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
