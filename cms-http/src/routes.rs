//! Every endpoint, one line each.

use cms_core::Result;
use futures_util::future::BoxFuture;

use crate::{
    gate::Call,
    handlers::{audit, cache, checklist, health, item, keys, limits, origins, pages},
    reply::Reply,
};

/// Who may come in before rights are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody; a key that is sent is checked all the same.
    Public,
    /// Backend users, and keys with a row for it.
    Backend,
    /// Everybody, outside of `/api`: no keys, no rights.
    Open,
}

pub(crate) type Handler = for<'a> fn(&'a Call<'a>) -> BoxFuture<'a, Result<Reply>>;

pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    /// The tables its replies are made from; none: they are not cached.
    pub(crate) tables: &'static [&'static str],
    pub(crate) methods: &'static [(&'static str, Handler)],
}

macro_rules! routes {
    ($($path:literal $access:ident $([$($table:literal),+])? $($method:ident $handler:path),+;)*) => {
        &[$(Route { path: $path, access: Access::$access, tables: &[$($($table),+)?], methods: &[$((stringify!($method), |call| Box::pin($handler(call)))),+] }),*]
    };
}

const ROUTES: &[Route] = routes! {
    "/healthz" Open GET health::alive;
    "/readyz" Open GET health::ready;
    "/metrics" Open GET health::metrics;
    "/sitemap.xml" Open GET pages::sitemap;
    "/api/pages" Public ["pages"] GET pages::read;
    "/api/menu" Public ["menu_items"] GET pages::menu;
    "/api/settings" Public ["settings"] GET pages::settings;
    "/api/backend/item" Backend GET item::read, POST item::create, PATCH item::update, DELETE item::delete;
    "/api/backend/actions/checklist" Backend POST checklist::apply;
    "/api/backend/keys" Backend GET keys::read, POST keys::create, PATCH keys::update, DELETE keys::delete;
    "/api/backend/keys/rotate" Backend POST keys::rotate;
    "/api/backend/keys/check" Backend GET keys::check;
    "/api/backend/origins" Backend GET origins::read, POST origins::create, PATCH origins::update, DELETE origins::delete;
    "/api/backend/audit" Backend GET audit::list;
    "/api/backend/cache" Backend GET cache::read, PATCH cache::update, DELETE cache::clear;
    "/api/backend/limits" Backend GET limits::read, DELETE limits::reset;
};

/// The route of a canonical path.
pub(crate) fn find(path: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.path == path)
}

impl Route {
    pub(crate) fn handler(&self, method: &str) -> Option<Handler> {
        let method = if method == "HEAD" { "GET" } else { method };
        self.methods.iter().find(|(known, _)| *known == method).map(|(_, handler)| *handler)
    }

    /// The value of `Allow`.
    pub(crate) fn allow(&self) -> String {
        let names =
            self.methods.iter().flat_map(|(method, _)| if *method == "GET" { vec!["GET", "HEAD"] } else { vec![*method] });
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Path and methods of everything that is served.
#[must_use]
pub fn endpoints() -> Vec<(&'static str, Vec<&'static str>)> {
    ROUTES.iter().map(|route| (route.path, route.methods.iter().map(|(method, _)| *method).collect())).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn rights_can_name_exactly_what_is_served() {
        let served: Vec<_> = super::endpoints().into_iter().filter(|(path, _)| path.starts_with("/api/")).collect();
        let named: Vec<_> = cms_core::keys::ENDPOINTS.iter().map(|(path, methods)| (*path, methods.to_vec())).collect();
        assert_eq!(served, named);
    }
}
