//! Paths for typed clients: `/api/backend/keys/7` stands for `/api/backend/keys?id=7`, and
//! `/api/backend/formfunnel/list` for `/api/backend/formfunnel?action=list`. The first spelling
//! is written into the request before anything else looks at it, so limiter, rights, cache and
//! audit need to know no other.

use std::sync::LazyLock;

use cms_core::Result;

use super::{BY_PATH, Route, table};
use crate::{
    describe::{Schemas, is_named_by},
    request::{Canonical, bad},
};

/// The path for a query that names one thing by a selector.
const NAMES_ONE: &str = "/one";
const SELECTORS: [&str; 3] = ["view", "url", "id"];
/// The path for a table, not for one of its records.
const OF_TABLE: &str = "/{table}";

/// A path that stands for another with a query.
pub(super) struct Spelling {
    route: &'static Route,
    tail: &'static str,
    /// The methods that the path answers: those whose query has its parameter.
    methods: Vec<&'static str>,
}

static SPELLINGS: LazyLock<matchit::Router<Spelling>> = LazyLock::new(|| {
    let mut router = matchit::Router::new();
    // A path with parameters has no other spelling.
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

/// What a path is rewritten to: its route, the methods that the path answers, and the query
/// parameters that the path stands for.
pub(super) struct Rewrite {
    pub(super) route: &'static Route,
    pub(super) methods: &'static [&'static str],
    pub(super) parameters: Vec<(String, String)>,
    pub(super) needs_selector: bool,
}

/// Whether a route has exactly this path. Such a route comes first:
/// `/api/backend/keys/rotate` is not a key.
pub(super) fn is_route(path: &str) -> bool {
    BY_PATH.at(path).is_ok()
}

pub(super) fn find(path: &str) -> Option<Rewrite> {
    let found = SPELLINGS.at(path).ok()?;
    let Spelling { route, tail, methods } = found.value;
    let action = route.action.map(|action| ("action".to_owned(), action.to_owned()));
    let named = found.params.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let parameters = action.into_iter().chain(named).collect();
    Some(Rewrite { route, methods, parameters, needs_selector: *tail == NAMES_ONE })
}

/// Writes the first spelling into the request. Returns the methods that the path answers.
///
/// # Errors
/// `bad_query` for a query parameter that the path already gives, for an action in the query, and
/// for `/one` without a selector.
pub(super) fn apply(
    request: &mut Canonical,
    Rewrite { route, methods, parameters, needs_selector }: Rewrite,
) -> Result<&'static [&'static str]> {
    // Otherwise the path would name one thing while the query acts on another.
    if route.action.is_none() && request.parameter("action").is_some() {
        let why = "An action in the query does not go with this path: put it into the path, or put \
                   both into the query.";
        return Err(bad(why));
    }
    let mut query = parameters;
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
