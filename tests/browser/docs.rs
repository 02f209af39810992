//! `/api/docs` in a real Chromium: the viewer runs under the page's policy and shows the document.

use cms_http::Server;

use super::shown_at;
use crate::support::Site;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_the_api_shows_every_operation() {
    if std::env::var_os("CMS_TEST_BROWSER").is_none() {
        return;
    }
    let site = Site::open().await;
    let server = Server::bind(site.api.clone(), "127.0.0.1:0").await.unwrap();
    let (url, stop) = (format!("http://{}/api/docs", server.address()), server.stop());
    let running = tokio::spawn(server.run());
    let shown = shown_at(&url, &["--virtual-time-budget=20000", "--enable-logging=stderr"]).await;
    for operation in ["get_pages", "get_pages_one", "post_formfunnel_start"] {
        assert!(shown.contains(&format!("-{operation}\"")), "{operation}: {shown}");
    }
    // What nobody may know without a key.
    assert!(!shown.contains("get_backend_keys"), "{shown}");
    for complaint in ["Content Security Policy", "Refused to", "Failed to load"] {
        assert!(!shown.contains(complaint), "{shown}");
    }
    stop.now();
    running.await.unwrap();
}
