//! What can be done with submissions, from the list and from the screen of one.

use cms_http::wire::inbox::BulkOp;
use serde_json::{Map, Value as Json};

use super::{
    STATES, assign, bulk, erase, export, notes, save,
    target::{self, Target},
    views,
};
use crate::{
    actions::Scene,
    step::{Menu, Step},
};

pub(super) fn act_on_list(verb: &str, scene: &Scene<'_>) -> Step {
    match verb {
        "next_state" => Step::Set("part", "1".to_owned()),
        "state_before" => Step::Set("part", "-1".to_owned()),
        "views" => views::choose(scene),
        "export" => export::ask(scene),
        "erase" => erase::ask(scene),
        _ => act(verb, scene),
    }
}

/// Whether an action is the same on the screen of one submission.
pub(crate) fn is_shared(verb: &str) -> bool {
    matches!(verb, "state" | "assign" | "notes" | "delete")
}

pub(crate) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "state" => target::chosen(scene, set_state),
        "assign" => assign::assign(scene),
        "notes" => notes::edit(&row),
        "delete" => target::chosen(scene, |target| match target {
            Target::One(row) => save::delete(&row),
            many => bulk::delete(&many),
        }),
        _ => Step::None,
    }
}

fn set_state(target: Target) -> Step {
    let is_now = |state: &str| match &target {
        Target::One(row) if row["inbox_status"] == state => " (it is)",
        _ => "",
    };
    let entries = STATES.iter().map(|state| format!("{state}{}", is_now(state))).collect();
    let title = format!("State of {}", target.said());
    Step::Menu(Menu::new(title, entries, move |n| {
        let Some(state) = STATES.get(n) else { return Step::None };
        match target {
            Target::One(row) => {
                let wanted = Map::from_iter([("inbox_status".to_owned(), Json::from(*state))]);
                save::write(row, wanted, format!("is {state}"))
            }
            many => bulk::set(&many, BulkOp::SetStatus, Json::from(*state), (*state).to_owned()),
        }
    }))
}
