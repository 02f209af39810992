//! Attempts that fail: when they are tried again, and what a receiver cannot do.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value as Json, json};

use crate::support::{
    Answer, Receiver, Site, has,
    site::NOW,
    webhooks::{CREATED, WEBHOOKS, is_signed, open, site, subscribed},
};

#[tokio::test]
async fn the_schedule_is_exact() {
    for (max_retries, expected) in [
        (0, vec![0]),
        (1, vec![0, 30]),
        (3, vec![0, 30, 150, 630]),
        (5, vec![0, 30, 150, 630, 2550, 9750]),
        (8, vec![0, 30, 150, 630, 2550, 9750, 16_950, 24_150, 31_350]),
    ] {
        let (site, receiver, made) = subscribed(500).await;
        let patch = json!({"max_retries": max_retries});
        site.patch(&format!("{WEBHOOKS}?id={}", made["id"]), patch).await;
        site.write("claim").await;
        let (mut worker, mut now) = (site.worker(), 0);
        // A second before each due moment nothing happens, at the moment an attempt.
        for (attempts, at) in expected.iter().enumerate() {
            let case = format!("max_retries {max_retries}, {at} s");
            if *at > 0 {
                site.clock.advance((at - now - 1) * 1000);
                worker.step().await.unwrap();
                assert_eq!(receiver.count(), attempts, "before {case}");
                site.clock.advance(1000);
            }
            now = *at;
            worker.step().await.unwrap();
            assert_eq!(receiver.count(), attempts + 1, "{case}");
        }
        site.clock.advance(1_000_000_000);
        worker.step().await.unwrap();
        assert_eq!(receiver.count(), expected.len(), "max_retries {max_retries}");
        assert_eq!(site.statuses().await, json!({"failed": 1}));
        let (deliveries, secret) = (receiver.deliveries(), made["secret"].as_str().unwrap());
        for (delivery, at) in deliveries.iter().zip(&expected) {
            let same = |one: &crate::support::Delivery| {
                (one.body.clone(), one.headers["webhook-id"].clone())
            };
            assert_eq!(same(delivery), same(&deliveries[0]));
            let sent: i64 = delivery.headers["webhook-timestamp"].parse().unwrap();
            assert_eq!(sent, NOW / 1000 + at, "each attempt is signed with its own time");
            assert_eq!(is_signed(secret, delivery, sent), Ok(()));
        }
    }
}

#[tokio::test]
async fn a_delivery_that_is_given_up_is_an_event_that_no_webhook_gets() {
    let (site, receiver) = (site().await, Receiver::start(500).await);
    let made = site.webhook(&receiver.url, &["*"]).await;
    let line = format!("PATCH {WEBHOOKS}?id={}", made["id"]);
    let own = json!({"events": ["webhook.failed"]});
    site.admin(&line).json(own).refused(422, "unknown_event").await;
    site.admin(&line).json(json!({"max_retries": 1})).expect(200).await;
    let mut failed = site.cms.events().subscribe("webhook.failed").live().await.unwrap();
    site.write("claim").await;
    let mut worker = site.worker();
    worker.step().await.unwrap();
    site.clock.advance(30_000);
    worker.step().await.unwrap();
    let event = failed.next().await.expect("an open site");
    let sent = receiver.deliveries().remove(0);
    assert_eq!(
        event.data_as::<Json>().unwrap()["delivery"],
        json!({
            "job": 1, "subscription": made["id"], "event": CREATED,
            "event_id": sent.headers["webhook-id"], "attempts": 2,
            "error": "answered 500",
        })
    );
    site.clock.advance(1_000_000_000);
    worker.step().await.unwrap();
    assert_eq!(receiver.count(), 2, "of the write alone");
}

#[tokio::test]
async fn ten_failures_in_a_row_switch_a_webhook_off_and_nine_do_not() {
    let site = site().await;
    // The tenth delivery is a success, all others fail.
    let receiver = Receiver::scripted(|n, _| Answer::Status(if n == 9 { 200 } else { 500 })).await;
    let id = site.webhook(&receiver.url, &[CREATED]).await["id"].clone();
    for n in 0..20 {
        site.write(&format!("s{n}")).await;
    }
    let mut worker = site.worker();
    // Four at once, then one each second.
    let mut until = async |count: usize| {
        while receiver.count() < count {
            worker.step().await.unwrap();
            site.clock.advance(1000);
        }
        assert_eq!(receiver.count(), count);
        site.subscription(&id).await
    };
    for (count, failures) in [(9, 9), (10, 0), (19, 9)] {
        has!(until(count).await, {"active": true, "failure_count": failures}, "{count}");
    }
    let off = until(20).await;
    let mut worker = site.worker();
    has!(off, {"active": false, "failure_count": 10});
    let reason = off["disabled_reason"].as_str().unwrap();
    assert!(reason.starts_with("10 failed attempts in a row, the last: answered 500"), "{off}");
    assert_eq!(site.database.rows("cms_audit where action = 'disable'").await, 1);

    // What is written meanwhile is held, and comes in order when somebody activates.
    site.write("later").await;
    site.clock.advance(1_000_000);
    worker.step().await.unwrap();
    assert_eq!(receiver.count(), 20, "nothing is sent any more");
    assert_eq!(site.statuses().await["held"], 20);
    let on = site.post(&format!("{WEBHOOKS}/activate?id={id}"), json!({})).await;
    has!(on, {"active": true, "held": 20, "failure_count": 0});
}

#[tokio::test]
async fn receivers_that_misbehave_cost_no_more_than_their_attempt() {
    let site = Site::with(|settings| {
        open(settings);
        settings.webhooks.timeout_s = 1;
    })
    .await;
    let raw = |text: &str| Answer::Raw(text.as_bytes().to_vec());
    let huge = [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 1 << 20]].concat();
    let headers: String = (0..10_000).map(|n| format!("x-{n}: y\r\n")).collect();
    let found = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let packed = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x1f\x8b\x08\x00bomb";
    let log = async |id: &Json| {
        let log = site.get(&format!("{WEBHOOKS}/deliveries?subscription={id}")).await;
        log[0].clone()
    };
    for (n, (answer, code)) in [
        (Answer::Silence, "timeout"),
        (Answer::Drip(b"HTTP/1.1 200 OK\r\n\r\nx", Duration::from_millis(100)), "timeout"),
        (Answer::Drip(b"HTTP/1.1 503 Busy\r\n\r\nx", Duration::from_millis(100)), "status"),
        (Answer::HangUp, "protocol"),
        (Answer::Raw(huge), "delivered"),
        (raw(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n")), "protocol"),
        (raw(found), "redirect"),
        (Answer::Raw(packed.to_vec()), "delivered"),
        (raw("not http at all\r\n\r\n"), "protocol"),
        (Answer::Status(404), "status"),
        (Answer::Status(204), "delivered"),
    ]
    .into_iter()
    .enumerate()
    {
        let shown = format!("{answer:?}").chars().take(60).collect::<String>();
        let is_partly_there = matches!(answer, Answer::Drip(..));
        let receiver = Receiver::scripted(move |_, _| answer.clone()).await;
        let id = site.webhook(&receiver.url, &[CREATED]).await["id"].clone();
        site.write(&format!("n{n}")).await;
        site.step().await;
        let log = log(&id).await;
        assert_eq!(log["status"], code, "{shown}: {log}");
        if is_partly_there {
            let (status, why) = match code {
                "timeout" => (200, "answered 200, but the body was not complete in 1 s"),
                _ => (503, "answered 503"),
            };
            has!(log, {"response_code": status, "error_message": why});
        }
        let line = format!("GET {WEBHOOKS}/deliveries?id={}", log["id"]);
        assert!(site.admin(&line).expect(200).await.text().len() < 20_000, "{shown}");
        site.delete(&format!("{WEBHOOKS}?id={id}")).await;
    }
    // Nobody listens there.
    let made = site.webhook("http://127.0.0.1:1/hook", &[CREATED]).await;
    site.write("refused").await;
    site.step().await;
    assert_eq!(log(&made["id"]).await["status"], "connect");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let site = site().await;
    let target = Receiver::start(200).await;
    let location = target.url.clone();
    let receiver = Receiver::scripted(move |n, _| {
        let status = [301, 302, 307, 308][n % 4];
        let head = format!("HTTP/1.1 {status} X\r\nlocation: {location}\r\n");
        Answer::Raw(format!("{head}content-length: 0\r\n\r\n").into_bytes())
    })
    .await;
    site.webhook(&receiver.url, &["item.settings.created"]).await;
    for n in 0..4 {
        site.write(&format!("n{n}")).await;
        site.step().await;
        site.clock.advance(1000);
    }
    assert_eq!((receiver.count(), target.connections()), (4, 0));
}

#[tokio::test]
async fn a_subscription_that_was_opened_and_is_no_longer_allowed_is_not_dialled() {
    let (site, receiver, _) = subscribed(200).await;
    site.write("claim").await;
    let database = site.database;
    site.cms.close().await;
    let only_http = |settings: &mut cms_core::settings::Settings| {
        settings.webhooks.allow_http = true;
    };
    let site = Site::on(database).settings(only_http).open().await;
    site.step().await;
    assert_eq!(receiver.connections(), 0);
    let log = site.get(&format!("{WEBHOOKS}/deliveries")).await;
    assert_eq!(log[0]["status"], "refused_address");
}
