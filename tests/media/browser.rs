//! A real Chromium opens hostile files as the service stores them, and a canary hears nothing. Runs
//! with `CMS_TEST_BROWSER=1` only, as `.ci/full` sets it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use cms_http::Server;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::hostile;
use crate::support::{Site, media::png};

/// A website: pages by their path, and the paths that were asked for.
#[derive(Default)]
struct Website {
    pages: Vec<(String, &'static str, Vec<u8>)>,
    asked: Mutex<Vec<String>>,
}

impl Website {
    /// Serves at an origin of its own.
    async fn start(self: Arc<Self>, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(self.clone().answer(stream));
        }
    }

    async fn answer(self: Arc<Self>, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let page = self.pages.iter().find(|(at, ..)| *at == path);
        let (kind, body) =
            page.map_or(("text/plain", &b""[..]), |(_, kind, body)| (kind, body.as_slice()));
        self.asked.lock().unwrap().push(path);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
             access-control-allow-origin: *\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(&[head.as_bytes(), body].concat()).await;
    }

    /// Forgets what was asked for so far, and returns it.
    fn heard(&self) -> Vec<String> {
        let mut heard = std::mem::take(&mut *self.asked.lock().unwrap());
        heard.retain(|path| path != "/favicon.ico");
        heard
    }
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    (listener, origin)
}

/// Opens an address as a person does who stays for some seconds. Returns whether the browser
/// ended by itself: mostly it does not, where it has saved a file.
async fn visit(url: &str) -> bool {
    let flags = ["--autoplay-policy=no-user-gesture-required", "--timeout=4000"];
    crate::browser::open(url, &flags, Duration::from_secs(15)).await.is_some()
}

/// Some at a time. What the canary hears names the file. Returns which ended by themselves.
async fn visit_all(urls: &[String]) -> Vec<bool> {
    let mut shown = Vec::new();
    for some in urls.chunks(6) {
        shown.extend(futures_util::future::join_all(some.iter().map(|url| visit(url))).await);
    }
    shown
}

/// A page that shows a file in every way that a page can.
fn embedding(url: &str) -> String {
    format!(
        "<!doctype html><body><img src=\"{url}\"><iframe src=\"{url}\"></iframe>\
         <iframe srcdoc=\"<img src='{url}'>\"></iframe>\
         <object data=\"{url}\"></object><embed src=\"{url}\">\
         <video src=\"{url}\" autoplay></video><audio src=\"{url}\" autoplay></audio>\
         <script src=\"{url}\"></script><link rel=\"stylesheet\" href=\"{url}\">\
         <svg xmlns:xlink=\"http://www.w3.org/1999/xlink\"><use href=\"{url}#a\"/>\
         <image href=\"{url}\"/></svg>\
         <script>window.open(\"{url}\"); new Worker(URL.createObjectURL(new Blob([\
         \"importScripts('{url}')\"])));</script></body>"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_files_run_nothing_in_a_browser() {
    if std::env::var_os("CMS_TEST_BROWSER").is_none() {
        return;
    }
    let site =
        Site::with(|settings| settings.media.types = hostile::TYPES.map(str::to_owned).to_vec())
            .await;
    let (listener, canary) = listen().await;
    let files = hostile::files(&canary);
    // What the same bytes do where nobody takes care: else the canary might be deaf.
    let plain = |name: &str| files.iter().find(|file| file.name == name).unwrap().content.clone();
    let pages = vec![
        ("/page".to_owned(), "text/html", plain("page.html")),
        ("/drawing".to_owned(), "image/svg+xml", plain("drawing.svg")),
        ("/gif".to_owned(), "text/html", plain("polyglot.gif")),
        ("/text".to_owned(), "text/html", plain("page.txt")),
    ];
    let danger = Arc::new(Website { pages, ..Website::default() });
    tokio::spawn(danger.clone().start(listener));
    for page in ["page", "drawing", "gif", "text"] {
        visit(&format!("{canary}/{page}")).await;
        let heard = danger.heard();
        assert!(heard.iter().any(|path| path.starts_with("/canary")), "{page}: {heard:?}");
    }
    let server = Server::bind(site.api.clone(), "127.0.0.1:0").await.unwrap();
    let (api, stop) = (format!("http://{}", server.address()), server.stop());
    let running = tokio::spawn(server.run());
    let (mut pages, mut urls) = (Vec::new(), Vec::new());
    for file in &files {
        let made = site.uploading(&[], file.name, &file.content).expect(201).await.data();
        assert_eq!(made["media_type"], file.media_type, "{}", file.name);
        let url = format!("{api}{}", made["path"].as_str().unwrap());
        pages.push((format!("/{}", file.name), "text/html", embedding(&url).into_bytes()));
        urls.push(url);
    }
    let shown = visit_all(&urls).await;
    assert_eq!(danger.heard(), Vec::<String>::new(), "a file opened by itself");
    for (file, shown) in files.iter().zip(shown) {
        assert!(shown || !file.media_type.starts_with("image/gif"), "{} was not opened", file.name);
    }
    // A picture that is shown tells that the pages work.
    let made = site.upload("a.png", &png(8, 5, 1)).await.data();
    let url = format!("{api}{}", made["path"].as_str().unwrap());
    let seen = format!("<img src=\"{url}\" onload=\"fetch('/seen')\">");
    pages.push(("/good".to_owned(), "text/html", seen.into_bytes()));
    let (listener, origin) = listen().await;
    let website = Arc::new(Website { pages, ..Website::default() });
    tokio::spawn(website.clone().start(listener));
    visit(&format!("{origin}/good")).await;
    assert!(website.heard().contains(&"/seen".to_owned()));
    let pages: Vec<_> = files.iter().map(|file| format!("{origin}/{}", file.name)).collect();
    visit_all(&pages).await;
    assert_eq!(danger.heard(), Vec::<String>::new(), "a file in a page");
    assert!(website.heard().len() >= files.len(), "the pages were opened");
    println!("{} hostile files opened in a browser: the canary heard nothing", files.len());
    stop.now();
    running.await.unwrap();
}
