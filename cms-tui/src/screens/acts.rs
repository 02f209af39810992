//! What several nouns do alike.

use cms_http::wire::{Operation, parameters::ById};
use serde_json::{Value as Json, json};

use crate::{
    actions::Scene,
    calls::Fault,
    step::{Bulk, BulkCall, Calling, Step, Undo, send},
    widgets::confirm::Confirm,
};

pub(crate) fn id(row: &Json) -> i64 {
    row["id"].as_i64().unwrap_or_default()
}

pub(crate) fn by_id(row: &Json) -> ById {
    ById { id: id(row) }
}

/// The name that people gave it.
pub(crate) fn name(row: &Json) -> String {
    let names = ["name", "username", "origin", "title"].iter();
    let name = names.filter_map(|name| row[*name].as_str()).find(|name| !name.is_empty());
    name.map_or_else(|| format!("#{}", id(row)), str::to_owned)
}

/// Switches all rows to the opposite of the first one's state, and back with undo.
pub(crate) fn toggle<O: Operation<Query = ById>>(scene: &Scene<'_>, what: &'static str) -> Step {
    let rows = scene.rows();
    let Some(first) = rows.first() else { return Step::None };
    let on = first["active"] != true;
    let mut calls = Vec::new();
    for row in rows.iter().filter(|row| row["active"].as_bool() != Some(on)) {
        let by = by_id(row);
        let set = move |on: bool| send::<O>(&by, json!({"active": on}));
        match set(on) {
            Ok(call) => calls.push(BulkCall {
                name: name(row),
                call,
                undo: Some(Box::new(move |_| set(!on).ok())),
            }),
            Err(fault) => return Step::Fault(fault),
        }
    }
    let done = if on { "switched on" } else { "switched off" };
    Step::Bulk(Bulk { done: done.to_owned(), what, calls })
}

/// Changes members of one row, and back with undo.
pub(crate) fn change<O: Operation<Query = ById>>(row: &Json, patch: Json, done: &str) -> Step {
    let (by, name) = (by_id(row), name(row));
    let before: Json = match &patch {
        Json::Object(members) => {
            members.keys().map(|member| (member.clone(), row[member].clone())).collect()
        }
        _ => Json::Null,
    };
    let done = done.to_owned();
    let call = send::<O>(&by, patch).map(|call| {
        call.then(move |_| {
            let back = send::<O>(&by, before).ok();
            let undo = back.map(|call| Undo {
                say: format!("{name}: the change is taken back"),
                calls: vec![call],
            });
            Step::undoable(format!("{name} {done}"), undo)
        })
    });
    call.into()
}

/// Asks, then deletes. What hangs on it is told in `cost`.
pub(crate) fn delete(row: &Json, cost: &str, call: Result<Calling, Fault>) -> Step {
    let name = name(row);
    let said = name.clone();
    let call = match call {
        Ok(call) => call.then(move |_| Step::did(format!("{said} is deleted"))),
        Err(fault) => return Step::Fault(fault),
    };
    let text = format!("Delete {name} for good? {cost}");
    Step::Confirm(Confirm::new(text, move || Step::Call(call)).typing(name))
}

/// The same call for all rows.
pub(crate) fn each(
    scene: &Scene<'_>,
    what: &'static str,
    done: &str,
    call: impl Fn(&Json) -> Result<Calling, Fault>,
) -> Step {
    let mut calls = Vec::new();
    for row in scene.rows() {
        match call(row) {
            Ok(call) => calls.push(BulkCall { name: name(row), call, undo: None }),
            Err(fault) => return Step::Fault(fault),
        }
    }
    Step::Bulk(Bulk { done: done.to_owned(), what, calls })
}

/// Choices for how long an old value still works, and their seconds.
pub(crate) const GRACES: [(&str, i64); 5] = [
    ("the old one stops at once", 0),
    ("the old one works 1 hour more", 3_600),
    ("the old one works 1 day more", 86_400),
    ("the old one works 3 days more", 259_200),
    ("the old one works 7 days more", 604_800),
];

pub(crate) fn graces() -> Vec<String> {
    GRACES.iter().map(|(label, _)| (*label).to_owned()).collect()
}
