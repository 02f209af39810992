//! The last call that a key was refused, and a right for exactly that call.

use cms_http::wire::keys::LastDenied;

use super::{
    right_text,
    rights::{changed, granted},
};
use crate::screens::prelude::*;

pub(super) fn last(key: &Json) -> Result<Calling, Fault> {
    get::<LastDenied>(&by_id(key))
}

/// A line about the refused call; None if no right could allow one.
pub(super) fn line(denied: &Json, now: i64) -> Option<(Role, String)> {
    let at = moment::age(denied["at"].as_str()?, now);
    let text =
        format!("Last denied ({at}): {}; D grants exactly this.", right_text(&denied["right"]));
    Some((Role::Key, safe(&text).into_owned()))
}

/// Reads the last refused call, asks, and grants a right for it.
pub(super) fn grant(key: Json) -> Step {
    last(&key).then(move |reply| {
        let right = reply.data["right"].clone();
        if right.is_null() {
            let say = format!("{} was refused no call that a right could allow.", name(&key));
            return Step::Tell(say);
        }
        let text = format!("Grant {} exactly this: {}?", name(&key), right_text(&right));
        Step::Confirm(Confirm::new(text, move || add(key, &right)))
    })
}

/// Adds a right to those that the key has at that time.
fn add(key: Json, right: &Json) -> Step {
    let done = format!("may {}", right_text(right));
    let seen = granted(&key);
    let mut wanted = seen.clone();
    for (call, methods) in granted(&json!({"rights": [right]})) {
        wanted.entry(call).or_default().extend(methods);
    }
    Act::one(changed(key, seen, wanted), done, "").step()
}
