//! What can be done with submissions, from the list and from the screen of one.

use cms_http::wire::{
    inbox::{AssignableUsers, BulkOp},
    parameters::ListQuery,
};

use super::{
    STATES, bulk, erase, export, save,
    target::{self, Target},
    views,
};
use crate::screens::prelude::*;

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

/// Whether the screen of one submission has the same action.
pub(crate) fn is_shared(verb: &str) -> bool {
    matches!(verb, "state" | "assign" | "notes" | "delete")
}

pub(crate) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "state" => target::chosen(scene, set_state),
        "assign" => assign(scene),
        "notes" => save::edit_notes(&row),
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

/// Users that a menu offers.
const MOST: u32 = 500;

fn assign(scene: &Scene<'_>) -> Step {
    let who = scene.who.to_owned();
    target::chosen(scene, move |target| {
        let asked = ListQuery::page(Limit(MOST), None);
        get::<AssignableUsers>(&asked).then(move |reply| offered(target, &reply.data, &who))
    })
}

/// Offers the user first, then nobody, then all others by name.
fn offered(target: Target, users: &Json, who: &str) -> Step {
    let user = |user: &Json| {
        let name = user["username"].as_str().unwrap_or_default().to_owned();
        (name, user["id"].clone())
    };
    let mut people: Vec<(String, Json)> = items(users).iter().map(user).collect();
    people.sort_by_key(|(name, _)| (name != who, name.to_lowercase()));
    let after_me = usize::from(people.first().is_some_and(|(name, _)| name == who));
    people.insert(after_me, ("nobody".to_owned(), Json::Null));
    let entry = |(name, _): &(String, Json)| match name == who {
        true => format!("{} (you)", safe(name)),
        false => safe(name).into_owned(),
    };
    let entries = people.iter().map(entry).collect();
    Step::Menu(Menu::new(format!("Assign {} to", target.said()), entries, move |n| {
        let Some((name, id)) = people.into_iter().nth(n) else { return Step::None };
        match target {
            Target::One(row) => {
                let wanted = Map::from_iter([("assigned_to".to_owned(), id)]);
                save::write(row, wanted, format!("is for {name}"))
            }
            many => bulk::set(&many, BulkOp::Assign, id, format!("for {name}")),
        }
    }))
}
