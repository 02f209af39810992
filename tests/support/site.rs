//! A site with a clock of its own, spoken to without sockets.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use cms_core::{
    Actor, Builder, Clock, Cms, Random,
    keys::{NewApiKey, Right},
    plugins::{Handlers, Manifest, Plugin},
    settings::Settings,
};
use cms_http::Api;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value as Json;

use super::TestDatabase;

/// Each opening has its own sequence, so that a site that is opened again makes other keys.
static SEED: AtomicU64 = AtomicU64::new(1);

/// 2026-11-21T09:30:00Z.
pub const NOW: i64 = 1_795_253_400_000;

const EVENTS: &str = "text/event-stream";

pub struct Site {
    pub cms: Cms,
    pub api: Api,
    pub clock: Clock,
    pub database: TestDatabase,
    /// A key with the row `*`.
    pub admin: String,
}

/// A plugin of the program that has nothing but its declaration, and the icons that it names.
struct Declared(Manifest);

impl Plugin for Declared {
    fn manifest(&self) -> Manifest {
        self.0.clone()
    }

    fn handlers(&self) -> Handlers {
        let icons = self.0.pagebuilder_widgets.iter().map(|widget| &widget.widget_icon);
        icons.fold(Handlers::default(), |handlers, icon| handlers.icon(icon, b"<svg/>"))
    }
}

pub struct SiteBuilder {
    database: TestDatabase,
    settings: Settings,
    plugins: Vec<Box<dyn FnOnce(Builder) -> Builder + Send>>,
}

impl SiteBuilder {
    pub fn plugin(self, manifest: Json) -> Self {
        self.program(Declared(serde_json::from_value(manifest).unwrap()))
    }

    /// A plugin of the embedding program.
    pub fn program(mut self, plugin: impl Plugin) -> Self {
        self.plugins.push(Box::new(|builder| builder.plugin(plugin)));
        self
    }

    /// What only the builder of a site can set.
    pub fn with(mut self, set: impl FnOnce(Builder) -> Builder + Send + 'static) -> Self {
        self.plugins.push(Box::new(set));
        self
    }

    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    pub async fn open(self) -> Site {
        self.try_open().await.unwrap()
    }

    pub async fn try_open(self) -> Result<Site, cms_core::Error> {
        let clock = Clock::fixed(NOW);
        let mut builder = Cms::builder(self.settings)
            .clock(clock.clone())
            .random(Random::seeded(SEED.fetch_add(1 << 32, Ordering::SeqCst)));
        for plugin in self.plugins {
            builder = plugin(builder);
        }
        let cms = builder.open().await?;
        cms.indexes_made().await.expect("made");
        let api = Api::new(cms.clone())?;
        let mut site = Site { cms, api, clock, database: self.database, admin: String::new() };
        site.admin = site.key(&["*"]).await;
        Ok(site)
    }
}

impl Site {
    pub async fn builder() -> SiteBuilder {
        Self::on(TestDatabase::new().await)
    }

    pub fn on(database: TestDatabase) -> SiteBuilder {
        SiteBuilder { settings: database.settings(), database, plugins: Vec::new() }
    }

    pub async fn open() -> Site {
        Self::builder().await.open().await
    }

    /// Makes a key with these rights and returns its value.
    pub async fn key(&self, rights: &[&str]) -> String {
        self.key_with(|_| {}, rights).await.1
    }

    pub async fn key_with(
        &self,
        change_new: impl FnOnce(&mut NewApiKey),
        rights: &[&str],
    ) -> (i64, String) {
        let rights = rights.iter().map(|right| Right::parse(right).unwrap()).collect();
        let mut new = NewApiKey { name: "test".to_owned(), expires_on: None, active: true, rights };
        change_new(&mut new);
        let mut change = self.cms.change(Actor::Operator).await.unwrap();
        let (key, value) =
            self.cms.keys().create(&mut change, &[Right::everything()], new).await.unwrap();
        change.commit().await.unwrap();
        (key.id, value.expose().to_owned())
    }

    /// `site.ask("GET /api/pages")`
    pub fn ask(&self, line: &str) -> Ask<'_> {
        let (method, target) = line.split_once(' ').expect("method and target");
        Ask {
            site: self,
            request: Request::builder().method(method).uri(target),
            body: Vec::new(),
            line: line.to_owned(),
        }
    }

    /// As [`Site::ask`], with the key that may do everything.
    pub fn admin(&self, line: &str) -> Ask<'_> {
        self.ask(line).key(&self.admin)
    }

    /// Statements that a step sends, the least of three rounds: the site asks once in a while what
    /// other processes have committed, and is counted with the step.
    pub async fn statements(&self, mut step: impl AsyncFnMut()) -> u64 {
        let mut least = u64::MAX;
        for _ in 0..3 {
            let before = self.cms.db().statements_sent();
            step().await;
            least = least.min(self.cms.db().statements_sent() - before);
        }
        least
    }

    /// Rows that the service has written so far: nothing may be added by a refused request.
    pub async fn traces(&self) -> Vec<i64> {
        let mut counts = Vec::new();
        for table in [
            "cms_events",
            "cms_audit",
            "cms_idempotency",
            "cms_api_keys",
            "cms_pages",
            "cms_settings",
        ] {
            counts.push(self.database.count(&format!("select count(*) from {table}")).await);
        }
        counts.push(
            self.database
                .count("select cast(coalesce(sum(epoch), 0) as bigint) from cms_table_epochs")
                .await,
        );
        counts
    }
}

pub struct Ask<'a> {
    site: &'a Site,
    request: http::request::Builder,
    body: Vec<u8>,
    line: String,
}

#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Ask<'_> {
    pub fn key(self, key: &str) -> Self {
        self.header("x-api-key", key)
    }

    /// A session's token.
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    /// What an embedding server says of the request.
    pub fn extension(mut self, value: impl Clone + Send + Sync + 'static) -> Self {
        self.request = self.request.extension(value);
        self
    }

    /// Where the request comes from.
    pub fn peer(mut self, peer: cms_http::Peer) -> Self {
        self.request = self.request.extension(peer);
        self
    }

    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.request = self.request.header(name, value.as_ref());
        self
    }

    pub fn json(self, body: Json) -> Self {
        self.body(body.to_string())
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        let typed =
            self.request.headers_ref().is_some_and(|headers| headers.contains_key("content-type"));
        if typed { self } else { self.header("content-type", "application/json") }
    }

    /// Sends it and expects this status.
    pub async fn expect(self, status: u16) -> Reply {
        let line = self.line.clone();
        let reply = self.send().await;
        assert_eq!(reply.status.as_u16(), status, "{line}: {}", reply.text());
        reply
    }

    /// Sends it and expects this status and code.
    pub async fn refused(self, status: u16, code: &str) -> Reply {
        let line = self.line.clone();
        let reply = self.expect(status).await;
        assert_eq!(reply.json()["error"], code, "{line}: {}", reply.text());
        assert_eq!(reply.headers["content-type"], "application/problem+json", "{line}");
        reply
    }

    pub async fn send(mut self) -> Reply {
        // As every request over HTTP/1.1 has one.
        if self.request.headers_ref().is_some_and(|headers| !headers.contains_key("host")) {
            self = self.header("host", "cms.test");
        }
        let request = self.request.body(Full::new(Bytes::from(self.body))).expect(&self.line);
        let (parts, mut body) = self.site.api.handle(request).await.into_parts();
        assert!(parts.headers.contains_key("x-request-id"));
        // A stream of events has no end: its beginning says that it is open.
        let body = if parts.headers.get("content-type").is_some_and(|kind| kind == EVENTS) {
            let first = body.frame().await.and_then(Result::ok);
            first.and_then(|frame| frame.into_data().ok()).unwrap_or_default()
        } else {
            body.collect().await.unwrap().to_bytes()
        };
        Reply { status: parts.status, headers: parts.headers, body }
    }
}

impl Reply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// As [`Reply::json`]; null for an empty body and for what is no JSON.
    pub fn json_or_null(&self) -> Json {
        let kind = self.headers.get("content-type").map(|kind| kind.to_str().unwrap_or_default());
        let is_json = kind.is_none_or(|kind| kind.ends_with("json"));
        if self.body.is_empty() || !is_json { Json::Null } else { self.json() }
    }

    pub fn data(&self) -> Json {
        self.json()["data"].clone()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no header {name}")).to_str().unwrap()
    }
}
