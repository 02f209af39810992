//! The rights of a key: rows of endpoint, query and methods, and what a row limits besides the
//! parameters that it fixes. Pure: no database, no request types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Endpoints, endpoints::METHODS};
use crate::{FieldError, ground::filter};

/// One row of a key's rights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Right {
    /// An exact path such as `/api/backend/item`, or `*` for everything.
    pub endpoint: String,
    /// Query parameters that must occur exactly once with these values. Other parameters are free.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Some of `GET`, `POST`, `PATCH`, `DELETE`. Empty for `*`, which grants all methods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = "^(GET|POST|PATCH|DELETE)$")))]
    pub methods: Vec<String>,
}

/// The part of a request that a key's rights are compared with.
#[derive(Clone, Debug)]
pub struct KeyCall<'a> {
    /// Upper-case; HEAD counts as GET.
    pub method: &'a str,
    /// The canonical path.
    pub path: &'a str,
    /// Decoded query parameters.
    pub query: &'a [(String, String)],
    /// The table named in the body of an action, if any.
    pub body_table: Option<&'a str>,
}

impl Right {
    /// A row that grants everything.
    #[must_use]
    pub fn everything() -> Self {
        Self { endpoint: "*".to_owned(), query: BTreeMap::new(), methods: Vec::new() }
    }

    /// Whether this row allows the call.
    ///
    /// ```
    /// use cms_core::access::{KeyCall, Right};
    /// let right = Right::parse("GET /api/backend/item?table=orders")?;
    /// let query = [("table".to_owned(), "orders".to_owned())];
    /// let path = "/api/backend/item";
    /// let read = KeyCall { method: "GET", path, query: &query, body_table: None };
    /// assert!(right.allows(&read));
    /// assert!(!right.allows(&KeyCall { method: "PATCH", ..read }));
    /// # Ok::<(), String>(())
    /// ```
    #[must_use]
    pub fn allows(&self, call: &KeyCall) -> bool {
        if self.endpoint == "*" {
            return true;
        }
        let method = if call.method == "HEAD" { "GET" } else { call.method };
        self.endpoint == call.path
            && self.methods.iter().any(|m| m == method)
            && self.query.iter().all(|(name, value)| {
                let mut sent =
                    call.query.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str());
                let in_body = if name == "table" { call.body_table } else { None };
                match (sent.next(), sent.next(), in_body) {
                    (Some(one), None, None) | (None, None, Some(one)) => one == value,
                    (Some(one), None, Some(body)) => one == value && body == value,
                    _ => false,
                }
            })
            && keeps_within(&self.query, call.query.iter().map(|(n, v)| (n.as_str(), v.as_str())))
    }

    /// Whether this row allows every call that `other` allows.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.endpoint == "*"
            || (self.endpoint == other.endpoint
                && other.methods.iter().all(|m| self.methods.contains(m))
                && self.query.iter().all(|(name, value)| other.query.get(name) == Some(value))
                && keeps_within(
                    &self.query,
                    other.query.iter().map(|(n, v)| (n.as_str(), v.as_str())),
                ))
    }

    /// Reads `GET,POST /api/backend/item?table=blog` or `*`.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::everything());
        }
        let form = "write it as 'GET,POST /api/backend/item?table=blog' or '*'";
        let (methods, target) = text
            .split_once(char::is_whitespace)
            .ok_or_else(|| format!("{text:?} is not a right: {form}"))?;
        let (endpoint, query) = target.trim().split_once('?').unwrap_or((target.trim(), ""));
        let mut parameters = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) =
                pair.split_once('=').ok_or_else(|| format!("{pair:?} has no value: {form}"))?;
            parameters.insert(name.to_owned(), value.to_owned());
        }
        let methods = methods
            .split(',')
            .map(|m| m.trim().to_ascii_uppercase())
            .filter(|m| !m.is_empty())
            .collect();
        Ok(Self { endpoint: endpoint.to_owned(), query: parameters, methods })
    }
}

/// Whether the rows of `held` together allow every call that `asked` allows.
#[must_use]
pub fn holds(held: &[Right], asked: &[Right]) -> bool {
    asked.iter().all(|right| {
        held.iter().any(|h| h.covers(right)) || {
            // One row may ask for methods that several held rows grant.
            right.endpoint != "*"
                && !right.methods.is_empty()
                && right.methods.iter().all(|m| {
                    let one = Right { methods: vec![m.clone()], ..right.clone() };
                    held.iter().any(|h| h.covers(&one))
                })
        }
    })
}

/// The rights `held` without the calls of `revoke` and with those of `grant`. A row for the same
/// endpoint and query loses or gains methods.
#[must_use]
pub(crate) fn changed_rights(
    mut held: Vec<Right>,
    grant: Vec<Right>,
    revoke: &[Right],
) -> Vec<Right> {
    let same = |a: &Right, b: &Right| a.endpoint == b.endpoint && a.query == b.query;
    for gone in revoke {
        for row in held.iter_mut().filter(|row| same(row, gone)) {
            row.methods.retain(|method| !gone.methods.contains(method));
        }
        held.retain(|row| !same(row, gone) || (!row.methods.is_empty() && row.endpoint != "*"));
    }
    for new in grant {
        let Some(row) = held.iter_mut().find(|row| same(row, &new)) else {
            held.push(new);
            continue;
        };
        for method in new.methods {
            if !row.methods.contains(&method) {
                row.methods.push(method);
            }
        }
    }
    held
}

/// Faults of rights that are about to be saved, one for each field. `member` is the JSON member
/// that holds the rights.
#[must_use]
pub(crate) fn problems(member: &str, rights: &[Right], registry: &Endpoints) -> Vec<FieldError> {
    let mut problems = Vec::new();
    let mut add =
        |field: String, code, message: String| problems.push(FieldError { field, code, message });
    for (i, right) in rights.iter().enumerate() {
        if right.endpoint == "*" {
            if !right.methods.is_empty() || !right.query.is_empty() {
                add(
                    format!("{member}[{i}]"),
                    "format",
                    "the row * grants all methods of all endpoints: leave methods and query out"
                        .to_owned(),
                );
            }
            continue;
        }
        let Some(known) = registry.methods_of(&right.endpoint) else {
            add(
                format!("{member}[{i}].endpoint"),
                "unknown",
                format!("there is no endpoint {}", right.endpoint),
            );
            continue;
        };
        if right.methods.is_empty() {
            add(
                format!("{member}[{i}].methods"),
                "required",
                format!("name at least one of {}", known.join(", ")),
            );
        }
        if let Some(problem) = contradiction(&right.query) {
            add(format!("{member}[{i}].query"), "format", problem.to_owned());
        }
        for method in right.methods.iter().filter(|m| !known.contains(&m.as_str())) {
            add(
                format!("{member}[{i}].methods"),
                "unknown",
                format!("{} has no {method}, only {}", right.endpoint, known.join(", ")),
            );
        }
    }
    problems
}

/// Methods that no endpoint has, in rows to be revoked. The endpoints of these rows may be gone.
pub(crate) fn unknown_methods(member: &str, rights: &[Right]) -> Vec<FieldError> {
    let mut problems = Vec::new();
    for (i, right) in rights.iter().enumerate() {
        for method in right.methods.iter().filter(|m| !METHODS.contains(&m.as_str())) {
            problems.push(FieldError {
                field: format!("{member}[{i}].methods"),
                code: "unknown",
                message: format!("{method:?} is not one of {}", METHODS.join(", ")),
            });
        }
    }
    problems
}

/// Whether the parameters `sent` stay within a row that fixes the parameters `fixed`. A fixed
/// `id` covers that record alone; fixed `fields` cover no other column. Parameters that the row
/// fixes are granted.
fn keeps_within<'a>(
    fixed: &BTreeMap<String, String>,
    mut sent: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> bool {
    let alone = fixed.contains_key("id");
    if alone && sent.clone().any(|(name, _)| name == "language") {
        return false;
    }
    let Some(fields) = fixed.get("fields") else { return true };
    let shown = |column: &str| list(fields).any(|field| field == column);
    let about_record = sent.clone().any(|(name, _)| name == "id");
    sent.all(|(name, value)| {
        fixed.contains_key(name)
            || match name {
                "sort" => list(value).all(|one| shown(one.strip_prefix('-').unwrap_or(one))),
                "expand" => list(value).all(shown),
                "language" => shown("language_short") && (!about_record || shown("base_id")),
                "filter" => filter::names_only(value, shown),
                _ => filtered(name).is_none_or(shown),
            }
    })
}

/// Why the parameters of a row contradict each other.
fn contradiction(fixed: &BTreeMap<String, String>) -> Option<&'static str> {
    if fixed.contains_key("id") && fixed.contains_key("language") {
        return Some("a row that fixes id covers that record alone: leave language out");
    }
    if fixed.get("fields").is_some_and(|fields| list(fields).next().is_none()) {
        return Some("fields names at least one column, such as id,title");
    }
    None
}

/// The column of `filter[column]` or `filter[column][op]`.
fn filtered(name: &str) -> Option<&str> {
    let inside = name.strip_prefix("filter[")?.strip_suffix(']')?;
    Some(inside.rsplit_once("][").map_or(inside, |(column, _)| column))
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, Endpoint};

    fn right(text: &str) -> Right {
        Right::parse(text).expect("right")
    }

    fn allowed(rights: &str, method: &str, target: &str, body: Option<&str>) -> bool {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query: Vec<_> = query
            .split('&')
            .filter_map(|p| p.split_once('='))
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .collect();
        right(rights).allows(&KeyCall { method, path, query: &query, body_table: body })
    }

    #[test]
    fn a_row_allows_its_endpoint_methods_and_query_only() {
        let item = "GET,PATCH /api/backend/item?table=orders";
        let lists = "POST /api/backend/actions/checklist?table=a";
        for (rights, method, target, body, expected) in [
            ("*", "DELETE", "/api/backend/keys", None, true),
            ("GET /api/pages", "GET", "/api/pages", None, true),
            ("GET /api/pages", "GET", "/api/pages?view=home", None, true),
            ("GET /api/pages", "HEAD", "/api/pages", None, true),
            ("GET /api/pages", "POST", "/api/pages", None, false),
            ("GET /api/pages", "GET", "/api/page", None, false),
            ("GET /api/pages", "GET", "/api/pages/x", None, false),
            (item, "GET", "/api/backend/item?table=orders", None, true),
            (item, "GET", "/api/backend/item?table=orders&id=7", None, true),
            (item, "GET", "/api/backend/item", None, false),
            (item, "GET", "/api/backend/item?table=users", None, false),
            (item, "GET", "/api/backend/item?table=orders&table=users", None, false),
            (item, "GET", "/api/backend/item?table=orders&table=orders", None, false),
            (item, "DELETE", "/api/backend/item?table=orders", None, false),
            (lists, "POST", "/api/backend/actions/checklist", Some("a"), true),
            (lists, "POST", "/api/backend/actions/checklist", Some("b"), false),
            (lists, "POST", "/api/backend/actions/checklist", None, false),
            (lists, "POST", "/api/backend/actions/checklist?table=a", Some("b"), false),
            (lists, "POST", "/api/backend/actions/checklist?table=a", Some("a"), true),
            (lists, "POST", "/api/backend/actions/checklist?table=b", Some("a"), false),
        ] {
            let found = allowed(rights, method, target, body);
            assert_eq!(found, expected, "{rights} {method} {target} {body:?}");
        }
    }

    #[test]
    fn only_held_rights_can_be_granted() {
        let held = [
            right("GET /api/backend/item"),
            right("PATCH /api/backend/item?table=blog"),
            right("POST /api/backend/keys"),
        ];
        for (asked, expected) in [
            ("GET /api/backend/item?table=blog", true),
            ("GET,PATCH /api/backend/item?table=blog", true),
            ("PATCH /api/backend/item", false),
            ("PATCH /api/backend/item?table=pages", false),
            ("DELETE /api/backend/item?table=blog", false),
            ("*", false),
        ] {
            assert_eq!(holds(&held, &[right(asked)]), expected, "{asked}");
        }
        assert!(holds(&[Right::everything()], &[Right::everything()]));
    }

    #[test]
    fn rows_are_merged_and_taken_apart() {
        let rights = |texts: &[&str]| texts.iter().map(|text| right(text)).collect::<Vec<_>>();
        let held = ["GET,POST /item?table=blog", "GET /pages"];
        let table: [(&[&str], &[&str], &[&str]); 7] = [
            (&["PATCH,GET /item?table=blog"], &[], &["GET,POST,PATCH /item?table=blog", held[1]]),
            (&["GET /item"], &[], &[held[0], held[1], "GET /item"]),
            (&[], &["POST /item?table=blog"], &["GET /item?table=blog", held[1]]),
            (&[], &["GET /pages"], &[held[0]]),
            (&["*"], &["GET /pages"], &[held[0], "*"]),
            // Somebody has revoked it already.
            (&[], &["GET /menu", "*"], &held),
            (&["GET /pages"], &["GET /pages"], &held),
        ];
        for (grant, revoke, expected) in table {
            let found = changed_rights(rights(&held), rights(grant), &rights(revoke));
            assert_eq!(found, rights(expected), "{grant:?} {revoke:?}");
        }
        assert_eq!(changed_rights(rights(&["*"]), Vec::new(), &rights(&["*"])), []);
    }

    #[test]
    fn unknown_endpoints_and_methods_are_named() {
        let registry = Endpoints::default();
        let endpoint = |path: &str, methods: &[&'static str]| Endpoint {
            path: path.to_owned(),
            action: None,
            methods: methods.to_vec(),
            access: Access::Public,
        };
        registry.declare(vec![
            endpoint("/api/pages", &["GET"]),
            endpoint("/api/menu", &["GET"]),
            endpoint("/api/backend/item", &["GET", "POST"]),
        ]);
        let asked = [
            right("GET /api/nothing"),
            right("POST /api/pages"),
            Right { methods: vec![], ..right("GET /api/menu") },
        ];
        let found = problems("rights", &asked, &registry);
        let fields: Vec<_> = found.iter().map(|p| (p.field.as_str(), p.code)).collect();
        let expected = [
            ("rights[0].endpoint", "unknown"),
            ("rights[1].methods", "unknown"),
            ("rights[2].methods", "required"),
        ];
        assert_eq!(fields, expected);
        for wide in [
            Right { methods: vec!["GET".to_owned()], ..Right::everything() },
            Right { endpoint: "*".to_owned(), ..right("GET /api/pages?view=home") },
            Right { methods: vec![], ..right("GET *?view=home") },
        ] {
            assert_eq!(problems("rights", &[wide], &registry)[0].field, "rights[0]");
        }
        let good = [Right::everything(), right("GET,POST /api/backend/item")];
        assert!(problems("grant", &good, &registry).is_empty());
        assert!(Right::parse("/api/pages").is_err() && Right::parse("GET /api/pages?x").is_err());
    }

    #[test]
    fn rows_that_make_no_sense_are_named() {
        for (fixed, makes_sense) in [
            (&[("id", "7")][..], true),
            (&[("language", "de")], true),
            (&[("id", "7"), ("language", "de")], false),
            (&[("fields", "id")], true),
            (&[("fields", " , ")], false),
        ] {
            let row = fixed.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            assert_eq!(contradiction(&row).is_none(), makes_sense, "{fixed:?}");
        }
    }
}
