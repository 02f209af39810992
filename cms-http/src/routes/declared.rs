//! Routes of the endpoints that plugins declare. They come behind those of the table.

use std::collections::HashMap;

use cms_core::{
    Cms,
    access::{Access, Endpoint},
    plugins::{Manifest, manifest::EndpointDeclaration},
};

use super::{Handler, Method, Route, find};
use crate::{
    describe::{self, Described},
    handlers::endpoints::answer,
    success::Answers,
    wire::ReplyKind,
};

/// The routes of a site's plugins.
#[derive(Default)]
pub(crate) struct Declared {
    by_path: HashMap<String, &'static Route>,
    /// For the OpenAPI document.
    pub(crate) operations: Vec<Described>,
}

impl Declared {
    pub(crate) fn find(&self, path: &str) -> Option<&'static Route> {
        self.by_path.get(path).copied()
    }
}

/// The routes of a site. They are never freed: a process makes its API once.
pub(crate) fn declared(cms: &Cms) -> Declared {
    let mut by_path = HashMap::new();
    for state in cms.plugins().states().iter() {
        let Some(manifest) = state.manifest.as_deref() else { continue };
        for endpoint in manifest.endpoints.iter() {
            let path = endpoint.path();
            if find(&path, None).is_some() {
                tracing::error!(path, plugin = manifest.id, "the path is the service's own");
                continue;
            }
            let route: &'static Route =
                Box::leak(Box::new(route(cms, manifest, endpoint, path.clone())));
            by_path.insert(path, route);
        }
    }
    let operations = by_path.values().copied().flat_map(super::operations_of).collect();
    Declared { by_path, operations }
}

/// What keys may name beside the endpoints of the table.
pub(crate) fn endpoints_of(declared: &Declared) -> impl Iterator<Item = Endpoint> {
    declared.by_path.values().map(|route| super::endpoint(route))
}

fn route(cms: &Cms, manifest: &Manifest, endpoint: &EndpointDeclaration, path: String) -> Route {
    let tables = tables(cms, manifest, endpoint);
    let methods: Vec<Method> =
        endpoint.methods.iter().map(|method| self::method(*method)).collect();
    Route {
        path: path.leak(),
        action: None,
        access: if endpoint.public {
            Access::Public
        } else {
            Access::Plugin(manifest.id.clone().leak())
        },
        tables: Vec::leak(tables),
        resource: "endpoints",
        methods: Vec::leak(methods),
    }
}

/// The tables that replies are made from. Others write adopted tables too, so their replies are not
/// kept.
fn tables(cms: &Cms, manifest: &Manifest, endpoint: &EndpointDeclaration) -> Vec<&'static str> {
    let name = &endpoint.model_path;
    let declared = manifest.tables.iter().any(|table| table.name == *name);
    let read =
        if declared { vec![name.clone()] } else { cms.plugins().tables_of(&manifest.id, name) };
    let tables = cms.tables();
    let counted = |name: &String| tables.find(name).is_some_and(|table| !table.adopted);
    if !read.iter().all(counted) {
        return Vec::new();
    }
    read.into_iter().map(|name| &*name.leak()).collect()
}

fn method(method: cms_core::plugins::manifest::Method) -> Method {
    let handler: Handler = |call, content| Box::pin(answer(call, content));
    let answers = Answers { status: 200, kind: ReplyKind::Json };
    let name = method.name();
    Method { name, answers, handler, types: describe::of_declared(name) }
}
