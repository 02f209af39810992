//! Attempts that fail: when they are tried again, and what a receiver cannot do.

use std::time::Duration;

use cms_core::webhooks::{SignedHeaders, verify};
use futures_util::StreamExt as _;
use serde_json::{Value as Json, json};

use crate::support::webhooks::{open, site};
use crate::support::{Answer, Receiver, Site};

#[tokio::test]
async fn the_schedule_is_exact() {
    for (max_retries, expected) in [
        (0, vec![0]),
        (1, vec![0, 30]),
        (3, vec![0, 30, 150, 630]),
        (5, vec![0, 30, 150, 630, 2550, 9750]),
        (8, vec![0, 30, 150, 630, 2550, 9750, 16_950, 24_150, 31_350]),
    ] {
        let (site, receiver) = (site().await, Receiver::start(500).await);
        let made = site.webhook(&receiver.url, &["item.settings.created"]).await;
        let patch = json!({"max_retries": max_retries});
        site.admin(&format!("PATCH /api/backend/webhooks?id={}", made["id"]))
            .json(patch)
            .expect(200)
            .await;
        site.write("claim").await;
        let (mut worker, mut now, mut times) = (site.worker(), 0, Vec::new());
        // A second before each due moment nothing happens, at the moment an attempt.
        for at in &expected {
            if *at > 0 {
                site.clock.advance((at - now - 1) * 1000);
                worker.step().await.unwrap();
                assert_eq!(
                    receiver.count(),
                    times.len(),
                    "max_retries {max_retries}, before {at} s"
                );
                site.clock.advance(1000);
            }
            now = *at;
            worker.step().await.unwrap();
            times.push(now);
            assert_eq!(receiver.count(), times.len(), "max_retries {max_retries}, at {at} s");
        }
        site.clock.advance(1_000_000_000);
        worker.step().await.unwrap();
        assert_eq!(receiver.count(), expected.len());
        assert_eq!(site.statuses().await, [("failed".to_owned(), 1)]);
        let first = receiver.deliveries().remove(0);
        for (delivery, at) in receiver.deliveries().iter().zip(&expected) {
            assert_eq!(
                (&delivery.body, &delivery.headers["webhook-id"]),
                (&first.body, &first.headers["webhook-id"])
            );
            let sent: i64 = delivery.headers["webhook-timestamp"].parse().unwrap();
            assert_eq!(
                sent,
                crate::support::site::NOW / 1000 + at,
                "each attempt is signed with its own time"
            );
            let received = SignedHeaders {
                id: &delivery.headers["webhook-id"],
                timestamp: &delivery.headers["webhook-timestamp"],
                signature: &delivery.headers["webhook-signature"],
            };
            assert_eq!(
                verify(made["secret"].as_str().unwrap(), &received, &delivery.body, sent),
                Ok(())
            );
        }
    }
}

#[tokio::test]
async fn a_delivery_that_is_given_up_is_an_event_that_no_webhook_gets() {
    let (site, receiver) = (site().await, Receiver::start(500).await);
    let made = site.webhook(&receiver.url, &["*"]).await;
    let line = format!("PATCH /api/backend/webhooks?id={}", made["id"]);
    site.admin(&line)
        .json(json!({"events": ["webhook.failed"]}))
        .refused(422, "unknown_event")
        .await;
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
            "job": 1, "subscription": made["id"], "event": "item.settings.created",
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
    let made = site.webhook(&receiver.url, &["item.settings.created"]).await;
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
        site.subscription(&made["id"]).await
    };
    let nine = until(9).await;
    assert_eq!((&nine["active"], &nine["failure_count"]), (&json!(true), &json!(9)));
    let reset = until(10).await;
    assert_eq!((&reset["active"], &reset["failure_count"]), (&json!(true), &json!(0)));
    let nine = until(19).await;
    assert_eq!((&nine["active"], &nine["failure_count"]), (&json!(true), &json!(9)));
    until(20).await;
    let mut worker = site.worker();
    let off = site.subscription(&made["id"]).await;
    assert_eq!((&off["active"], &off["failure_count"]), (&json!(false), &json!(10)));
    assert!(
        off["disabled_reason"]
            .as_str()
            .unwrap()
            .starts_with("10 failed attempts in a row, the last: answered 500"),
        "{off}"
    );
    let disabled = "select count(*) from cms_audit where action = 'disable'";
    assert_eq!(site.database.count(disabled).await, 1);

    // What is written meanwhile is held, and comes in order when somebody activates.
    site.write("later").await;
    site.clock.advance(1_000_000);
    worker.step().await.unwrap();
    assert_eq!(receiver.count(), 20, "nothing is sent any more");
    let held: i64 = site
        .statuses()
        .await
        .iter()
        .filter(|(status, _)| status == "held")
        .map(|(_, count)| count)
        .sum();
    assert_eq!(held, 20);
    let on = site
        .admin(&format!("POST /api/backend/webhooks/activate?id={}", made["id"]))
        .json(json!({}))
        .expect(200)
        .await
        .data();
    assert_eq!(
        (&on["active"], &on["held"], &on["failure_count"]),
        (&json!(true), &json!(20), &json!(0))
    );
}

#[tokio::test]
async fn receivers_that_misbehave_cost_no_more_than_their_attempt() {
    let site = Site::builder()
        .await
        .settings(|settings| {
            open(settings);
            settings.webhooks.timeout_s = 1;
        })
        .open()
        .await;
    let huge = [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 1 << 20]].concat();
    let headers: String = (0..10_000).map(|n| format!("x-{n}: y\r\n")).collect();
    let cases: Vec<(Answer, &str)> = vec![
        (Answer::Silence, "timeout"),
        (Answer::Drip(b"HTTP/1.1 200 OK\r\n\r\nx", Duration::from_millis(100)), "timeout"),
        (Answer::HangUp, "protocol"),
        (Answer::Raw(huge), "delivered"),
        (Answer::Raw(format!("HTTP/1.1 200 OK\r\n{headers}\r\n").into_bytes()), "protocol"),
        (
            Answer::Raw(
                b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
                    .to_vec(),
            ),
            "redirect",
        ),
        (
            Answer::Raw(
                b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x1f\x8b\x08\x00bomb".to_vec(),
            ),
            "delivered",
        ),
        (Answer::Raw(b"not http at all\r\n\r\n".to_vec()), "protocol"),
        (Answer::Status(404), "status"),
        (Answer::Status(204), "delivered"),
    ];
    for (n, (answer, code)) in cases.into_iter().enumerate() {
        let shown = format!("{answer:?}").chars().take(60).collect::<String>();
        let receiver = Receiver::scripted(move |_, _| answer.clone()).await;
        let made = site.webhook(&receiver.url, &["item.settings.created"]).await;
        site.write(&format!("n{n}")).await;
        site.worker().step().await.unwrap();
        let path = format!("GET /api/backend/webhooks/deliveries?subscription={}", made["id"]);
        let log = site.admin(&path).expect(200).await.data();
        assert_eq!(log[0]["status"], code, "{shown}: {}", log[0]);
        let detail = site
            .admin(&format!("GET /api/backend/webhooks/deliveries?id={}", log[0]["id"]))
            .expect(200)
            .await
            .text();
        assert!(detail.len() < 20_000, "{shown}");
        site.admin(&format!("DELETE /api/backend/webhooks?id={}", made["id"])).expect(204).await;
    }
    // Nobody listens there.
    let made = site.webhook("http://127.0.0.1:1/hook", &["item.settings.created"]).await;
    site.write("refused").await;
    site.worker().step().await.unwrap();
    let log = site
        .admin(&format!("GET /api/backend/webhooks/deliveries?subscription={}", made["id"]))
        .expect(200)
        .await
        .data();
    assert_eq!(log[0]["status"], "connect");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let site = site().await;
    let target = Receiver::start(200).await;
    let location = target.url.clone();
    let receiver = Receiver::scripted(move |n, _| {
        let status = [301, 302, 307, 308][n % 4];
        Answer::Raw(
            format!("HTTP/1.1 {status} X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
                .into_bytes(),
        )
    })
    .await;
    site.webhook(&receiver.url, &["item.settings.created"]).await;
    for n in 0..4 {
        site.write(&format!("n{n}")).await;
        site.worker().step().await.unwrap();
        site.clock.advance(1000);
    }
    assert_eq!((receiver.count(), target.connections()), (4, 0));
}

#[tokio::test]
async fn a_subscription_that_was_opened_and_is_no_longer_allowed_is_not_dialled() {
    let site = site().await;
    let receiver = Receiver::start(200).await;
    site.webhook(&receiver.url, &["item.settings.created"]).await;
    site.write("claim").await;
    let database = site.database;
    site.cms.close().await;
    let site =
        Site::on(database).settings(|settings| settings.webhooks.allow_http = true).open().await;
    site.worker().step().await.unwrap();
    assert_eq!(receiver.connections(), 0);
    let log = site.admin("GET /api/backend/webhooks/deliveries").expect(200).await.data();
    assert_eq!(log[0]["status"], "refused_address");
}
