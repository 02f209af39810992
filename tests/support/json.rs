//! JSON that tests send and read.

use std::fmt::Arguments;

use serde_json::Value as Json;

/// A body with these members, beside its own or instead of them.
pub fn with(mut body: Json, members: Json) -> Json {
    let members = members.as_object().expect("members").clone();
    body.as_object_mut().expect("an object").extend(members);
    body
}

/// `has!(json, {"name": "Ada", "/node/id": 7})`: each of these members has its value, whatever
/// stands beside them; a name that begins with `/` is a JSON pointer. What may follow names the
/// case, as in `assert!`.
#[macro_export]
macro_rules! has {
    ($json:expr, $members:tt) => {
        $crate::has!($json, $members, "")
    };
    ($json:expr, $members:tt, $($about:tt)+) => {
        $crate::support::json::judge(
            &$json,
            ::serde_json::json!($members),
            ::std::format_args!($($about)+),
        )
    };
}

/// See [`has!`](crate::has).
#[track_caller]
pub fn judge(json: &Json, members: Json, about: Arguments<'_>) {
    for (name, expected) in members.as_object().expect("members") {
        let found = look(json, name).unwrap_or(&Json::Null);
        assert_eq!(found, expected, "{name} of {json} {about}");
    }
}

fn look<'a>(json: &'a Json, name: &str) -> Option<&'a Json> {
    if name.starts_with('/') { json.pointer(name) } else { json.get(name) }
}

/// What each of a list has there: a member, or a JSON pointer that begins with `/`.
#[track_caller]
pub fn each(list: &Json, name: &str) -> Vec<Json> {
    let Json::Array(list) = list else { panic!("no list: {list}") };
    list.iter().map(|one| look(one, name).cloned().unwrap_or_default()).collect()
}

/// The first of a list whose member is this text.
#[track_caller]
pub fn pick<'a>(list: &'a Json, name: &str, text: &str) -> &'a Json {
    let Json::Array(list) = list else { panic!("no list: {list}") };
    let found = list.iter().find(|one| look(one, name).is_some_and(|found| found == text));
    found.unwrap_or_else(|| panic!("no {name} {text}: {list:?}"))
}

/// Field and code of each fault that a refusal tells, in its order.
#[track_caller]
pub fn faults(refused: &Json) -> Vec<String> {
    let Json::Array(faults) = &refused["errors"] else { panic!("no faults: {refused}") };
    let text = |one: &Json| one.as_str().unwrap_or_default().to_owned();
    faults.iter().map(|one| format!("{} {}", text(&one["field"]), text(&one["code"]))).collect()
}
