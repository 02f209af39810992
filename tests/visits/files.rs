//! How much visitors may send.

use cms_http::Peer;
use serde_json::{Value as Json, json};

use crate::support::{Site, Visit, has, leads, with_leads};

const PDF: &[u8] = b"%PDF-1.7 content";
const FILES: &str = "cms_formfunnel_uploads";

/// Sends a file at the step that asks for one: the status, and the code of what is wrong.
async fn sent(visit: &Visit<'_>, content: &[u8]) -> (u16, Json) {
    let reply = visit.upload("paper", content).await;
    let told = reply.json();
    let code = told.pointer("/errors/0/code").unwrap_or(&told["error"]);
    (reply.status.as_u16(), code.clone())
}

/// Gives files this size.
async fn sized(site: &Site, size: i64, which: &str) {
    site.database.run(format!("update cms_formfunnel_uploads set size = {size} {which}")).await;
}

#[tokio::test]
async fn a_visit_sends_twenty_files() {
    let site = with_leads().await;
    let visit = site.ada(9000).await;
    for n in 0..18 {
        assert_eq!(sent(&visit, PDF).await.0, 201, "{n}");
    }
    // Two places, three at once.
    let send = || sent(&visit, PDF);
    let (one, two, three) = tokio::join!(send(), send(), send());
    let mut told = [one.0, two.0, three.0];
    told.sort_unstable();
    assert_eq!(told, [201, 201, 422]);
    assert_eq!(site.database.rows(FILES).await, 20);
    let big = site.ada(9000).await;
    assert_eq!(sent(&big, PDF).await.0, 201);
    sized(&site, 50 << 20, "").await;
    assert_eq!(sent(&big, PDF).await.1, "too_large", "50 MiB together");
    // One that is completed takes none.
    let done = site.ada(9000).await;
    done.complete(None).expect(200).await;
    assert_eq!(sent(&done, PDF).await, (409, json!("already_completed")));
    assert_eq!(site.database.rows(FILES).await, 21);
}

/// Also for a field of a step that was not presented.
#[tokio::test]
async fn a_visit_that_has_ended_takes_no_file() {
    let site = with_leads().await;
    let (open, done) = (site.visit("leads").await, site.ada(1).await);
    for visit in [&open, &done] {
        assert_eq!(sent(visit, PDF).await, (422, json!("unknown")));
    }
    done.complete(None).expect(200).await;
    assert_eq!(sent(&done, PDF).await, (409, json!("already_completed")));
    site.clock.advance(25 * 3_600_000);
    assert_eq!(sent(&open, PDF).await, (410, json!("session_expired")));
}

/// Steps that exclude each other may ask for the same file with other settings.
#[tokio::test]
async fn a_file_is_judged_by_the_step_that_asks_for_it() {
    let site = Site::open().await;
    let mut funnel = leads();
    let poor = json!({"client_id": -7, "type": "step", "name": "poor", "config_json": {"fields": [
        {"id": "paper", "type": "file_upload", "allowed_types": ["image/png"], "max_bytes": 20}]}});
    funnel["nodes"].as_array_mut().unwrap().push(poor);
    funnel["edges"][3]["to_node_id"] = (-7).into();
    let on = json!({"from_node_id": -7, "to_node_id": -6});
    funnel["edges"].as_array_mut().unwrap().push(on);
    site.funnel(funnel).await;
    let png: &[u8] = b"\x89PNG\r\n\x1a\n";
    let (long, text) = ([png, b" a long picture"].concat(), b"text".as_slice());
    let large = [PDF, &[b'x'; 1000]].concat();
    for (budget, content, code) in [
        (9000, PDF, ""),
        (9000, png, "media_type"),
        (9000, large.as_slice(), "too_large"),
        (1, png, ""),
        (1, PDF, "media_type"),
        (1, long.as_slice(), "too_large"),
        (9000, text, "media_type"),
    ] {
        let visit = site.ada(budget).await;
        let stored = site.database.rows(FILES).await;
        let reply = visit.upload("paper", content).await;
        let is_taken = code.is_empty();
        assert_eq!(reply.status, if is_taken { 201 } else { 422 }, "{budget} {code}");
        assert_eq!(site.database.rows(FILES).await, stored + i64::from(is_taken));
        match is_taken {
            true => drop(visit.answers(json!({"paper": [reply.json()["file"]]})).await),
            false => assert_eq!(reply.json()["errors"][0]["code"], code, "{budget}"),
        }
    }
}

#[tokio::test]
async fn a_file_that_was_replaced_is_removed() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.ada(9000).await;
    let send = async || visit.upload("paper", PDF).await.json()["file"].clone();
    for file in [send().await, send().await] {
        visit.step(Some(funnel.node("call")), json!({"paper": [file]})).expect(200).await;
    }
    // The visit goes on for more than a day.
    for _ in 0..3 {
        site.clock.advance(10 * 3_600_000);
        visit.resume().expect(200).await;
    }
    site.process_abandoned().await;
    assert_eq!(site.database.rows(FILES).await, 1);
    visit.complete(None).expect(200).await;
}

/// As on PostgreSQL, where the sweep may remove a file that a step has read already.
#[tokio::test]
async fn a_file_that_goes_in_the_same_instant_is_asked_for_again() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.ada(9000).await;
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
    site.database.run(lose).await;
    let lost = visit.step(None, json!({"paper": [file]}));
    let lost = lost.refused(422, "validation_failed").await.json();
    has!(lost, {"/errors/0/field": "paper", "/errors/0/code": "unknown_upload",
                "node_id": funnel.node("call")});
    assert_eq!(visit.happened("answered").await, 2, "nothing of the answer is kept");
    site.database.run(find).await;
    visit.answers(json!({"paper": [file]})).await;
    site.database.run(lose).await;
    let lost = visit.complete(None).refused(422, "incomplete").await.json();
    assert_eq!(lost["errors"][0]["code"], "unknown_upload");
    site.database.run(find).await;
    visit.complete(None).expect(200).await;
}

#[tokio::test]
async fn files_that_wait_for_answers_have_a_bound() {
    let site = with_leads().await;
    let visit = site.ada(9000).await;
    let taken = visit.upload("paper", PDF).await.json();
    visit.answers(json!({"paper": [taken["file"]]})).await;
    // What an answer holds does not wait.
    for expected in [(201, Json::Null), (503, json!("unavailable"))] {
        sized(&site, 1 << 31, "").await;
        assert_eq!(sent(&site.ada(9000).await, PDF).await, expected);
    }
}

#[tokio::test]
async fn one_address_takes_a_small_share_of_the_room() {
    let site = with_leads().await;
    // From this address, with a browser of this name: the status, and how long to wait.
    let from = async |peer: &str, agent: &str| {
        let ask = site.visitor("start", json!({"funnel_id": "leads"})).header("user-agent", agent);
        let visit = site.begun(ask.peer(Peer(peer.parse().unwrap()))).await;
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": 9000})).await;
        let reply = visit.upload("paper", PDF).await;
        let wait = (reply.status == 429).then(|| reply.header("retry-after").to_owned());
        if wait.is_some() {
            assert_eq!(reply.json()["error"], "rate_limited", "{peer}");
        }
        (visit, reply.json()["file"].clone(), (reply.status.as_u16(), wait))
    };
    let (taken, refused) = ((201, None), |seconds: &str| (429, Some(seconds.to_owned())));
    let (first, file, _) = from("192.0.2.1:1000", "one").await;
    // As large as an address may have, then as many.
    let large = 100 << 20;
    sized(&site, large, "").await;
    for bound in ["bytes", "files"] {
        // Another name, another place in the network of a customer: the same address.
        assert_eq!(from("192.0.2.1:2000", "two").await.2, refused("60"), "{bound}");
        assert_eq!(from("192.0.2.2:1000", "one").await.2, taken, "{bound}");
        assert_eq!(sent(&site.ada(9000).await, PDF).await.0, 201, "{bound}, of nobody known");
        // 256 files.
        sized(&site, 16, "").await;
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
    site.database.run("delete from cms_formfunnel_uploads where length(uid) > 36").await;
    first.answers(json!({"paper": [file]})).await;
    sized(&site, large, "").await;
    assert_eq!(from("192.0.2.1:3000", "three").await.2, taken);
    // Answers cannot hold files without end either.
    sized(&site, 1 << 30, "where attached").await;
    assert_eq!(from("192.0.2.1:4000", "four").await.2, refused("3600"));
    assert_eq!(from("192.0.2.3:1000", "one").await.2, taken);
    site.clock.advance(24 * 3_600_000);
    assert_eq!(from("192.0.2.1:5000", "five").await.2, taken);
    // A customer of IPv6 has many addresses.
    assert_eq!(from("[2001:db8::1]:1", "x").await.2, taken);
    sized(&site, large, "").await;
    assert_eq!(from("[2001:db8::2]:1", "x").await.2.0, 429);
    assert_eq!(from("[2001:db8:0:1::1]:1", "x").await.2, taken);
}

#[tokio::test]
async fn a_file_of_no_visit_is_not_read() {
    let site = with_leads().await;
    let visit = site.ada(9000).await;
    let field = |name: &str, value: &str| {
        format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let file = "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";
    let send = |body: String| {
        let ask = site.ask("POST /api/formfunnel/upload");
        ask.header("content-type", "multipart/form-data; boundary=XX").body(body)
    };
    // The file breaks off, but nobody came to its end.
    let nobody = field("session_uuid", "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10");
    let unread = send(nobody + &field("field", "paper") + file + "%PDF-1.7");
    unread.refused(404, "not_found").await;
    // The fields may stand behind the file.
    let own = field("session_uuid", &visit.session) + &field("field", "paper");
    send(format!("{file}%PDF-1.7 x\r\n{own}--XX--\r\n")).expect(201).await;
    send(format!("{own}{file}%PDF-1.7 x\r\n{}--XX--\r\n", field("more", "1"))).expect(422).await;
    assert_eq!(sent(&visit, b"").await, (422, json!("empty")));
    assert_eq!(site.database.rows(FILES).await, 1);
}
