//! Undo and redo for edits of a draft, only where nobody has changed the node since.

use std::sync::Arc;

use super::{
    super::{draft, nodes},
    sent::{Spot, moving, removing, setting, spot},
};
use crate::{screens::prelude::*, step::UndoOf};

/// An act of one row.
pub(super) fn one(row: Checked) -> Undo {
    Undo { rows: vec![row], ..Undo::default() }
}

/// Reads the draft and finds the node in it; `call` checks both.
fn checked(
    page: i64,
    node: Json,
    call: impl Fn(&Json, &Json) -> Result<(Calling, Option<UndoOf>), Fault> + Send + Sync + 'static,
) -> Checked {
    let name = nodes::name(&node);
    let said = name.clone();
    let found = move |now: &Reply| {
        let kind = node["kind"].as_str().unwrap_or_default();
        let id = node["id"].as_i64().unwrap_or_default();
        let found = nodes::find(&now.data, kind, id);
        let found = found.ok_or_else(|| Fault::new(format!("{said} is there no longer")))?;
        let (call, undo) = call(&now.data, &found)?;
        Ok(BulkCall::new(said.clone(), call.if_match(now.etag.clone()), undo))
    };
    Checked {
        name,
        again: Arc::new(move || draft(page)),
        seen: Map::new(),
        wanted: Map::new(),
        merges: false,
        call: Arc::new(found),
    }
}

/// Writes values over those that an edit has left; refused if somebody changed these.
pub(super) fn values(
    page: i64,
    node: Json,
    left: Map<String, Json>,
    wanted: Map<String, Json>,
) -> Checked {
    let of = node.clone();
    checked(page, node, move |_, found| {
        if left.iter().any(|(row, value)| found["data"][row.as_str()] != *value) {
            return Err(Fault::new("somebody has changed the same values since"));
        }
        let (of, left, wanted) = (of.clone(), left.clone(), wanted.clone());
        let call = setting(&of, &wanted)?;
        let undo: UndoOf = Box::new(move |_| Some(values(page, of, wanted, left)));
        Ok((call, Some(undo)))
    })
}

/// Moves a node away from where an earlier move has put it.
pub(super) fn moved(page: i64, node: Json, left: Spot, wanted: Spot) -> Checked {
    let of = node.clone();
    checked(page, node, move |_, found| {
        if spot(found) != left {
            return Err(Fault::new("it stands elsewhere since"));
        }
        let of = of.clone();
        let call = moving(&of, wanted)?;
        let undo: UndoOf = Box::new(move |_| Some(moved(page, of, wanted, left)));
        Ok((call, Some(undo)))
    })
}

/// Removes an added node if it is still as it was made.
pub(super) fn added(page: i64, node: Json) -> Checked {
    let made = node["data"].clone();
    checked(page, node, move |_, found| {
        is_as_made(found, &made)?;
        Ok((removing(found)?, None))
    })
}

/// Removes the row that was made for a widget, if it holds only this widget, unchanged.
pub(super) fn added_in_row(page: i64, row: i64, node: Json) -> Checked {
    let (made, id) = (node["data"].clone(), node["id"].as_i64().unwrap_or_default());
    let row = json!({"kind": "row", "id": row});
    checked(page, row, move |draft, row| {
        let gone = || Fault::new("the widget is there no longer");
        let found = nodes::find(draft, "widget", id).ok_or_else(gone)?;
        let col = nodes::find(draft, "col", found["parent"].as_i64().unwrap_or_default());
        let is_alone = found["siblings"] == 1 && row["below"] == 1;
        if !is_alone || col.is_none_or(|col| col["parent"] != row["id"]) {
            return Err(Fault::new("the row holds something else since"));
        }
        is_as_made(&found, &made)?;
        Ok((removing(row)?, None))
    })
}

fn is_as_made(found: &Json, made: &Json) -> Result<(), Fault> {
    match found["below"] == 0 {
        true if made.is_null() || found["data"] == *made => Ok(()),
        true => Err(Fault::new("somebody has changed its values since")),
        false => Err(Fault::new("something stands in it since")),
    }
}

/// The step after an edit: the cursor goes to this node, and undo takes the edit back.
pub(super) fn done(node: &Json, say: String, undo: Option<Checked>) -> Step {
    let kind = node["kind"].as_str().unwrap_or_default();
    let key = nodes::key(kind, node["id"].as_i64().unwrap_or_default());
    Step::Several(vec![Step::Set("go", key), Step::undoable(say, undo.map(one))])
}
