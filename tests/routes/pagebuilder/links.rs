use serde_json::{Value as Json, json};

use super::{BUILDER, site, titles};
use crate::support::Site;

#[tokio::test]
async fn a_link_shows_a_draft_until_it_ends() {
    let site = site().await;
    let (_, widget) = site.headline(1, "one").await;
    let link = site.act("link", json!({"page_id": 1, "ttl_s": 600})).await;
    assert_eq!(link["expires_at"], "2026-11-21T09:40:00Z");
    let path = link["path"].as_str().unwrap().to_owned();
    assert_eq!(link["url"], json!(format!("https://cms.test{path}")));
    let open = || site.ask(&format!("GET {path}"));
    let shown = open().expect(200).await;
    assert_eq!(titles(&shown.data()), ["one"]);
    assert_eq!(shown.header("cache-control"), "no-store");
    assert_eq!(shown.header("x-robots-tag"), "noindex, nofollow");
    assert!(!shown.headers.contains_key("x-cache"));
    // The draft as it is when the link is opened.
    site.retitle(widget, "two").await;
    assert_eq!(titles(&open().expect(200).await.data()), ["two"]);
    // Nobody guesses another.
    let forged = path.replace("token=", "token=0");
    site.ask(&format!("GET {forged}")).refused(404, "not_found").await;
    // Nor does one of before lead anywhere.
    let old = "GET /api/pages/draft?page_id=1&expires=1790000000&signature=ab";
    site.ask(old).refused(400, "bad_query").await;
    site.clock.advance(600_000);
    open().refused(404, "not_found").await;
}

#[tokio::test]
async fn links_have_a_longest_time() {
    let site = site().await;
    let line = format!("POST {BUILDER}?action=link&page_id=1");
    for ttl_s in [0, -1, 30 * 86_400 + 1] {
        site.admin(&line).json(json!({"ttl_s": ttl_s})).refused(422, "validation_failed").await;
    }
    assert_eq!(site.admin(&line).expect(200).await.data()["expires_at"], "2026-11-22T09:30:00Z");
    for (note, code) in [("x".repeat(201), "range"), ("a\nb".to_owned(), "format")] {
        let refused = site.invalid(&line, json!({"note": note})).await;
        assert_eq!(refused["errors"][0]["code"], code);
    }
    site.admin(&format!("POST {BUILDER}?action=link&page_id=99")).refused(404, "not_found").await;
    site.admin(&format!("GET {BUILDER}?action=link&page_id=99")).refused(404, "not_found").await;
}

/// The rows of a page's links.
async fn listed(site: &Site) -> Vec<Json> {
    site.get(&format!("{BUILDER}?action=link&page_id=1")).await.as_array().unwrap().clone()
}

#[tokio::test]
async fn links_are_listed_and_revoked_one_by_one() {
    let site = site().await;
    let made = |note: &str| site.act("link", json!({"page_id": 1, "note": note}));
    let (first, second) = (made("  agency ").await, made("").await);
    assert_eq!((&first["note"], &second["note"]), (&json!("agency"), &json!(null)));
    assert_ne!(first["path"], second["path"], "each can be revoked alone");
    let rows = listed(&site).await;
    let row = rows[1].clone();
    assert_eq!((rows.len(), &rows[0]["id"]), (2, &second["id"]), "newest first");
    assert_eq!(row["actor"]["name"], "test");
    let told = json!({"id": first["id"], "page_id": 1, "note": "agency", "actor": row["actor"],
                      "created_at": "2026-11-21T09:30:00Z",
                      "expires_at": "2026-11-22T09:30:00Z"});
    assert_eq!(row, told, "not what opens it");
    let line = format!("GET {BUILDER}?action=link&page_id=1&limit=1");
    let page = site.admin(&line).expect(200).await.json();
    let rest = format!("{line}&cursor={}", page["meta"]["next"].as_str().unwrap());
    assert_eq!(site.admin(&rest).expect(200).await.data(), json!([row]));

    let open = |link: &Json| site.ask(&format!("GET {}", link["path"].as_str().unwrap()));
    open(&first).expect(200).await;
    let line = format!("DELETE {BUILDER}?action=link&id={}", first["id"]);
    let reader = site.key(&[&format!("GET {BUILDER}")]).await;
    site.ask(&line).key(&reader).refused(401, "api_key_forbidden").await;
    site.admin(&line).expect(204).await;
    // As one that has ended, and as one that never was.
    let gone = open(&first).refused(404, "not_found").await.json()["detail"].clone();
    let never = site.ask("GET /api/pages/draft?token=x").refused(404, "not_found").await;
    assert_eq!(gone, never.json()["detail"]);
    open(&second).expect(200).await;
    site.admin(&line).refused(404, "not_found").await;
    for (action, times) in [("create", 2), ("delete", 1)] {
        let of = format!("cms_audit where table_name = 'page_links' and action = '{action}'");
        assert_eq!(site.database.rows(&of).await, times, "{action}");
    }
}

#[tokio::test]
async fn what_opens_a_link_is_not_stored_and_told_once() {
    let site = site().await;
    let make = || {
        let ask = site.admin(&format!("POST {BUILDER}?action=link"));
        ask.header("idempotency-key", "k").json(json!({"page_id": 1}))
    };
    let link = make().expect(200).await.data();
    make().refused(409, "idempotency_spent").await;
    assert_eq!(listed(&site).await.len(), 1);
    assert_eq!(site.database.rows("cms_idempotency where body is not null").await, 0);
    let token = link["path"].as_str().unwrap().split_once("token=").unwrap().1.to_owned();
    assert_eq!(token.len(), 43, "32 bytes");
    for (table, column) in [("cms_page_links", "digest"), ("cms_audit", "row_id")] {
        let held = format!("{table} where {column} like '%{token}%'");
        assert_eq!(site.database.rows(&held).await, 0, "{table}");
    }
    let printed = format!("{:?}", cms_http::wire::pages::DraftLink { token: Some(token.into()) });
    assert_eq!(printed, "DraftLink { token: Some(***) }");
}

#[tokio::test]
async fn links_go_with_their_page_and_after_their_end() {
    let site = site().await;
    let rows = async || site.database.rows("cms_page_links").await;
    site.act("link", json!({"page_id": 1, "ttl_s": 600})).await;
    site.act("link", json!({"page_id": 1})).await;
    site.clock.advance(600_000);
    assert_eq!(listed(&site).await.len(), 1, "one has ended");
    assert_eq!(rows().await, 2);
    site.cms.upkeep().await;
    assert_eq!(rows().await, 1);
    let other = site.act("link", json!({"page_id": 2})).await;
    site.delete("/api/backend/item?table=pages&id=2").await;
    assert_eq!(rows().await, 1);
    site.ask(&format!("GET {}", other["path"].as_str().unwrap())).refused(404, "not_found").await;
}
