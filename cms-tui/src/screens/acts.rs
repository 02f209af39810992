//! What several nouns do alike.

use cms_http::wire::{Operation, parameters::ById};
use serde_json::{Value as Json, json};

use crate::{
    actions::Scene,
    calls::Fault,
    step::{Bulk, BulkCall, Calling, Menu, Step, Undo, send},
    text::count,
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

/// Switches rows on or off, and back with undo. When some are on and some off, it asks which.
pub(crate) fn toggle<O: Operation<Query = ById>>(scene: &Scene<'_>, what: &'static str) -> Step {
    let rows = scene.rows().into_iter().cloned();
    let (on, off): (Vec<Json>, Vec<Json>) = rows.partition(|row| row["active"] == true);
    if on.is_empty() || off.is_empty() {
        return switch::<O>(if on.is_empty() { &off } else { &on }, what);
    }
    let entries = vec![
        format!("switch off {}", count(on.len(), what)),
        format!("switch on {}", count(off.len(), what)),
    ];
    let title = "Some are on, some are off";
    Step::Menu(Menu::new(title, entries, move |n| {
        switch::<O>(if n == 0 { &on } else { &off }, what)
    }))
}

/// Switches rows of the same state to the other one.
fn switch<O: Operation<Query = ById>>(rows: &[Json], what: &'static str) -> Step {
    let on = rows.first().is_some_and(|row| row["active"] != true);
    let mut calls = Vec::new();
    for row in rows {
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

#[cfg(test)]
mod tests {
    use cms_http::wire::keys::Update;

    use super::*;

    #[test]
    fn rows_on_and_off_are_never_switched_together() {
        let (on, off) = (json!({"id": 9, "active": true}), json!({"id": 10, "active": false}));
        let marks = |marks| Scene { marks, ..Scene::default() };
        match toggle::<Update>(&marks(vec![&off, &on]), "key") {
            Step::Menu(menu) => {
                assert_eq!(menu.entries, ["switch off 1 key", "switch on 1 key"]);
                let Step::Bulk(bulk) = (menu.choose)(0) else { panic!("no calls") };
                assert_eq!((bulk.done.as_str(), bulk.calls.len()), ("switched off", 1));
                assert_eq!(bulk.calls[0].name, "#9");
            }
            _ => panic!("no question"),
        }
        let Step::Bulk(bulk) = toggle::<Update>(&marks(vec![&off]), "key") else {
            panic!("a question without need")
        };
        assert_eq!(bulk.done, "switched on");
    }
}
