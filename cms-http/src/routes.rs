//! Every endpoint, one line each.

use cms_core::{
    Result,
    access::{Access, Endpoint},
};
use futures_util::future::BoxFuture;
use tracing::Instrument;

use crate::{
    call::Call,
    handlers::{
        audit, auth, cache, checklist, events, health, item, keys, limits, origins, pages,
        user_groups, users, webhooks,
    },
    reply::Reply,
};

pub(crate) type Handler = for<'a> fn(&'a Call<'a>) -> BoxFuture<'a, Result<Reply>>;

pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    /// The tables its replies are made from; none: they are not cached.
    pub(crate) tables: &'static [&'static str],
    pub(crate) methods: &'static [(&'static str, Handler)],
}

macro_rules! routes {
    ($($path:literal $access:ident $(($area:literal))? $([$($table:literal),+])? $($method:ident $handler:path),+;)*) => {
        &[$(Route { path: $path, access: Access::$access $(($area))?, tables: &[$($($table),+)?], methods: &[$((stringify!($method), |call| Box::pin(handled(stringify!($handler), $handler(call))))),+] }),*]
    };
}

/// Runs a handler within its span; debug builds watch what it reads.
async fn handled<T>(name: &'static str, handler: impl Future<Output = T>) -> T {
    let span = tracing::debug_span!("handler", name);
    cms_core::db::watched(handler).instrument(span).await
}

const ROUTES: &[Route] = routes! {
    "/healthz" Open GET health::alive;
    "/readyz" Open GET health::ready;
    "/metrics" Open GET health::metrics;
    "/sitemap.xml" Open GET pages::sitemap;
    "/api/pages" Public ["pages"] GET pages::read;
    "/api/menu" Public ["menu_items"] GET pages::menu;
    "/api/settings" Public ["settings"] GET pages::settings;
    "/api/backend/item" Table GET item::read, POST item::create, PATCH item::update, DELETE item::delete;
    "/api/backend/actions/checklist" Table POST checklist::apply;
    "/api/backend/keys" Area("keys_keys") GET keys::read, POST keys::create, PATCH keys::update, DELETE keys::delete;
    "/api/backend/keys/rotate" Area("keys_keys") POST keys::rotate;
    "/api/backend/keys/check" Area("keys_keys") GET keys::check;
    "/api/backend/origins" Admin GET origins::read, POST origins::create, PATCH origins::update, DELETE origins::delete;
    "/api/backend/audit" Admin GET audit::list;
    "/api/backend/cache" Admin GET cache::read, PATCH cache::update, DELETE cache::clear;
    "/api/backend/limits" Admin GET limits::read, DELETE limits::reset;
    "/api/backend/users" Admin GET users::read, POST users::create, PATCH users::update, DELETE users::delete;
    "/api/backend/users/sessions" Admin GET users::sessions, DELETE users::revoke;
    "/api/backend/users/2fa-reset" Operator POST users::reset_second_factor;
    "/api/backend/users/2fa-codes" Operator POST users::new_recovery_codes;
    "/api/backend/user_groups" Admin GET user_groups::read, POST user_groups::create, PATCH user_groups::update, DELETE user_groups::delete;
    "/api/backend/loginattempts" Admin GET auth::attempts, DELETE auth::clear_attempts;
    "/api/backend/webhooks" Area("webhooks_subscriptions") GET webhooks::read, POST webhooks::create, PATCH webhooks::update, DELETE webhooks::delete;
    "/api/backend/webhooks/rotate-secret" Area("webhooks_subscriptions") POST webhooks::rotate;
    "/api/backend/webhooks/activate" Area("webhooks_subscriptions") POST webhooks::activate;
    "/api/backend/webhooks/ping" Area("webhooks_subscriptions") POST webhooks::ping;
    "/api/backend/webhooks/events" Area("webhooks_subscriptions") GET events::list;
    "/api/backend/webhooks/explain" Area("webhooks_subscriptions") POST events::explain;
    "/api/backend/webhooks/emit" Area("webhooks_subscriptions") POST events::emit;
    "/api/backend/webhooks/messages" Area("webhooks_subscriptions") GET events::messages;
    "/api/backend/webhooks/queue" Area("webhooks_subscriptions") GET webhooks::queue, DELETE webhooks::purge;
    "/api/backend/webhooks/queue/stats" Area("webhooks_subscriptions") GET webhooks::stats;
    "/api/backend/webhooks/queue/retry" Area("webhooks_subscriptions") POST webhooks::retry;
    "/api/backend/webhooks/queue/cancel" Area("webhooks_subscriptions") POST webhooks::cancel;
    "/api/backend/webhooks/deliveries" Area("webhooks_subscriptions") GET webhooks::deliveries;
    "/api/backend/webhooks/redeliver" Area("webhooks_subscriptions") POST webhooks::redeliver;
    "/api/backend/auth/login" Login POST auth::login;
    "/api/backend/auth/verify" Login POST auth::verify;
    "/api/backend/auth/logout" Session POST auth::logout;
    "/api/backend/auth/me" Session GET auth::me;
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
        let names = self.methods.iter().flat_map(|(method, _)| {
            if *method == "GET" { vec!["GET", "HEAD"] } else { vec![*method] }
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Everything that is served.
pub(crate) fn endpoints() -> Vec<Endpoint> {
    ROUTES
        .iter()
        .map(|route| Endpoint {
            path: route.path.to_owned(),
            methods: route.methods.iter().map(|(method, _)| *method).collect(),
            access: route.access,
        })
        .collect()
}
