//! Rights of a key as calls with their methods, and how they are changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cms_http::wire::keys::Update;

use super::KEY;
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
/// has then. Undo does the opposite.
pub(super) fn changed(key: Json, seen: Granted, wanted: Granted) -> Checked {
    let shown = Map::from_iter([("rights".to_owned(), key["rights"].clone())]);
    let (again, known) = (KEY.again(&key), key.clone());
    let call = Arc::new(move |now: &Reply| {
        let rows = |rights: Granted| -> Vec<Json> {
            rights.iter().map(|(call, methods)| as_right(call, methods)).collect()
        };
        let (grant, revoke) = (rows(without(&wanted, &seen)), rows(without(&seen, &wanted)));
        let body = json!({"grant": grant, "revoke": revoke});
        let call = send_json::<Update>(&by_id(&known), body)?;
        let (mut key, seen, wanted) = (known.clone(), seen.clone(), wanted.clone());
        let undo = move |reply: &Reply| {
            key["rights"] = reply.data["rights"].clone();
            Some(changed(key, wanted, seen))
        };
        let call = call.if_match(now.etag.clone());
        Ok(BulkCall::new(name(&known), call, Some(Box::new(undo))))
    });
    Checked { name: name(&key), again, seen: shown, wanted: Map::new(), merges: true, call }
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
