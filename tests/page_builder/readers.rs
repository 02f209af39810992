use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use futures_util::future::join_all;
use serde_json::json;

use crate::{routes::pagebuilder::titles, support::Site};

/// A site with one page of 6 widgets, kept replies or not.
async fn site(keeps: bool) -> (Site, Vec<i64>) {
    let site = Site::with(|s| s.cache.enabled = keeps).await;
    let page = json!({"id": 1, "language_short": "en", "url_rewrite": "/", "title": "Home"});
    site.create("/api/backend/item?table=pages", page).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let (_, col) = site.row(1).await;
        for _ in 0..2 {
            ids.push(site.title(col, "0").await);
        }
    }
    site.act("publish", json!({"page_id": 1})).await;
    (site, ids)
}

/// Every widget carries the number of its publication: a page is whole when all have the same, and
/// no reader ever sees an older one than before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_sees_half_a_publication() {
    for keeps in [false, true] {
        let (site, ids) = site(keeps).await;
        let (over, reads) = (AtomicBool::new(false), AtomicU64::new(0));
        let read = async || {
            let mut last = 0;
            while !over.load(Ordering::SeqCst) {
                let page = site.ask("GET /api/pages?id=1").expect(200).await.data();
                let seen: BTreeSet<u64> =
                    titles(&page).iter().map(|title| title.parse().unwrap()).collect();
                assert_eq!((seen.len(), titles(&page).len()), (1, 6), "a mix: {seen:?}");
                let number = *seen.first().unwrap();
                assert!(number >= last, "{number} after {last}");
                last = number;
                reads.fetch_add(1, Ordering::SeqCst);
                // Others read too, and the editor has a turn.
                tokio::task::yield_now().await;
            }
            last
        };
        let write = async {
            for number in 1..=4 {
                for id in &ids {
                    site.retitle(*id, &number.to_string()).await;
                }
                // Half the time the draft is lost and made again.
                if number % 2 == 0 {
                    site.act("discard", json!({"page_id": 1})).await;
                    for id in &ids {
                        site.retitle(*id, &number.to_string()).await;
                    }
                }
                site.act("publish", json!({"page_id": 1})).await;
            }
            over.store(true, Ordering::SeqCst);
        };
        let readers = join_all((0..50).map(|_| read()));
        let (last, ()) = tokio::join!(readers, write);
        assert!(last.iter().any(|number| *number >= 3), "they read to the end: {last:?}");
        assert!(reads.load(Ordering::SeqCst) >= 50, "{reads:?}");
    }
}

/// Two editors, each with the draft as the other has left it or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_editors_at_once_one_wins() {
    let (site, ids) = site(false).await;
    for round in 0..10 {
        let tag = site.draft(1).await.header("etag").to_owned();
        let edit = async |n: usize| {
            let line = format!("PATCH /api/backend/pagebuilder?widget_id={}", ids[n]);
            let body = json!({"data": {"title": format!("{round}")}});
            let reply = site.admin(&line).header("if-match", &tag).json(body).send().await;
            reply.status.as_u16()
        };
        let mut codes = join_all((0..6).map(edit)).await;
        codes.sort_unstable();
        assert_eq!(codes, [200, 412, 412, 412, 412, 412]);
    }
}
