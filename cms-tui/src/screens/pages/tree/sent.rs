//! Calls that change one node of a draft, and the question before one is removed.

use cms_http::wire::pagebuilder::{MoveNode, Remove, Set, Values, WhichNode};

use super::super::{hold::DraftView, nodes};
use crate::screens::prelude::*;

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

pub(super) fn ask_to_remove(seen: &DraftView, node: &Json) -> Step {
    let name = nodes::name(node);
    let below = node["below"].as_u64().unwrap_or_default() as usize;
    let with = match below {
        0 => String::new(),
        n => format!(", with {} and all that stands in it", count(n, nodes::inner(node))),
    };
    let text = format!(
        "Delete {name}{with} from the draft of {}? This cannot be taken back; visitors see it \
         until the next publication.",
        seen.name()
    );
    let (seen, node) = (seen.clone(), node.clone());
    Step::Confirm(Confirm::new(text, move || {
        let make = move || removing(&node);
        seen.change(make, move |_, others| Step::did(format!("{name} is deleted{others}"))).step()
    }))
}
