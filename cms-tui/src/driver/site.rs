//! A service of its own for each test, with a clock that tests move and names that stay the same;
//! a receiver of its webhooks on loopback.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU16, Ordering},
};

use cms_core::{
    Actor, Clock, Cms, Random, Secret,
    plugins::Manifest,
    settings::{LimiterStore, Settings},
};
use cms_http::{
    Api, Server, Stop,
    client::{Ask, Client, Credential},
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// 2026-11-21T09:30:00Z.
const NOW: i64 = 1_795_253_400_000;

pub(crate) struct TestSite {
    pub(crate) cms: Cms,
    pub(crate) clock: Clock,
    settings: Settings,
    _folder: TempDir,
}

/// The service at an address.
pub(crate) struct Served {
    pub(crate) address: String,
    stop: Stop,
    task: JoinHandle<()>,
}

impl Served {
    pub(crate) fn client(&self, key: &str) -> Client {
        let credential = Credential::Key(Secret::new(key));
        Client::remote(&format!("http://{}", self.address), &credential).expect("a client")
    }

    /// Stops it, and waits until it has ended.
    pub(crate) async fn stop(self) {
        self.stop.now();
        self.task.await.expect("it ends well");
    }
}

async fn opened(settings: &Settings, clock: &Clock, seed: u64) -> Cms {
    let builder = Cms::builder(settings.clone()).clock(clock.clone()).random(Random::seeded(seed));
    builder.plugin(blog()).open().await.expect("a site")
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
    pub(crate) async fn open() -> Self {
        Self::with(|_| ()).await
    }

    /// With other settings than the usual ones.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
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
        change(&mut settings);
        let clock = Clock::fixed(NOW);
        let cms = opened(&settings, &clock, 7).await;
        Self { cms, clock, settings, _folder: folder }
    }

    /// The same site, opened by another process after the first one has ended.
    pub(crate) async fn again(self) -> Self {
        let cms = opened(&self.settings, &self.clock, 8).await;
        Self { cms, ..self }
    }

    /// Serves it; port 0 is any.
    pub(crate) async fn serve(&self, address: &str) -> Served {
        let api = Api::new(self.cms.clone()).expect("an API");
        let server = Server::bind(api, address).await.expect("a port");
        let server = server.without_worker().without_scheduler();
        let (address, stop) = (server.address().to_string(), server.stop());
        Served { address, stop, task: tokio::spawn(server.run()) }
    }

    pub(crate) fn client(&self) -> Client {
        Client::local(Api::new(self.cms.clone()).expect("an API"))
    }

    /// What another program does: `site.does(Ask::post("/api/backend/keys"), json!({…}))`.
    pub(crate) async fn does(&self, ask: Ask, body: Json) -> Json {
        let answer = self.client().send(ask.json(&body)).await.expect("a good answer");
        answer.json().map(|mut body| body["data"].take()).unwrap_or_default()
    }

    pub(crate) async fn post(&self, title: &str) -> Json {
        let ask = Ask::post("/api/backend/item").query("table", "posts");
        self.does(ask, json!({"title": title, "language_short": "en"})).await
    }

    /// Stores a file.
    pub(crate) async fn upload(&self, folder: &str, name: &str, content: &[u8]) {
        let media = self.cms.media();
        let mut incoming = media.incoming().await.expect("a file");
        incoming.write(content).await.expect("written");
        let ready = media.judge(incoming, name).await.expect("taken");
        let mut change = self.cms.change(Actor::Operator).await.expect("a change");
        media.store(&mut change, ready, folder).await.expect("stored");
        change.commit().await.expect("committed");
    }

    /// Makes a funnel and puts it before visitors. Returns its id.
    pub(crate) async fn funnel(&self, drawn: Json) -> i64 {
        let action = |name| Ask::post("/api/backend/formfunnel").query("action", name);
        let made = self.does(action("create"), drawn).await;
        let id = made["id"].as_i64().expect("an id");
        self.does(action("publish"), json!({"id": id})).await;
        id
    }

    /// What a visitor does: the answers of one step after the other, and the end.
    pub(crate) async fn visit(&self, funnel: i64, steps: &[Json], completes: bool) {
        let calls = async |action: &str, body: Json| {
            let ask = Ask::post(&format!("/api/formfunnel/{action}")).json(&body);
            let answer = self.client().send(ask).await.expect("a good answer");
            answer.json().unwrap_or_default()
        };
        let started = calls("start", json!({"funnel_id": funnel})).await;
        let session = &started["session_uuid"];
        for answers in steps {
            self.clock.advance(30_000);
            calls("step", json!({"session_uuid": session, "answers": answers})).await;
        }
        self.clock.advance(5_000);
        if completes {
            calls("complete", json!({"session_uuid": session})).await;
        } else {
            calls("abandon", json!({"session_uuid": session})).await;
        }
    }

    /// What is done to a page, by the name of its action.
    pub(crate) async fn page(&self, action: &str, body: Json) -> Json {
        self.does(Ask::post("/api/backend/pagebuilder").query("action", action), body).await
    }

    /// Adds a node to a draft, in the page or the node of this id. Returns its id.
    pub(crate) async fn node(&self, kind: &str, within: i64, more: Json) -> i64 {
        let parent = match kind {
            "row" => "page_id",
            "col" => "row_id",
            "widget" => "col_id",
            _ => "widget_id",
        };
        let mut body = json!({"kind": kind, "parent": {parent: within}});
        body.as_object_mut()
            .expect("members")
            .extend(more.as_object().cloned().unwrap_or_default());
        let made = self.does(Ask::post("/api/backend/pagebuilder"), body).await;
        made["id"].as_i64().expect("an id")
    }

    /// The draft of a page.
    pub(crate) async fn draft(&self, page: i64) -> Json {
        let ask = Ask::get("/api/backend/pagebuilder").query("page_id", page);
        let answer = self.client().send(ask).await.expect("a draft");
        answer.json().map(|mut body| body["data"].take()).unwrap_or_default()
    }

    /// Returns its value.
    pub(crate) async fn key(&self, name: &str, body: Json) -> String {
        let mut all = json!({"name": name});
        all.as_object_mut().expect("members").extend(body.as_object().cloned().unwrap_or_default());
        let key = self.does(Ask::post("/api/backend/keys"), all).await;
        key["key"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) async fn webhook(&self, name: &str, url: &str) -> Json {
        let body = json!({"name": name, "url": url, "events": ["item.*"]});
        self.does(Ask::post("/api/backend/webhooks"), body).await
    }

    /// One turn of a worker.
    pub(crate) async fn delivers(&self) {
        self.cms.webhooks().worker().step().await.expect("a turn");
    }
}

pub(super) struct Receiver {
    pub(super) url: String,
    /// The status of its answers.
    pub(super) status: Arc<AtomicU16>,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Receiver {
    pub(super) async fn start(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let (status, bodies) = (Arc::new(AtomicU16::new(status)), Arc::default());
        let (answer, kept): (_, Arc<Mutex<Vec<String>>>) = (status.clone(), Arc::clone(&bodies));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                take(stream, answer.load(Ordering::SeqCst), &kept).await;
            }
        });
        Self { url, status, bodies }
    }

    pub(super) fn count(&self) -> usize {
        self.bodies.lock().expect("a lock").len()
    }
}

/// Reads one request and ends the connection.
async fn take(mut stream: TcpStream, status: u16, kept: &Mutex<Vec<String>>) {
    let mut read = Vec::new();
    let body = loop {
        let mut part = [0; 4096];
        let Ok(n) = stream.read(&mut part).await else { return };
        read.extend_from_slice(&part[..n]);
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if n == 0 {
                return;
            }
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
        });
        if n == 0 || body.len() >= length.unwrap_or(0) {
            break body.to_owned();
        }
    };
    kept.lock().expect("a lock").push(body);
    let says = if status < 300 { "{\"ok\":true}" } else { "{\"error\":\"maintenance\"}" };
    let head =
        format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close", says.len());
    let _ = stream.write_all(format!("{head}\r\n\r\n{says}").as_bytes()).await;
}
