//! Which requests share a fill.

use std::sync::atomic::AtomicU32;

use bytes::Bytes;
use cms_core::{Actor, settings::Settings};
use http::{HeaderValue, StatusCode, header};
use tokio::sync::Notify;

use super::*;

const TABLES: &[&str] = &["pages"];

struct Site {
    _folder: tempfile::TempDir,
    cms: Cms,
    replies: Replies,
}

impl Site {
    async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::default();
        settings.dirs.data = folder.path().to_owned();
        let replies = Replies::new(&settings).expect("a store");
        let cms = Cms::open(settings).await.expect("a site");
        Self { _folder: folder, cms, replies }
    }

    async fn write(&self) {
        let mut change = self.cms.change(Actor::System).await.expect("a change");
        change.touch("pages");
        change.commit().await.expect("a commit");
    }

    async fn clear(&self, prefix: &str) {
        let mut change = self.cms.change(Actor::System).await.expect("a change");
        self.cms.cache().clear(&mut change, prefix).await.expect("a clear");
        change.commit().await.expect("a commit");
    }

    async fn get<'f, F: Future<Output = Result<Reply>> + Send + 'f>(
        &self,
        fill: impl Fn() -> F + Sync,
    ) -> Result<Reply> {
        let rules = self.cms.cache().rules().await.expect("rules");
        let lookup = Lookup::by_visitor(&self.cms, b"k".to_vec(), "/api/pages", TABLES, rules);
        self.replies.get(&self.cms, &lookup, || Box::pin(fill())).await
    }
}

fn body(reply: Result<Reply>) -> Bytes {
    reply.expect("a reply").body.whole().cloned().expect("a whole body")
}

fn reply(body: &str) -> Result<Reply> {
    Ok(Reply::new(StatusCode::OK, HeaderValue::from_static("text/plain"), body.to_owned()))
}

/// Runs `first` until its fill waits, then `meanwhile` and `second`, then lets the fill go on.
async fn overlapping(
    site: &Site,
    meanwhile: impl Future,
    fills: impl Fn(u32) -> Result<Reply> + Sync,
) -> (Result<Reply>, Result<Reply>) {
    let (count, begun, go_on) = (AtomicU32::new(0), Notify::new(), Notify::new());
    let fill = || async {
        let n = count.fetch_add(1, Ordering::SeqCst);
        if n == 0 {
            begun.notify_one();
            go_on.notified().await;
        }
        fills(n)
    };
    let second = async {
        begun.notified().await;
        meanwhile.await;
        // Polled first, so that it is in line before the fill goes on.
        let release = async { go_on.notify_one() };
        tokio::join!(biased; site.get(fill), release).0
    };
    tokio::join!(site.get(fill), second)
}

#[tokio::test]
async fn a_fill_from_before_a_write_is_not_for_those_who_come_after_it() {
    let site = Site::open().await;
    let (first, second) =
        overlapping(&site, site.write(), |n| reply(if n == 0 { "old" } else { "new" })).await;
    assert_eq!((body(first), body(second)), (Bytes::from("old"), Bytes::from("new")));
    let (first, second) =
        (site.get(|| async { reply("none") }).await, site.get(|| async { reply("none") }).await);
    assert_eq!((body(first), body(second)), (Bytes::from("new"), Bytes::from("new")));
}

#[tokio::test]
async fn a_refusal_from_before_a_write_neither() {
    let site = Site::open().await;
    let missing = || Err(cms_core::Error::new(cms_core::Code::NotFound, "There is none."));
    let (first, second) =
        overlapping(&site, site.write(), |n| if n == 0 { missing() } else { reply("new") }).await;
    assert!(first.is_err() && second.is_ok());
}

/// Each logs the cause under the id of its own request, and tells its client when to come again.
#[tokio::test]
async fn all_who_share_a_refusal_get_its_cause_and_its_wait() {
    let site = Site::open().await;
    let busy = |_: u32| {
        let busy = cms_core::Error::new(cms_core::Code::Unavailable, "Try again.");
        Err(busy.caused_by("no room").retry_after(3))
    };
    let (first, second) = overlapping(&site, async {}, busy).await;
    for refused in [first, second].map(|outcome| outcome.expect_err("a refusal")) {
        let cause = std::error::Error::source(&refused).map(ToString::to_string);
        assert_eq!((cause.as_deref(), refused.retry_after_s()), (Some("no room"), Some(3)));
    }
}

#[tokio::test]
async fn without_a_write_they_share() {
    let site = Site::open().await;
    let (first, second) = overlapping(&site, async {}, |n| reply(&n.to_string())).await;
    assert_eq!((body(first), body(second)), (Bytes::from("0"), Bytes::from("0")));
}

#[tokio::test]
async fn a_clear_meanwhile_ends_sharing_only_where_it_is_meant() {
    for (prefix, expected) in [("/api/menu", "0"), ("/api/pages", "1"), ("", "1")] {
        let site = Site::open().await;
        let (_, second) = overlapping(&site, site.clear(prefix), |n| reply(&n.to_string())).await;
        assert_eq!(body(second), expected, "{prefix}");
    }
}

#[tokio::test]
async fn cookies_are_shared_with_nobody() {
    let site = Site::open().await;
    let own =
        |n: u32| reply("").map(|reply| reply.with(header::SET_COOKIE, &format!("visitor={n}")));
    let (first, second) = overlapping(&site, async {}, own).await;
    assert_eq!(first.expect("a reply").headers[header::SET_COOKIE], "visitor=0");
    assert_eq!(second.expect("a reply").headers[header::SET_COOKIE], "visitor=1");
}

#[tokio::test]
async fn who_goes_away_leaves_the_fill_to_the_next() {
    let site = Site::open().await;
    let hanging = site.get(std::future::pending);
    let second = site.get(|| async { reply("second") });
    let (_, second) =
        tokio::join!(tokio::time::timeout(std::time::Duration::from_millis(20), hanging), second);
    assert_eq!(body(second), "second");
}
