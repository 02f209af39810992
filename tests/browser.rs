//! Pages of several origins in a real Chromium. Runs with `CMS_TEST_BROWSER=1` only, as `.ci/full`
//! sets it.

mod docs;
mod funnel;
mod html;

use std::{
    process::{Output, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use cms_core::{Actor, Cms, traffic::origins::NewOrigin};
use cms_http::Server;
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::Notify,
};

use crate::support::Site;

/// A website of one page, at an origin of its own.
pub struct Website {
    pub origin: String,
    html: String,
    /// The page is done: what holds it up may be answered.
    done: Notify,
    /// When the page saw that its origin was activated, after that happened.
    activated: Mutex<Option<Instant>>,
    waited: Mutex<Option<Duration>>,
    /// Activates the origin from elsewhere.
    administrator: Cms,
}

impl Website {
    async fn start(api: &str, key: &str, administrator: Cms) -> Arc<Self> {
        let html = include_str!("browser/page.html").replace("{{key}}", key);
        Self::of(html.replace("{{api}}", api), administrator).await
    }

    pub async fn of(html: String, administrator: Cms) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let site = Arc::new(Self {
            origin: format!("http://{}", listener.local_addr().unwrap()),
            html,
            done: Notify::new(),
            activated: Mutex::default(),
            waited: Mutex::default(),
            administrator,
        });
        let served = site.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(served.clone().answer(stream));
            }
        });
        site
    }

    async fn answer(self: Arc<Self>, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let mut body = "";
        match String::from_utf8_lossy(&head).split(' ').nth(1).unwrap() {
            "/" | "/late" => body = &self.html,
            path if path.starts_with("/funnel.html") => body = funnel::PAGE,
            "/hold" => self.done.notified().await,
            "/done" => self.done.notify_one(),
            "/pause" => tokio::time::sleep(Duration::from_millis(30)).await,
            "/activate" => {
                register(&self.administrator, &self.origin).await;
                *self.activated.lock().unwrap() = Some(Instant::now());
            }
            "/activated" => {
                *self.waited.lock().unwrap() =
                    self.activated.lock().unwrap().map(|since| since.elapsed())
            }
            _ => {}
        }
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n"
        );
        let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    }

    /// What the page has seen, from the document as the browser dumps it.
    pub async fn visit(&self, path: &str) -> Json {
        let document = shown_at(&format!("{}{path}", self.origin), &[]).await;
        let results =
            document.split_once("<pre id=\"out\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let results = results.and_then(|(results, _)| serde_json::from_str(results).ok());
        results.unwrap_or_else(|| panic!("{document}"))
    }
}

/// Opens an address in a browser that nobody has used. None: it did not end by itself in time.
pub async fn open(url: &str, flags: &[&str], limit: Duration) -> Option<Output> {
    let profile = tempfile::tempdir().unwrap();
    let usual = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
                 --no-proxy-server --disable-popup-blocking --disable-background-networking \
                 --disable-component-update --disable-sync --disable-dev-shm-usage";
    let mut command = Command::new("chromium");
    command.args(usual.split(' ')).arg(format!("--user-data-dir={}", profile.path().display()));
    command.args(flags).args(["--dump-dom", url]).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(limit, command.output()).await.ok()?;
    Some(output.expect("CMS_TEST_BROWSER is set, so chromium must be installed"))
}

/// The document at an address as the browser dumps it, and what it complained about.
async fn shown_at(url: &str, flags: &[&str]) -> String {
    let output = open(url, flags, Duration::from_secs(60)).await.expect("the browser ends");
    let shown = String::from_utf8_lossy(&output.stdout);
    format!("{shown}\n{}", String::from_utf8_lossy(&output.stderr))
}

pub async fn register(cms: &Cms, origin: &str) {
    let mut change = cms.change(Actor::Operator).await.unwrap();
    cms.origins().create(&mut change, NewOrigin::new(origin)).await.unwrap();
    change.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_in_a_browser() {
    if std::env::var_os("CMS_TEST_BROWSER").is_none() {
        return;
    }
    let site = Site::with(|s| s.limiter.store = cms_core::settings::LimiterStore::Memory).await;
    let server = Server::bind(site.api.clone(), "127.0.0.1:0").await.unwrap();
    let (api, stop) = (format!("http://{}", server.address()), server.stop());
    let running = tokio::spawn(server.run());
    let elsewhere = Cms::open(site.cms.settings().clone()).await.unwrap();
    let website = async || Website::start(&api, &site.admin, elsewhere.clone()).await;

    let shop = website().await;
    register(&site.cms, &shop.origin).await;
    let shown = "x-request-id,x-ratelimit-limit";
    let expected = json!({
        "plain": format!("200  {shown}"), "credentials": format!("200  {shown}"),
        "error": format!("401 api_key_missing {shown}"),
        "login": format!("401 login_required {shown}"),
        "key": format!("200  {shown}"), "key_and_credentials": format!("200  {shown}"),
        "wrong_key": format!("401 api_key_invalid {shown}"),
        "post": format!("201  {shown}"), "patch": format!("200  {shown}"), "put": "TypeError",
        "no_cors": "0", "outside": "TypeError", "from_nowhere": "TypeError",
    });
    assert_eq!(shop.visit("/").await, expected, "a registered page");
    let written = "select count(*) from cms_settings";
    assert_eq!(site.database.count(written).await, 1);

    let stranger = website().await;
    let mut blocked = expected;
    for (name, result) in blocked.as_object_mut().unwrap() {
        // The browser hides a reply to no-cors from the page, refused or not.
        *result = if name == "no_cors" { "0".into() } else { "TypeError".into() };
    }
    assert_eq!(stranger.visit("/").await, blocked, "a page that is not registered");
    assert_eq!(site.database.count(written).await, 1, "nothing was written");

    let late = website().await;
    assert_eq!(
        late.visit("/late").await,
        json!({"before": "TypeError", "after": format!("200  {shown}")})
    );
    let waited = late.waited.lock().unwrap().expect("it was let in");
    println!("activated by another process, seen by the page after {waited:?}");
    assert!(waited < Duration::from_secs(1), "{waited:?}");

    stop.now();
    running.await.unwrap();
    elsewhere.close().await;
}
