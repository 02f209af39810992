//! A service of its own for each test, with a clock that tests move and names that stay the same.

use cms_core::{
    Clock, Cms, Random, Secret,
    plugins::Manifest,
    settings::{LimiterStore, Settings},
};
use cms_http::{
    Api,
    client::{Ask, Client},
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// 2026-11-21T09:30:00Z.
const NOW: i64 = 1_795_253_400_000;

pub(super) struct TestSite {
    pub(super) cms: Cms,
    pub(super) clock: Clock,
    _folder: TempDir,
}

fn blog() -> Manifest {
    let manifest = json!({
        "id": "blog", "name": "Blog", "version": "1.0.0",
        "tables": [{
            "name": "posts", "multilanguage": true,
            "columns": [
                {"name": "title", "type": "text", "required": true},
                {"name": "body", "type": "textarea"},
                {"name": "views", "type": "integer", "required": true, "default": 0},
                {"name": "published", "type": "boolean", "default": false},
            ],
            "indexes": [["published", "-views"]],
        }],
    });
    serde_json::from_value(manifest).expect("a manifest")
}

impl TestSite {
    pub(super) async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::default();
        settings.dirs.data = folder.path().join("data");
        settings.dirs.plugins = folder.path().join("plugins");
        settings.dirs.media = folder.path().join("media");
        settings.languages = vec!["en".to_owned(), "de".to_owned()];
        settings.limiter.store = LimiterStore::Off;
        settings.webhooks.allow_http = true;
        settings.webhooks.allow_cidrs = vec!["127.0.0.1/32".parse().expect("a network")];
        settings.password_salt = Some(Secret::new("a salt that only tests have"));
        settings.encryption_key = Some(Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="));
        let clock = Clock::fixed(NOW);
        let builder = Cms::builder(settings).clock(clock.clone()).random(Random::seeded(7));
        let cms = builder.plugin(blog()).open().await.expect("a site");
        Self { cms, clock, _folder: folder }
    }

    pub(super) fn client(&self) -> Client {
        Client::local(Api::new(self.cms.clone()).expect("an API"))
    }

    /// What another program does: `site.does(Ask::post("/api/backend/keys"), json!({…}))`.
    pub(super) async fn does(&self, ask: Ask, body: Json) -> Json {
        let answer = self.client().send(ask.json(&body)).await.expect("a good answer");
        answer.json().map(|mut body| body["data"].take()).unwrap_or_default()
    }

    pub(super) async fn post(&self, title: &str) -> Json {
        let ask = Ask::post("/api/backend/item").query("table", "posts");
        self.does(ask, json!({"title": title, "language_short": "en"})).await
    }

    pub(super) async fn key(&self, name: &str, body: Json) {
        let mut all = json!({"name": name});
        all.as_object_mut().expect("members").extend(body.as_object().cloned().unwrap_or_default());
        self.does(Ask::post("/api/backend/keys"), all).await;
    }

    pub(super) async fn webhook(&self, name: &str, url: &str) -> Json {
        let body = json!({"name": name, "url": url, "events": ["item.*"]});
        self.does(Ask::post("/api/backend/webhooks"), body).await
    }

    /// One turn of a worker.
    pub(super) async fn delivers(&self) {
        self.cms.webhooks().worker().step().await.expect("a turn");
    }
}
