//! A bulk change of many submissions while others write: `CMS_TEST_BULK=50000` makes it as large as
//! `.ci/full` does.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use super::{counts, ids, list::copies, page, revisions_are_told, sent, site, update};
use crate::support::{Site, has};

fn many() -> usize {
    std::env::var("CMS_TEST_BULK").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

async fn in_state(site: &Site, status: &str) -> i64 {
    counts(site, "").await[status].as_i64().unwrap()
}

/// Changes a submission. Who waits too long for the bulk change is refused, and tries again.
async fn taken(site: &Site, body: &Json) {
    for _ in 0..30 {
        let reply = site.staff("submission_update", body.clone()).send().await;
        if reply.status == 200 {
            return;
        }
        assert_eq!((reply.status.as_u16(), &reply.json()["error"]), (503, &json!("unavailable")));
    }
    panic!("never taken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_are_changed_and_taken_back_while_others_write() {
    let (site, many) = (site().await, many());
    sent(&site, "Ada", 10).await;
    site.database.run(copies(many - 1)).await;
    let (over, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
    let bulk = async {
        let (mut moved, mut took) = (0, Duration::ZERO);
        let done = loop {
            let before = ids(&site, "&filter[inbox_status]=rejected&limit=1").await;
            let expected = in_state(&site, "new").await;
            let body = json!({"op": "set_status", "filter": {"inbox_status": "new"},
                              "expected": expected, "value": "rejected"});
            let (began, read) = (Instant::now(), reads.load(Ordering::SeqCst));
            let reply = site.staff("submissions_bulk", body).send().await;
            took = took.max(began.elapsed());
            if reply.status == 200 {
                let meanwhile = reads.load(Ordering::SeqCst) - read;
                assert!(meanwhile > 0, "readers wait for nobody");
                println!("{many} changed in {took:.1?}, {meanwhile} pages read meanwhile");
                has!(reply.data(), {"matched": expected, "changed": expected});
                break expected;
            }
            assert_eq!(reply.status, 409, "{}", reply.text());
            assert_eq!(reply.json()["error"], "count_moved");
            let now = ids(&site, "&filter[inbox_status]=rejected&limit=1").await;
            assert_eq!(before, now, "another number changes nothing");
            moved += 1;
            assert!(moved < 30, "never the number that was seen");
        };
        over.store(true, Ordering::SeqCst);
        done
    };
    let write = async {
        let mut round = 0;
        while !over.load(Ordering::SeqCst) && round < 200 {
            let id = 1 + (round * 37) % many;
            taken(&site, &json!({"id": id, "inbox_notes": format!("round {round}")})).await;
            if round % 5 == 0 {
                taken(&site, &json!({"id": id, "inbox_status": "converted"})).await;
            }
            if round % 20 == 0 {
                // It waits as they do.
                let begun = site.visitor("start", json!({"funnel_id": "leads"})).send().await;
                assert!([201, 503].contains(&begun.status.as_u16()), "{}", begun.text());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            round += 1;
        }
    };
    let read = async {
        while !over.load(Ordering::SeqCst) {
            page(&site, "&limit=20").await;
            reads.fetch_add(1, Ordering::SeqCst);
        }
    };
    let (done, ..) = tokio::join!(bulk, write, read);
    // And audited.
    let told = revisions_are_told(&site).await;
    let audited = "cms_audit where action = 'update' and columns like '%inbox%'";
    assert_eq!(site.database.rows(audited).await, told);
    let (left, fresh) = (in_state(&site, "rejected").await, in_state(&site, "new").await);
    // What others change after it stays theirs.
    let mine = ids(&site, "&filter[inbox_status]=rejected&sort=started_at&limit=7").await;
    for id in &mine {
        update(&site, *id, json!({"inbox_status": "qualified"})).await;
    }
    let undone = site.staff("undo", json!({})).expect(200).await.data();
    let since = done - (left - 7);
    let expected =
        json!({"op": "set_status", "restored": left - 7, "changed_since": since, "gone": 0});
    assert_eq!(undone, expected);
    for (state, many) in [("new", fresh + left - 7), ("qualified", 7), ("rejected", 0)] {
        assert_eq!(in_state(&site, state).await, many, "{state}");
    }
}
