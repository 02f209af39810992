//! A site with a clock of its own, spoken to without sockets.

use std::{
    collections::BTreeSet,
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
        let icons: BTreeSet<_> = icons.collect();
        icons.into_iter().fold(Handlers::default(), |handlers, icon| handlers.icon(icon, b"<svg/>"))
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

    /// A site with other settings.
    pub async fn with(change: impl FnOnce(&mut Settings)) -> Site {
        Self::builder().await.settings(change).open().await
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

    /// What is read there with that key.
    pub async fn get(&self, path: &str) -> Json {
        self.admin(&format!("GET {path}")).expect(200).await.data()
    }

    /// The record that a POST of this body makes with that key.
    pub async fn create(&self, path: &str, body: Json) -> Json {
        self.admin(&format!("POST {path}")).json(body).expect(201).await.data()
    }

    /// What a POST that makes no record answers that key.
    pub async fn post(&self, path: &str, body: Json) -> Json {
        self.admin(&format!("POST {path}")).json(body).expect(200).await.data()
    }

    /// The record as a PATCH with that key leaves it.
    pub async fn patch(&self, path: &str, body: Json) -> Json {
        self.admin(&format!("PATCH {path}")).json(body).expect(200).await.data()
    }

    /// Removes it with that key.
    pub async fn delete(&self, path: &str) {
        self.admin(&format!("DELETE {path}")).expect(204).await;
    }

    /// Records of a table, or one: `site.items("posts&sort=id")`.
    pub async fn items(&self, which: &str) -> Json {
        self.get(&format!("/api/backend/item?table={which}")).await
    }

    /// The pages of a list, by its cursors: what each holds.
    pub async fn pages(&self, path: &str) -> Vec<Json> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let (mut pages, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.admin(&format!("GET {path}{cursor}")).expect(200).await.json();
            pages.push(page["data"].clone());
            match page["meta"]["next"].as_str() {
                Some(next) => cursor = format!("{joint}cursor={next}"),
                None => return pages,
            }
        }
    }

    /// Makes a record of a table, or a list of them.
    pub async fn insert(&self, table: &str, records: Json) -> Json {
        self.create(&format!("/api/backend/item?table={table}"), records).await
    }

    /// Changes a record: `site.update("posts&id=1", patch)`.
    pub async fn update(&self, which: &str, patch: Json) -> Json {
        self.patch(&format!("/api/backend/item?table={which}"), patch).await
    }

    /// Removes a record.
    pub async fn remove(&self, which: &str) {
        self.delete(&format!("/api/backend/item?table={which}")).await;
    }

    /// What is wrong with this body, as its refusal tells that key.
    pub async fn invalid(&self, line: &str, body: Json) -> Json {
        self.admin(line).json(body).refused(422, "validation_failed").await.json()
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
            "cms_events", "cms_audit", "cms_idempotency", "cms_api_keys", "cms_pages",
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
