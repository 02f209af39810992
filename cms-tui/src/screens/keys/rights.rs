//! Rights of a key as calls with their methods, and how they are changed; the last refused call,
//! and a right for exactly that call.

use std::collections::{BTreeMap, BTreeSet};

use cms_http::wire::keys::{LastDenied, Update};

use super::{KEY, right_text};
use crate::screens::prelude::*;

pub(super) type Methods = BTreeSet<String>;
/// An endpoint with the parameters that a row fixes.
pub(super) type Call = (String, BTreeMap<String, String>);
pub(super) type Granted = BTreeMap<Call, Methods>;

pub(super) fn call_of(right: &Json) -> Call {
    let query = right["query"].as_object().into_iter().flatten();
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    (text(&right["endpoint"]), query.map(|(name, value)| (name.clone(), text(value))).collect())
}

/// `*` has no methods; in the matrix it has one cell.
pub(super) fn granted(key: &Json) -> Granted {
    let mut granted = Granted::new();
    for right in items(&key["rights"]) {
        let mut methods: Methods = texts(&right["methods"]).map(str::to_owned).collect();
        if right["endpoint"] == "*" {
            methods = Methods::from(["GET".to_owned()]);
        }
        granted.entry(call_of(right)).or_default().extend(methods);
    }
    granted
}

pub(super) fn as_right((endpoint, query): &Call, methods: &Methods) -> Json {
    let mut right = Map::from_iter([("endpoint".to_owned(), Json::from(endpoint.as_str()))]);
    if endpoint != "*" {
        right.insert("query".to_owned(), json!(query));
        right.insert("methods".to_owned(), json!(methods));
    }
    Json::Object(right)
}

/// What is granted in `these` and not in `others`.
pub(super) fn without(these: &Granted, others: &Granted) -> Granted {
    let rest = these.iter().map(|(call, methods)| {
        let gone = others.get(call).map(|others| methods - others);
        (call.clone(), gone.unwrap_or_else(|| methods.clone()))
    });
    rest.filter(|(_, methods)| !methods.is_empty()).collect()
}

/// Applies the change from `seen` to `wanted` to rights that others have changed meanwhile.
pub(super) fn merged(seen: &Granted, wanted: &Granted, now: &Granted) -> Granted {
    let mut merged = without(now, &without(seen, wanted));
    for (call, methods) in without(wanted, seen) {
        merged.entry(call).or_default().extend(methods);
    }
    merged
}

/// Grants and revokes only the differences; the service applies them to the rights that the key
/// has then.
pub(super) fn changed(key: Json, seen: &Granted, wanted: &Granted) -> Checked {
    let rows = |rights: Granted| -> Vec<Json> {
        rights.iter().map(|(call, methods)| as_right(call, methods)).collect()
    };
    let (grant, revoke) = (rows(without(wanted, seen)), rows(without(seen, wanted)));
    acts::merge(&KEY, key, "rights", grant, revoke, |key, now, grant, revoke| {
        let body = json!({"grant": grant, "revoke": revoke});
        Ok(send_json::<Update>(&by_id(key), body)?.if_match(now.etag.clone()))
    })
}

/// The last call that the key was refused.
pub(super) fn last_denied(key: &Json) -> Result<Calling, Fault> {
    get::<LastDenied>(&by_id(key))
}

/// A line about the refused call; None if no right could allow one.
pub(super) fn denied_line(denied: &Json, now: i64) -> Option<(Role, String)> {
    let at = moment::age(denied["at"].as_str()?, now);
    let text =
        format!("Last denied ({at}): {}; D grants exactly this.", right_text(&denied["right"]));
    Some((Role::Key, safe(&text).into_owned()))
}

/// Reads the last refused call, asks, and grants a right for it.
pub(super) fn grant_denied(key: Json) -> Step {
    last_denied(&key).then(move |reply| {
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
    Act::one(changed(key, &seen, &wanted), done, "").step()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rights: &[(&str, &[&str])]) -> Granted {
        let methods = |methods: &[&str]| methods.iter().map(|one| (*one).to_owned()).collect();
        let one =
            |(path, some): &(&str, &[&str])| (((*path).to_owned(), BTreeMap::new()), methods(some));
        rights.iter().map(one).collect()
    }

    #[test]
    fn changes_of_two_people_are_both_kept() {
        let seen = of(&[("/a", &["GET", "POST"]), ("/b", &["GET"])]);
        let mine = of(&[("/a", &["GET"]), ("/b", &["GET"]), ("/c", &["GET"])]);
        let theirs = of(&[("/a", &["GET", "POST", "DELETE"]), ("/d", &["GET"])]);
        let both = of(&[("/a", &["GET", "DELETE"]), ("/c", &["GET"]), ("/d", &["GET"])]);
        assert_eq!(merged(&seen, &mine, &theirs), both);
        // And back: only what was mine goes.
        let back = of(&[("/a", &["GET", "POST", "DELETE"]), ("/d", &["GET"])]);
        assert_eq!(merged(&mine, &seen, &both), back);
    }
}
