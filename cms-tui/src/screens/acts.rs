//! Acts that several nouns share.

use std::sync::Arc;

use cms_http::wire::{
    NoBody, Operation,
    parameters::{ById, OneOrList},
};
use serde_json::{Map, Value as Json};

use crate::{
    actions::Scene,
    calls::{Fault, Reply},
    step::{
        Act, Bulk, BulkCall, Calling, Checked, Form, Menu, Patch, Reread, Step, get, send_json,
    },
    text::count,
    widgets::{ask::Confirm, field::Field},
};

pub(crate) fn id(row: &Json) -> i64 {
    row["id"].as_i64().unwrap_or_default()
}

pub(crate) fn by_id(row: &Json) -> ById {
    ById { id: id(row) }
}

/// Reads a row of a list again.
pub(crate) fn again<O>(row: &Json) -> Result<Calling, Fault>
where
    O: Operation<Query: From<OneOrList>, Body = NoBody>,
{
    get::<O>(&OneOrList { id: Some(id(row)), ..OneOrList::default() }.into())
}

/// The name that people gave it.
pub(crate) fn name(row: &Json) -> String {
    let names = ["name", "username", "origin", "title", "file_name"].iter();
    let name = names.filter_map(|name| row[*name].as_str()).find(|name| !name.is_empty());
    name.map_or_else(|| format!("#{}", id(row)), str::to_owned)
}

/// How the rows of a noun are changed.
pub(crate) struct Kind {
    /// Its name in messages.
    pub(crate) what: &'static str,
    /// Reads a row again.
    pub(crate) again: fn(&Json) -> Result<Calling, Fault>,
    /// The members that change by themselves. All others must be unchanged when a row is deleted.
    pub(crate) moving: &'static [&'static str],
    /// Members that the service never sends: undo could not restore them.
    pub(crate) unread: &'static [&'static str],
    /// Turns members as they are read into members as they are sent.
    pub(crate) body: fn(Json) -> Json,
}

impl Kind {
    /// A kind whose members are sent as they are read.
    pub(crate) const fn new(
        what: &'static str,
        again: fn(&Json) -> Result<Calling, Fault>,
        moving: &'static [&'static str],
    ) -> Self {
        Self { what, again, moving, unread: &[], body: |members| members }
    }

    pub(crate) fn again(&self, row: &Json) -> Reread {
        let (again, row) = (self.again, row.clone());
        Arc::new(move || again(&row))
    }

    /// The members that must be unchanged when the row is deleted.
    pub(crate) fn judged(&self, row: &Json) -> Map<String, Json> {
        let mut members = row.as_object().cloned().unwrap_or_default();
        members.retain(|name, _| !self.moving.contains(&name.as_str()));
        members
    }
}

/// The members that are to be written, as the row has them.
pub(crate) fn before(row: &Json, wanted: &Map<String, Json>) -> Map<String, Json> {
    wanted.keys().filter_map(|name| Some((name.clone(), row.get(name)?.clone()))).collect()
}

/// Members that others changed meanwhile, to values other than those wanted.
pub(crate) fn clashes(seen: &Json, wanted: &Map<String, Json>, now: &Json) -> Vec<String> {
    let clash = |(name, value): &(&String, &Json)| {
        now[name.as_str()] != seen[name.as_str()] && now[name.as_str()] != **value
    };
    wanted.iter().filter(clash).map(|(name, _)| name.clone()).collect()
}

/// Members written over a row as it was seen.
fn patch<O: Operation<Query = ById>>(kind: &Kind, row: &Json, wanted: Map<String, Json>) -> Patch {
    let (by, body) = (by_id(row), kind.body);
    Patch {
        name: name(row),
        again: kind.again(row),
        write: Arc::new(move |members| send_json::<O>(&by, body(members))),
        seen: before(row, &wanted),
        has_undo: !wanted.keys().any(|name| kind.unread.contains(&name.as_str())),
        wanted,
    }
}

/// Switches rows on or off; undo switches them back. If some are on and some off, asks which.
pub(crate) fn toggle<O: Operation<Query = ById>>(scene: &Scene<'_>, kind: &'static Kind) -> Step {
    let rows = scene.rows().into_iter().cloned();
    let (on, off): (Vec<Json>, Vec<Json>) = rows.partition(|row| row["active"] == true);
    if on.is_empty() || off.is_empty() {
        return switch::<O>(if on.is_empty() { &off } else { &on }, kind);
    }
    let entries = vec![
        format!("switch off {}", count(on.len(), kind.what)),
        format!("switch on {}", count(off.len(), kind.what)),
    ];
    let title = "Some are on, some are off";
    Step::Menu(Menu::new(title, entries, move |n| {
        switch::<O>(if n == 0 { &on } else { &off }, kind)
    }))
}

/// Switches rows of the same state to the other one.
fn switch<O: Operation<Query = ById>>(rows: &[Json], kind: &Kind) -> Step {
    let on = rows.first().is_some_and(|row| row["active"] != true);
    let wanted = Map::from_iter([("active".to_owned(), Json::from(on))]);
    let rows = rows.iter().map(|row| patch::<O>(kind, row, wanted.clone()).checked());
    let done = if on { "switched on" } else { "switched off" };
    Act {
        done: done.to_owned(),
        what: kind.what,
        anyway: "switch all of them",
        rows: rows.collect(),
        undoes: None,
    }
    .step()
}

/// Changes members of one row; undo changes them back.
pub(crate) fn change<O: Operation<Query = ById>>(
    kind: &Kind,
    row: &Json,
    wanted: Json,
    done: &str,
) -> Step {
    let wanted = wanted.as_object().cloned().unwrap_or_default();
    Act::one(patch::<O>(kind, row, wanted).checked(), done, "write mine over theirs").step()
}

/// Makes the call that adds and removes entries of a list: of this row, as it is now.
pub(crate) type Merge = fn(&Json, &Reply, &[Json], &[Json]) -> Result<Calling, Fault>;

/// Adds and removes entries of a list of a row, so that two people can change one row at the same
/// time. Undo does the opposite.
pub(crate) fn merge(
    kind: &'static Kind,
    row: Json,
    list: &'static str,
    add: Vec<Json>,
    remove: Vec<Json>,
    send: Merge,
) -> Checked {
    let seen = Map::from_iter([(list.to_owned(), row[list].clone())]);
    let (again, known) = (kind.again(&row), row.clone());
    let call = Arc::new(move |now: &Reply| {
        let call = send(&known, now, &add, &remove)?;
        let (mut row, add, remove) = (known.clone(), add.clone(), remove.clone());
        let undo = move |reply: &Reply| {
            row[list] = reply.data.get(list).unwrap_or(&reply.data).clone();
            Some(merge(kind, row, list, remove, add, send))
        };
        Ok(BulkCall::new(name(&known), call, Some(Box::new(undo))))
    });
    Checked { name: name(&row), again, seen, wanted: Map::new(), merges: true, call }
}

/// The form with members of a row. Sends what was changed; undo changes it back.
pub(crate) fn edit<O: Operation<Query = ById>>(
    kind: &'static Kind,
    row: Json,
    fields: Vec<Field>,
) -> Form {
    Form::new(format!("Edit {}", name(&row)), fields, move |values| {
        if values.changed.is_empty() {
            return Step::tell("Nothing was changed.");
        }
        change::<O>(kind, &row, Json::Object(values.changed.clone()), "is saved")
    })
}

/// Asks, then deletes. `cost` says what goes with the row.
pub(crate) fn delete<O>(kind: &Kind, row: &Json, cost: &str) -> Step
where
    O: Operation<Query = ById, Body = NoBody>,
{
    let (name, by) = (name(row), by_id(row));
    let seen = kind.judged(row);
    let row = Checked::deleted(name.clone(), kind.again(row), seen, move || get::<O>(&by));
    let act = Act::one(row, "is deleted", "delete it all the same");
    let text = format!("Delete {name} for good? {cost}");
    Step::Confirm(Confirm::new(text, move || act.step()).typing(name))
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
            Ok(call) => calls.push(BulkCall::new(name(row), call, None)),
            Err(fault) => return Step::Fault(fault),
        }
    }
    Step::Bulk(Bulk::new(done, what, calls))
}

/// Choices for how long an old value still works, with their seconds. The one that can break
/// programs comes last.
const GRACES: [(&str, i64); 5] = [
    ("the old one works 1 hour more", 3_600),
    ("the old one works 1 day more", 86_400),
    ("the old one works 3 days more", 259_200),
    ("the old one works 7 days more", 604_800),
    ("the old one stops at once", 0),
];

/// Asks how long the old value still works, then takes the step for so many seconds. Before
/// stopping the old value at once, asks again and says what that costs.
pub(crate) fn rotate(
    title: String,
    cost: String,
    step: impl FnOnce(i64) -> Step + Send + 'static,
) -> Step {
    let labels = GRACES.iter().map(|(label, _)| (*label).to_owned()).collect();
    Step::Menu(Menu::new(title, labels, move |n| match GRACES[n].1 {
        0 => Step::Confirm(Confirm::new(cost, move || step(0))),
        grace_s => step(grace_s),
    }))
}

#[cfg(test)]
mod tests {
    use cms_http::wire::keys::Update;
    use serde_json::json;

    use super::*;
    use crate::screens::keys::KEY;

    #[test]
    fn what_changes_by_itself_is_not_judged() {
        let row = json!({"id": 9, "name": "ci", "other": null, "requests": 7, "denied": 1,
                         "last_used_at": "2026-11-21T09:30:00Z"});
        let judged = json!({"id": 9, "name": "ci", "other": null});
        assert_eq!(Json::Object(KEY.judged(&row)), judged);
    }

    #[test]
    fn rows_on_and_off_are_never_switched_together() {
        let (on, off) = (json!({"id": 9, "active": true}), json!({"id": 10, "active": false}));
        let marks = |marks| Scene { marks, ..Scene::default() };
        let asked = |step| match step {
            Step::Call(calling) => calling.ask.line(),
            _ => panic!("the row is not read again"),
        };
        match toggle::<Update>(&marks(vec![&off, &on]), &KEY) {
            Step::Menu(menu) => {
                assert_eq!(menu.entries, ["switch off 1 key", "switch on 1 key"]);
                assert_eq!(asked((menu.choose)(0)), "GET /api/backend/keys?id=9&limit=50");
            }
            _ => panic!("no question"),
        }
        let line = asked(toggle::<Update>(&marks(vec![&off]), &KEY));
        assert_eq!(line, "GET /api/backend/keys?id=10&limit=50");
    }
}
