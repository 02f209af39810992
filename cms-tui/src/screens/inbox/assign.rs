//! Whom submissions are for.

use cms_http::wire::{
    inbox::{AssignableUsers, BulkOp},
    parameters::{Limit, Listing},
};
use serde_json::{Map, Value as Json};

use super::{
    bulk, save,
    target::{self, Target},
};
use crate::{
    actions::Scene,
    step::{Menu, Step, get},
    text::safe,
};

/// Users that a menu offers.
const MOST: u32 = 500;

pub(super) fn assign(scene: &Scene<'_>) -> Step {
    let who = scene.who.to_owned();
    target::chosen(scene, move |target| {
        let asked = Listing { limit: Limit(MOST), ..Listing::default() };
        let call = get::<AssignableUsers>(&asked)
            .map(|call| call.then(move |reply| offered(target, &reply.data, &who)));
        call.into()
    })
}

/// The user first, then nobody, then all others by name.
fn offered(target: Target, users: &Json, who: &str) -> Step {
    let user = |user: &Json| {
        let name = user["username"].as_str().unwrap_or_default().to_owned();
        (name, user["id"].clone())
    };
    let mut people: Vec<(String, Json)> =
        users.as_array().into_iter().flatten().map(user).collect();
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
