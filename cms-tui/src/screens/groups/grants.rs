//! Rights of a group, granted and revoked one by one: two people at one group lose nothing.

use std::sync::Arc;

use cms_http::wire::{
    checklist::{Apply, Table},
    user_groups::Update,
};
use serde_json::{Map, Value as Json, json};

use super::GROUP;
use crate::{
    calls::Fault,
    screens::acts::{self, id, name},
    step::{Act, BulkCall, Checked, Step, send_json},
};

const DONE: &str = "has its new rights";

/// Gives the group these rights instead of those that were shown.
pub(super) fn change(row: &Json, wanted: Json) -> Step {
    let (Some(seen), Some(want)) = (row["rights"].as_array(), wanted.as_array()) else {
        // Everything is not a list that could be added to.
        return acts::change::<Update>(&GROUP, row, json!({"rights": wanted}), DONE);
    };
    let without = |from: &[Json], these: &[Json]| -> Vec<Json> {
        from.iter().filter(|key| !these.contains(key)).cloned().collect()
    };
    let (add, remove) = (without(want, seen), without(seen, want));
    if add.is_empty() && remove.is_empty() {
        return Step::Tell("Nothing was changed.".to_owned());
    }
    Act::one(granted(row.clone(), add, remove), DONE, "").step()
}

/// Adds and removes rights in one step at the service. Undo does the opposite.
fn granted(row: Json, add: Vec<Json>, remove: Vec<Json>) -> Checked {
    let seen = Map::from_iter([("rights".to_owned(), row["rights"].clone())]);
    let (again, known) = (GROUP.again(&row), row.clone());
    let call = Arc::new(move |now: &crate::calls::Reply| {
        if !now.data["rights"].is_array() {
            return Err(Fault::new("Its members may do everything meanwhile: look again."));
        }
        let body = json!({
            "table": "user_groups", "column": "rights", "id": id(&known),
            "add": add, "remove": remove,
        });
        let call = send_json::<Apply>(&Table::default(), body)?;
        let (mut row, add, remove) = (known.clone(), add.clone(), remove.clone());
        let undo = move |reply: &crate::calls::Reply| {
            row["rights"] = reply.data.clone();
            Some(granted(row, remove, add))
        };
        Ok(BulkCall::new(name(&known), call, Some(Box::new(undo))))
    });
    Checked { name: name(&row), again, seen, wanted: Map::new(), merges: true, call }
}
