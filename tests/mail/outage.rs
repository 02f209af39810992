//! A provider that is away for an hour.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use cms_core::Actor;
use serde_json::json;

use crate::support::{
    Answer, Receiver, Site,
    mail::{from_shop, ids, mail, over_http, taken},
};

/// Mails that wait: `.ci/full` asks for 10,000.
fn mails() -> usize {
    let asked = std::env::var("CMS_TEST_MAILS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(1_000)
}

#[tokio::test]
async fn mails_wait_for_an_hour_and_are_sent_once() {
    let mails = mails();
    let works = Arc::new(AtomicBool::new(false));
    let seen = works.clone();
    let provider = Receiver::scripted(move |number, _| match seen.load(Ordering::SeqCst) {
        true => taken(number),
        false => Answer::Status(503),
    });
    let provider = provider.await;
    let transactional = over_http("json", &provider.url);
    let settings = |settings: &mut cms_core::settings::Settings| {
        from_shop(settings);
        settings.mail.transactional = transactional;
    };
    let site = Site::builder().await.settings(settings).open().await;
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
        site.admin("POST /api/backend/item?table=settings").json(setting).expect(201).await;
        written += 1;
    };
    for _ in 0..60 {
        postman.step().await.unwrap();
        write().await;
        site.clock.advance(60_000);
    }
    let during = provider.count();
    assert!(during < 100, "one mail at a time probes a provider that rests: {during}");
    let waiting = "select count(*) from cms_mails where status = 'queued'";
    assert_eq!(site.database.count(waiting).await, mails as i64, "none was given up");
    works.store(true, Ordering::SeqCst);
    let mut turns = 0;
    while site.database.count(waiting).await > 0 {
        for _ in 0..50 {
            postman.step().await.unwrap();
        }
        write().await;
        site.clock.advance(60_000);
        turns += 1;
        assert!(turns < 2_000, "the mails go");
    }
    let sent = "select count(*) from cms_mails where status = 'sent'";
    assert_eq!(site.database.count(sent).await, mails as i64);
    let arrived = ids(&provider.deliveries()[during..]);
    assert_eq!(arrived.len(), mails, "none twice");
    assert_eq!(arrived.iter().collect::<BTreeSet<_>>().len(), mails);
    let settings = "select count(*) from cms_settings";
    assert_eq!(site.database.count(settings).await, 60 + turns);
}
