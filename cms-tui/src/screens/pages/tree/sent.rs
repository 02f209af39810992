//! Calls that change one node of a draft.

use cms_http::wire::{
    pagebuilder::{MoveNode, Remove, Set, Values, WhichNode},
    parameters::NoQuery,
};
use serde_json::{Map, Value as Json, json};

use super::super::nodes;
use crate::{
    calls::Fault,
    step::{Calling, get, send, send_json},
};

/// Where a node stands: in what, at which place.
pub(super) type Spot = (i64, i64);

pub(super) fn spot(node: &Json) -> Spot {
    let number = |name: &str| node[name].as_i64().unwrap_or_default();
    (number("parent"), number("position"))
}

/// Writes values of a widget or an item.
pub(super) fn setting(node: &Json, data: &Map<String, Json>) -> Result<Calling, Fault> {
    let id = node["id"].as_i64();
    let which = match node["kind"] == "item" {
        true => WhichNode { widget_id: None, item_id: id },
        false => WhichNode { widget_id: id, item_id: None },
    };
    send::<Set>(&which, &Values { data: data.clone() })
}

/// Moves a node to a place.
pub(super) fn moving(node: &Json, (parent, position): Spot) -> Result<Calling, Fault> {
    let kind = node["kind"].as_str().unwrap_or_default();
    let parent = nodes::parent(kind, parent);
    let body = json!({"kind": kind, "id": node["id"], "parent": parent, "position": position});
    send_json::<MoveNode>(&NoQuery {}, body)
}

/// Removes a node with all that stands in it.
pub(super) fn removing(node: &Json) -> Result<Calling, Fault> {
    let removal = json!({"kind": node["kind"], "id": node["id"]});
    let removal = serde_json::from_value(removal).map_err(|e| Fault::new(e.to_string()))?;
    get::<Remove>(&removal)
}
