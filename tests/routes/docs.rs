//! `/api/docs`: who sees the page of the API.

use cms_http::Peer;

use crate::support::Site;

const HERE: &str = "127.0.0.1:1";
const AWAY: &str = "203.0.113.7:1";

/// The statuses of the page for a caller at this machine, one whom a proxy passed on, and one from
/// far away.
async fn statuses(site: &Site) -> [u16; 3] {
    let ask = |peer: &str| site.ask("GET /api/docs").peer(Peer(peer.parse().unwrap()));
    [
        ask(HERE).send().await.status.as_u16(),
        ask(HERE).header("x-forwarded-for", "203.0.113.7").send().await.status.as_u16(),
        ask(AWAY).send().await.status.as_u16(),
    ]
}

#[tokio::test]
async fn the_setting_says_who_sees_the_page() {
    for (setting, expected) in
        [(None, [200, 404, 404]), (Some(true), [200, 200, 200]), (Some(false), [404, 404, 404])]
    {
        let site = Site::builder().await.settings(|s| s.docs.enabled = setting).open().await;
        assert_eq!(statuses(&site).await, expected, "{setting:?}");
    }
}

#[tokio::test]
async fn the_page_runs_nothing_but_its_own_files() {
    let site = Site::builder().await.settings(|s| s.docs.enabled = Some(true)).open().await;
    let page = site.ask("GET /api/docs").expect(200).await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("script-src 'self';"), "{policy}");
    let named: Vec<&str> = page.text().leak().split("\"docs/").skip(1).collect();
    assert_eq!(named.len(), 4);
    for rest in named {
        let file = rest.split('"').next().unwrap();
        let shown = site.ask(&format!("GET /api/docs/{file}")).expect(200).await;
        assert_eq!(shown.header("x-content-type-options"), "nosniff", "{file}");
        let tag = shown.header("etag").to_owned();
        site.ask(&format!("GET /api/docs/{file}")).header("if-none-match", tag).expect(304).await;
    }
    site.ask("GET /api/docs/index.html").refused(404, "not_found").await;
}
