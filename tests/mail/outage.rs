//! A provider that is away for an hour.

use std::{collections::BTreeSet, sync::atomic::Ordering};

use cms_core::Actor;
use serde_json::json;

use crate::support::mail::{failing_provider, ids, mail, mailing, over_http};

/// Mails that wait: `.ci/full` asks for 10,000.
fn mails() -> usize {
    let asked = std::env::var("CMS_TEST_MAILS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(1_000)
}

#[tokio::test]
async fn mails_wait_for_an_hour_and_are_sent_once() {
    let mails = mails();
    let (provider, works) = failing_provider().await;
    let site = mailing(|mail| mail.transactional = over_http("json", &provider.url)).await;
    for batch in 0..mails / 500 {
        let mut change = site.cms.change(Actor::System).await.unwrap();
        for n in 0..500 {
            let to = format!("a{}@example.com", batch * 500 + n);
            site.cms.mail().queue(&mut change, &mail(&to)).await.unwrap();
        }
        change.commit().await.unwrap();
    }
    let mut postman = site.cms.mail().postman();
    let mut written = 0;
    let mut write = async || {
        let setting = json!({"name": format!("n{written}"), "value": 1});
        site.create("/api/backend/item?table=settings", setting).await;
        written += 1;
    };
    for _ in 0..60 {
        postman.step().await.unwrap();
        write().await;
        site.clock.advance(60_000);
    }
    let during = provider.count();
    assert!(during < 100, "one mail at a time probes a provider that rests: {during}");
    let waiting = "cms_mails where status = 'queued'";
    assert_eq!(site.database.rows(waiting).await, mails as i64, "none was given up");
    works.store(true, Ordering::SeqCst);
    let mut turns = 0;
    while site.database.rows(waiting).await > 0 {
        for _ in 0..50 {
            postman.step().await.unwrap();
        }
        write().await;
        site.clock.advance(60_000);
        turns += 1;
        assert!(turns < 2_000, "the mails go");
    }
    assert_eq!(site.database.rows("cms_mails where status = 'sent'").await, mails as i64);
    let arrived = ids(&provider.deliveries()[during..]);
    assert_eq!(arrived.len(), mails, "none twice");
    assert_eq!(arrived.iter().collect::<BTreeSet<_>>().len(), mails);
    assert_eq!(site.database.rows("cms_settings").await, 60 + turns);
}
