//! How much visitors may send.

use cms_http::Peer;
use serde_json::json;

use crate::support::{
    Site,
    visits::{Visit, leads},
};

const PDF: &[u8] = b"%PDF-1.7 content";
const FILES: &str = "select count(*) from cms_formfunnel_uploads";

/// Somebody at the step that asks for a file.
async fn at_files(site: &Site) -> Visit<'_> {
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    visit.answers(json!({"budget": 9000})).await;
    visit
}

#[tokio::test]
async fn a_visit_sends_twenty_files() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let visit = at_files(&site).await;
    for n in 0..18 {
        assert_eq!(visit.upload("paper", PDF).await.status, 201, "{n}");
    }
    // Two places, three at once.
    let send = || visit.upload("paper", PDF);
    let (one, two, three) = tokio::join!(send(), send(), send());
    let mut told = [one.status.as_u16(), two.status.as_u16(), three.status.as_u16()];
    told.sort_unstable();
    assert_eq!(told, [201, 201, 422]);
    assert_eq!(site.database.count(FILES).await, 20);
    let size = format!("update cms_formfunnel_uploads set size = {}", 50 << 20);
    let big = at_files(&site).await;
    assert_eq!(big.upload("paper", PDF).await.status, 201);
    site.database.run(size).await;
    let refused = big.upload("paper", PDF).await;
    assert_eq!(refused.json()["errors"][0]["code"], "too_large", "50 MiB together");
}

#[tokio::test]
async fn a_completed_visit_takes_no_files() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let visit = at_files(&site).await;
    visit.complete(None).expect(200).await;
    let late = visit.upload("paper", PDF).await;
    assert_eq!((late.status.as_u16(), &late.json()["error"]), (409, &json!("already_completed")));
    assert_eq!(site.database.count(FILES).await, 0);
}

#[tokio::test]
async fn a_file_that_was_replaced_is_removed() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = at_files(&site).await;
    let call = Some(funnel.node("call"));
    let send = async || visit.upload("paper", PDF).await.json()["file"].clone();
    let (one, two) = (send().await, send().await);
    visit.step(call, json!({"paper": [one]})).expect(200).await;
    visit.step(call, json!({"paper": [two]})).expect(200).await;
    // The visit goes on for more than a day.
    for _ in 0..3 {
        site.clock.advance(10 * 3_600_000);
        visit.resume().expect(200).await;
    }
    site.cms.funnels().process_abandoned().await.unwrap();
    assert_eq!(site.database.count(FILES).await, 1);
    visit.complete(None).expect(200).await;
}

/// As on PostgreSQL, where the sweep may remove a file that a step has read already.
#[tokio::test]
async fn a_file_that_goes_in_the_same_instant_is_asked_for_again() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = at_files(&site).await;
    let file = visit.upload("paper", PDF).await.json()["file"].clone();
    let lose = match site.database.is_postgres() {
        true => {
            "create function lost() returns trigger language plpgsql as \
             'begin return null; end'; \
             create trigger lost before update on cms_formfunnel_uploads for each row \
             when (new.attached) execute function lost()"
        }
        false => {
            "create trigger lost before update on cms_formfunnel_uploads \
             when new.attached begin select raise(ignore); end"
        }
    };
    let find = match site.database.is_postgres() {
        true => "drop trigger lost on cms_formfunnel_uploads; drop function lost()",
        false => "drop trigger lost",
    };
    site.database.run(lose.to_owned()).await;
    let lost = visit.step(None, json!({"paper": [file]})).refused(422, "validation_failed").await;
    let lost = lost.json();
    assert_eq!(
        (&lost["errors"][0]["field"], &lost["errors"][0]["code"], &lost["node_id"]),
        (&json!("paper"), &json!("unknown_upload"), &json!(funnel.node("call")))
    );
    assert_eq!(visit.happened("answered").await, 2, "nothing of the answer is kept");
    site.database.run(find.to_owned()).await;
    visit.answers(json!({"paper": [file]})).await;
    site.database.run(lose.to_owned()).await;
    let lost = visit.complete(None).refused(422, "incomplete").await.json();
    assert_eq!(lost["errors"][0]["code"], "unknown_upload");
    site.database.run(find.to_owned()).await;
    visit.complete(None).expect(200).await;
}

#[tokio::test]
async fn files_that_wait_for_answers_have_a_bound() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let visit = at_files(&site).await;
    let taken = visit.upload("paper", PDF).await.json();
    visit.answers(json!({"paper": [taken["file"]]})).await;
    let grow = async || {
        let grown = "update cms_formfunnel_uploads set size = 2147483648".to_owned();
        site.database.run(grown).await;
    };
    grow().await;
    // What an answer holds does not wait.
    let other = at_files(&site).await;
    assert_eq!(other.upload("paper", PDF).await.status, 201);
    grow().await;
    let refused = at_files(&site).await.upload("paper", PDF).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]), (503, &json!("unavailable")));
}

/// Begins at this address, with a browser of this name.
async fn from<'a>(site: &'a Site, peer: &str, agent: &str) -> Visit<'a> {
    let ask = site.visitor("start", json!({"funnel_id": "leads"})).header("user-agent", agent);
    let started = ask.peer(Peer(peer.parse().unwrap())).expect(201).await.json();
    let session = started["session_uuid"].as_str().unwrap().to_owned();
    let visit = Visit { site, session };
    visit.answers(json!({"name": "Ada"})).await;
    visit.answers(json!({"budget": 9000})).await;
    visit
}

#[tokio::test]
async fn one_address_takes_a_small_share_of_the_room() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let first = from(&site, "192.0.2.1:1000", "one").await;
    let sent = first.upload("paper", PDF).await.json();
    // As large as an address may have, then as many.
    let large = format!("update cms_formfunnel_uploads set size = {}", 100 << 20);
    let small = "update cms_formfunnel_uploads set size = 16".to_owned();
    site.database.run(large).await;
    for bound in ["bytes", "files"] {
        // Another name, another place in the network of a customer: the same address.
        let same = from(&site, "192.0.2.1:2000", "two").await;
        let refused = same.upload("paper", PDF).await;
        let told = (refused.status.as_u16(), refused.json()["error"].clone());
        assert_eq!(told, (429, json!("rate_limited")), "{bound}");
        assert_eq!(refused.header("retry-after"), "60");
        let other = from(&site, "192.0.2.2:1000", "one").await;
        assert_eq!(other.upload("paper", PDF).await.status, 201, "{bound}");
        let unknown = at_files(&site).await;
        assert_eq!(unknown.upload("paper", PDF).await.status, 201, "{bound}");
        // 256 files.
        site.database.run(small.clone()).await;
        for round in 0..8 * i32::from(bound == "bytes") {
            let twice = format!(
                "insert into cms_formfunnel_uploads (uid, submission_id, field, file_name, \
                 media_type, size, sha256, attached, created_at, content) select uid || '{round}', \
                 submission_id, field, file_name, media_type, size, sha256, attached, created_at, \
                 content from cms_formfunnel_uploads where submission_id = 1"
            );
            site.database.run(twice).await;
        }
    }
    // What answers hold, and what was removed, takes no room.
    let rest = "delete from cms_formfunnel_uploads where length(uid) > 36".to_owned();
    site.database.run(rest).await;
    first.answers(json!({"paper": [sent["file"]]})).await;
    let large = format!("update cms_formfunnel_uploads set size = {}", 100 << 20);
    site.database.run(large).await;
    let again = from(&site, "192.0.2.1:3000", "three").await;
    assert_eq!(again.upload("paper", PDF).await.status, 201);
    // Answers cannot hold files without end either.
    let full = format!("update cms_formfunnel_uploads set size = {} where attached", 1 << 30);
    site.database.run(full).await;
    let refused = from(&site, "192.0.2.1:4000", "four").await.upload("paper", PDF).await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (429, "3600"));
    let other = from(&site, "192.0.2.3:1000", "one").await;
    assert_eq!(other.upload("paper", PDF).await.status, 201);
    site.clock.advance(24 * 3_600_000);
    let tomorrow = from(&site, "192.0.2.1:5000", "five").await;
    assert_eq!(tomorrow.upload("paper", PDF).await.status, 201);
    // A customer of IPv6 has many addresses.
    let six = from(&site, "[2001:db8::1]:1", "x").await;
    assert_eq!(six.upload("paper", PDF).await.status, 201);
    let large = format!("update cms_formfunnel_uploads set size = {}", 100 << 20);
    site.database.run(large).await;
    let near = from(&site, "[2001:db8::2]:1", "x").await;
    assert_eq!(near.upload("paper", PDF).await.status, 429);
    let far = from(&site, "[2001:db8:0:1::1]:1", "x").await;
    assert_eq!(far.upload("paper", PDF).await.status, 201);
}

#[tokio::test]
async fn a_file_of_no_visit_is_not_read() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let visit = at_files(&site).await;
    let field = |name: &str, value: &str| {
        format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let file = "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";
    let send = async |body: String| {
        let ask = site.ask("POST /api/formfunnel/upload");
        ask.header("content-type", "multipart/form-data; boundary=XX").body(body).send().await
    };
    // The file breaks off, but nobody came to its end.
    let nobody = field("session_uuid", "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10");
    let unread = send(nobody + &field("field", "paper") + file + "%PDF-1.7").await;
    assert_eq!((unread.status.as_u16(), &unread.json()["error"]), (404, &json!("not_found")));
    // The fields may stand behind the file.
    let own = field("session_uuid", &visit.session) + &field("field", "paper");
    let behind = send(format!("{file}%PDF-1.7 x\r\n{own}--XX--\r\n")).await;
    assert_eq!(behind.status, 201, "{}", behind.text());
    let more = send(format!("{own}{file}%PDF-1.7 x\r\n{}--XX--\r\n", field("more", "1"))).await;
    assert_eq!(more.status, 422, "{}", more.text());
    let empty = visit.upload("paper", b"").await;
    assert_eq!(
        (empty.status.as_u16(), &empty.json()["errors"][0]["code"]),
        (422, &json!("empty")),
        "{}",
        empty.text()
    );
    assert_eq!(site.database.count(FILES).await, 1);
}
