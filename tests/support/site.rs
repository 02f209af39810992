//! A site with a clock of its own, spoken to without sockets.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicU32, Ordering},
    task::{Context, Poll},
};

use bytes::Bytes;
pub use cms_core::testing::NOW;
use cms_core::{
    Actor, Builder, Clock, Cms,
    access::Right,
    keys::NewApiKey,
    plugins::{Handlers, Manifest, Plugin},
    settings::Settings,
    testing::{TestSite, TestSiteBuilder},
};
use cms_http::{Api, Body, testing};
use futures_util::{FutureExt as _, future::BoxFuture};
use http::{Request, Response};
use http_body_util::Full;
use serde_json::Value as Json;
use tower_service::Service;

use super::TestDatabase;

pub type Ask = testing::Ask<Named>;

/// Each opening has its own sequence, so that a site that is opened again makes other keys.
static SEED: AtomicU32 = AtomicU32::new(1);

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
    parts: Vec<Box<dyn FnOnce(TestSiteBuilder) -> TestSiteBuilder + Send>>,
}

impl SiteBuilder {
    pub fn plugin(self, manifest: Json) -> Self {
        self.program(Declared(serde_json::from_value(manifest).unwrap()))
    }

    /// A plugin of the embedding program.
    pub fn program(self, plugin: impl Plugin) -> Self {
        self.with(|builder| builder.plugin(plugin))
    }

    /// What only the builder of a site can set.
    pub fn with(mut self, set: impl FnOnce(Builder) -> Builder + Send + 'static) -> Self {
        self.parts.push(Box::new(|builder| builder.with(set)));
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
        let kit = TestSite::on(self.database.into()).await.settings(|all| *all = self.settings);
        let kit = self.parts.into_iter().fold(kit, |kit, set| set(kit));
        let kit = kit.seed(SEED.fetch_add(1, Ordering::SeqCst)).try_open().await?;
        let api = Api::new(kit.cms.clone())?;
        let admin = kit.key(&["*"]).await;
        let TestSite { cms, clock, database, .. } = kit;
        Ok(Site { cms, api, clock, database: database.into(), admin })
    }
}

/// Every reply names its request.
#[derive(Clone)]
pub struct Named(Api);

impl Service<Request<Full<Bytes>>> for Named {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let api = self.0.clone();
        async move {
            let reply = api.handle(request).await;
            assert!(reply.headers().contains_key("x-request-id"));
            Ok(reply)
        }
        .boxed()
    }
}

impl Site {
    pub async fn builder() -> SiteBuilder {
        Self::on(TestDatabase::new().await)
    }

    pub fn on(database: TestDatabase) -> SiteBuilder {
        SiteBuilder { settings: database.settings(), database, parts: Vec::new() }
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
        let mut new = NewApiKey::new("test");
        new.rights = rights.iter().map(|right| Right::parse(right).unwrap()).collect();
        change_new(&mut new);
        let mut change = self.cms.change(Actor::Operator).await.unwrap();
        let (key, value) =
            self.cms.keys().create(&mut change, &[Right::everything()], new).await.unwrap();
        change.commit().await.unwrap();
        (key.id, value.expose().to_owned())
    }

    /// `site.ask("GET /api/pages")`
    pub fn ask(&self, line: &str) -> Ask {
        testing::ask(&Named(self.api.clone()), line)
    }

    /// As [`Site::ask`], with the key that may do everything.
    pub fn admin(&self, line: &str) -> Ask {
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
