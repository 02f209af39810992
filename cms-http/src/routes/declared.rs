//! Routes of the endpoints that plugins declare. Those of the table take precedence.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use cms_core::{
    Cms, Result,
    access::{Access, Endpoint},
    plugins::{
        Index, Manifest,
        manifest::{self, EndpointDeclaration},
    },
};

use super::{
    Handler, Method, Route, find, handled,
    spellings::{self, Rewrite},
};
use crate::{
    call::DeclaredBy,
    describe::{self, Described},
    handlers::endpoints::answer,
    request::Canonical,
    success::Answers,
    wire::ReplyKind,
};

/// The path of one record, at an endpoint that reads a table.
const ONE: &str = "/{id}";

/// The routes of a site's plugins.
pub(crate) struct Declared {
    by_path: HashMap<String, &'static Route>,
    /// Routes with parameters in their path. A parameter is named by its place, because two
    /// routes may give the same place different names.
    patterns: matchit::Router<&'static Route>,
    /// The operations, for the OpenAPI document.
    pub(crate) operations: Vec<Described>,
    /// The declarations that the routes are made of.
    index: Arc<Index>,
}

impl Declared {
    /// The routes of the plugins in service.
    pub(crate) fn of(cms: &Cms) -> Self {
        // Read first, so that a change made meanwhile causes new routes.
        let index = cms.plugins().index();
        let mut by_path = HashMap::new();
        let mut patterns = matchit::Router::new();
        for state in cms.plugins().states().iter() {
            let Some(manifest) = state.manifest.as_deref() else { continue };
            for endpoint in manifest.endpoints.iter() {
                let path = endpoint.path();
                if find(&path, None).is_some() || spellings::find(&path).is_some() {
                    tracing::error!(path, plugin = manifest.id, "the path is the service's own");
                    continue;
                }
                let route = kept(Parts::of(cms, manifest, endpoint, path.clone()));
                if path.contains('{')
                    && let Err(error) = patterns.insert(placed(&path), route)
                {
                    tracing::error!(path, plugin = manifest.id, %error, "no route");
                    continue;
                }
                by_path.insert(path, route);
            }
        }
        let operations = by_path.values().copied().flat_map(super::operations_of).collect();
        Self { by_path, patterns, operations, index }
    }

    /// Whether the routes are those of the plugins in service.
    pub(crate) fn is_current(&self, cms: &Cms) -> bool {
        cms.plugins().has(&self.index)
    }

    pub(crate) fn find(&self, path: &str) -> Option<&'static Route> {
        self.by_path.get(path).copied()
    }

    /// Writes the first spelling into the request. Returns the methods that the requested
    /// spelling answers; None: it is the first spelling.
    pub(crate) fn respell(
        &self,
        request: &mut Canonical,
    ) -> Result<Option<&'static [&'static str]>> {
        let is_fixed = !request.path.contains('{') && self.find(&request.path).is_some();
        if spellings::is_route(&request.path) || is_fixed {
            return Ok(None);
        }
        let of_plugin = || {
            let (path, id) = request.path.rsplit_once('/')?;
            // Dashes in an id are not a spelling of underscores.
            let id =
                request.as_sent.as_deref().and_then(|path| path.rsplit('/').next()).unwrap_or(id);
            let route = self.find(path).filter(|route| !route.tails.is_empty())?;
            let parameters = vec![("id".to_owned(), id.to_owned())];
            Some(Rewrite { route, methods: &["GET"], parameters, needs_selector: false })
        };
        if let Some(rewrite) = spellings::find(&request.path).or_else(of_plugin) {
            return spellings::apply(request, rewrite).map(Some);
        }
        // Last, so that no pattern matches a path that has a route of its own.
        if let Ok(found) = self.patterns.at(&request.path) {
            let rewrite = of_pattern(found.value, request);
            spellings::apply(request, rewrite)?;
        }
        Ok(None)
    }

    /// The endpoints that keys may name in addition to those of the table.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = Endpoint> {
        self.by_path.values().map(|route| super::endpoint(route))
    }
}

/// The path with its parameters named by their place: `/api/orders/{3}/pay`.
fn placed(path: &str) -> String {
    let place = |(place, part): (usize, &str)| match part.starts_with('{') {
        true => format!("{{{place}}}"),
        false => part.to_owned(),
    };
    path.split('/').enumerate().map(place).collect::<Vec<_>>().join("/")
}

/// The first spelling of a path with parameters: their values become query parameters.
fn of_pattern(route: &'static Route, request: &Canonical) -> Rewrite {
    // Dashes in a value are not a spelling of underscores.
    let sent = request.as_sent.as_deref().unwrap_or(&request.path);
    let parameters = route.path.split('/').zip(sent.split('/')).filter_map(|(part, value)| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some((name.to_owned(), value.to_owned()))
    });
    Rewrite { route, methods: &[], parameters: parameters.collect(), needs_selector: false }
}

/// What a route is made of.
#[derive(Clone, PartialEq)]
struct Parts {
    path: String,
    plugin: String,
    model_path: String,
    /// Whether everybody may call the endpoint; if not, callers need a permission of the plugin.
    public: bool,
    /// The content table whose records are read; None: a handler answers.
    records: Option<String>,
    tables: Vec<String>,
    methods: Vec<manifest::Method>,
}

impl Parts {
    fn of(cms: &Cms, manifest: &Manifest, endpoint: &EndpointDeclaration, path: String) -> Self {
        let name = &endpoint.model_path;
        let is_table = manifest.tables.iter().any(|table| table.name == *name);
        Self {
            path,
            plugin: manifest.id.clone(),
            model_path: name.clone(),
            public: endpoint.public,
            records: is_table.then(|| name.clone()),
            tables: tables(cms, manifest, endpoint),
            methods: endpoint.methods.to_vec(),
        }
    }
}

/// The route for these parts. Routes are never freed, but equal parts share one, so memory grows
/// only with endpoints that are declared for the first time in this process.
fn kept(parts: Parts) -> &'static Route {
    static MADE: Mutex<Vec<(Parts, &'static Route)>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, route)) = made.iter().find(|(known, _)| *known == parts) {
        return route;
    }
    let route: &'static Route = Box::leak(Box::new(route(parts.clone())));
    made.push((parts, route));
    route
}

fn route(parts: Parts) -> Route {
    let methods: Vec<Method> = parts.methods.iter().map(|method| self::method(*method)).collect();
    let tables: Vec<&'static str> = parts.tables.into_iter().map(|name| &*name.leak()).collect();
    let plugin: &'static str = parts.plugin.leak();
    let (model_path, public) = (&*parts.model_path.leak(), parts.public);
    Route {
        path: parts.path.leak(),
        action: None,
        tails: if parts.records.is_some() { &[ONE] } else { &[] },
        access: if public { Access::Public } else { Access::Plugin(plugin) },
        tables: Vec::leak(tables),
        records: parts.records.map(|name| &*name.leak()),
        endpoint: Some(DeclaredBy { plugin, model_path, public }),
        resource: "endpoints",
        methods: Vec::leak(methods),
    }
}

/// The tables that replies are made from. Empty if one of them is adopted: other programs write
/// adopted tables, so such replies are not kept.
fn tables(cms: &Cms, manifest: &Manifest, endpoint: &EndpointDeclaration) -> Vec<String> {
    let name = &endpoint.model_path;
    let declared = manifest.tables.iter().any(|table| table.name == *name);
    let read =
        if declared { vec![name.clone()] } else { cms.plugins().tables_of(&manifest.id, name) };
    let tables = cms.tables();
    let counted = |name: &String| tables.find(name).is_some_and(|table| !table.adopted);
    if !read.iter().all(counted) {
        return Vec::new();
    }
    read
}

fn method(method: manifest::Method) -> Method {
    let handler: Handler =
        |call, content| handled("endpoints::answer", Box::pin(answer(call, content)));
    let answers = Answers { status: 200, kind: ReplyKind::Json };
    let name = method.name();
    // The plugin judges `If-Match`.
    Method { name, judges_tags: true, answers, handler, types: describe::of_declared(name) }
}
