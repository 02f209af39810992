//! A node removed, with all that stands in it.

use serde_json::Value as Json;

use super::{
    super::{hold::Seen, nodes},
    sent,
};
use crate::{
    step::{Confirm, Step},
    text::count,
};

pub(super) fn ask(seen: &Seen, node: &Json) -> Step {
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
        let make = move || sent::removing(&node);
        seen.change(make, move |_, others| Step::did(format!("{name} is deleted{others}"))).step()
    }))
}
