//! Paths for typed clients: `/api/backend/keys/7` is `/api/backend/keys?id=7`, and
//! `/api/backend/formfunnel/list` is `/api/backend/formfunnel?action=list`. A request is given its
//! first spelling before anything looks at it, so limiter, rights, cache and audit know no other.

use std::sync::LazyLock;

use cms_core::Result;

use super::{BY_PATH, Route, table};
use crate::{
    describe::{Schemas, is_named_by},
    request::{Canonical, bad},
};

/// The query names one thing by one of the selectors.
const NAMES_ONE: &str = "/one";
const SELECTORS: [&str; 3] = ["view", "url", "id"];
/// Names a table, not one of its records.
const OF_TABLE: &str = "/{table}";

/// A path that stands for another with a query.
pub(super) struct Spelling {
    route: &'static Route,
    tail: &'static str,
    /// What the path answers: those that ask for what it names.
    methods: Vec<&'static str>,
}

static SPELLINGS: LazyLock<matchit::Router<Spelling>> = LazyLock::new(|| {
    let mut router = matchit::Router::new();
    // What has parameters in its path has no other spelling.
    for route in table().filter(|route| !route.path.contains('{')) {
        let action = route.action.map(|action| format!("/{action}"));
        let start = format!("{}{}", route.path, action.as_deref().unwrap_or_default());
        let plain = action.is_some().then_some("");
        for tail in plain.into_iter().chain(route.tails.iter().copied()) {
            let path = format!("{start}{tail}");
            let spelling = Spelling { route, tail, methods: methods(route, tail) };
            if let Err(error) = router.insert(path.as_str(), spelling) {
                tracing::error!(path, %error, "no spelling");
            }
        }
    }
    router
});

fn methods(route: &Route, tail: &str) -> Vec<&'static str> {
    let asks = |method: &super::Method| match tail {
        "" => true,
        NAMES_ONE => method.name == "GET",
        OF_TABLE => ["GET", "POST"].contains(&method.name),
        _ => {
            let query = (method.types.schemas)(&mut Schemas::default()).query;
            is_named_by(tail, method.name, query.as_value())
        }
    };
    route.methods.iter().filter(|method| asks(method)).map(|method| method.name).collect()
}

/// The first spelling of a path: its route, the methods that it answers, and what it says that
/// belongs in the query.
pub(super) struct First {
    pub(super) route: &'static Route,
    pub(super) methods: &'static [&'static str],
    pub(super) said: Vec<(String, String)>,
    pub(super) needs_selector: bool,
}

/// Whether a route has the path itself. It comes first: `/api/backend/keys/rotate` is no key.
pub(super) fn is_first(path: &str) -> bool {
    BY_PATH.at(path).is_ok()
}

pub(super) fn first(path: &str) -> Option<First> {
    let found = SPELLINGS.at(path).ok()?;
    let Spelling { route, tail, methods } = found.value;
    let action = route.action.map(|action| ("action".to_owned(), action.to_owned()));
    let named = found.params.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let said = action.into_iter().chain(named).collect();
    Some(First { route, methods, said, needs_selector: *tail == NAMES_ONE })
}

/// Writes the first spelling into the request. Returns the methods that the path answers.
///
/// # Errors
/// `bad_query` for a parameter that the path has already, for an action beside it, and for `/one`
/// without a selector.
pub(super) fn write(
    request: &mut Canonical,
    First { route, methods, said, needs_selector }: First,
) -> Result<&'static [&'static str]> {
    // Else the path would name one thing, and the query act on another.
    if route.action.is_none() && request.parameter("action").is_some() {
        return Err(bad("An action is a part of the path, or goes with its first spelling."));
    }
    let mut query = said;
    for (name, value) in std::mem::take(&mut request.query) {
        if query.iter().any(|(known, _)| *known == name) {
            return Err(bad(format!("The path already gives {name}: leave it out of the query.")));
        }
        query.push((name, value));
    }
    let selects = |(name, _): &(String, String)| SELECTORS.contains(&name.as_str());
    if needs_selector && !query.iter().any(selects) {
        return Err(bad(format!("Name the page by one of {}.", SELECTORS.join(", "))));
    }
    request.path = route.path.to_owned();
    request.query = query;
    Ok(methods)
}
