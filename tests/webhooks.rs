//! Webhooks from outside: what is queued, what arrives, when it is tried again, what is refused.

mod subscriptions;

use std::time::Duration;

use cms_core::{
    settings::Settings,
    webhooks::{Received, Worker, verify, verify_hex},
};
use serde_json::{Value as Json, json};

use crate::support::{
    Site,
    receiver::{Answer, Receiver},
};

/// Loopback and http are open, as they must be for a test.
fn open(settings: &mut Settings) {
    settings.webhooks.allow_http = true;
    settings.webhooks.allow_cidrs = vec!["127.0.0.1/32".parse().unwrap()];
}

async fn site() -> Site {
    Site::builder().await.settings(open).open().await
}

impl Site {
    /// Makes a webhook for these events; returns its record, secret included.
    async fn webhook(&self, url: &str, events: &[&str]) -> Json {
        let body = json!({"name": "test", "url": url, "events": events});
        self.admin("POST /api/backend/webhooks").json(body).expect(201).await.data()
    }

    /// Raises an event by a write; returns the setting's name.
    async fn write(&self, name: &str) {
        self.admin("POST /api/backend/item?table=settings")
            .json(json!({"name": name, "value": 1}))
            .expect(201)
            .await;
    }

    async fn statuses(&self) -> Vec<(String, i64)> {
        let stats = self.admin("GET /api/backend/webhooks/queue/stats").expect(200).await.data();
        let by_status = stats["by_status"].as_object().unwrap();
        by_status.iter().map(|(status, count)| (status.clone(), count.as_i64().unwrap())).collect()
    }

    fn worker(&self) -> Worker {
        self.cms.webhooks().worker()
    }

    async fn subscription(&self, id: &Json) -> Json {
        self.admin(&format!("GET /api/backend/webhooks?id={id}")).expect(200).await.data()
    }
}

#[tokio::test]
async fn a_delivery_is_what_the_documentation_says() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let body = json!({
        "name": "shop", "url": receiver.url, "events": ["item.settings.created"], "custom_headers": {"X-Tenant": "7"},
    });
    let made = site.admin("POST /api/backend/webhooks").json(body).expect(201).await.data();
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 50);
    assert_eq!(
        (&made["custom_headers"], &made["max_retries"], &made["active"]),
        (&json!({"x-tenant": "***"}), &json!(5), &json!(true))
    );
    site.write("claim").await;
    assert_eq!(site.worker().step().await.unwrap().delivered, 1);
    let delivery = receiver.deliveries().remove(0);
    let sent = delivery.json();
    assert_eq!(
        (&sent["event"], &sent["created_at"]),
        (&json!("item.settings.created"), &json!("2026-11-21T09:30:00Z"))
    );
    assert_eq!(sent["data"]["record"], json!({"name": "claim", "value": 1, "public": false}));
    let header = |name: &str| delivery.headers[name].as_str();
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("user-agent"), format!("{}-CMS/3.0 Webhook", site.cms.settings().product));
    assert_eq!((header("x-webhook-event"), header("x-tenant")), ("item.settings.created", "7"));
    assert_eq!(
        (header("webhook-id"), header("x-delivery-id")),
        (sent["id"].as_str().unwrap(), "1")
    );
    assert!(verify_hex(secret, header("x-webhook-signature"), &delivery.body));
    let received = Received {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    assert_eq!(verify(secret, &received, &delivery.body, site.clock.now() / 1000), Ok(()));

    let log = site.admin("GET /api/backend/webhooks/deliveries").expect(200).await.data();
    assert_eq!(
        (&log[0]["status"], &log[0]["response_code"], &log[0]["attempt"]),
        (&json!("delivered"), &json!(200), &json!(1))
    );
    let shown = site
        .admin(&format!("GET /api/backend/webhooks/deliveries?id={}", log[0]["id"]))
        .expect(200)
        .await
        .data();
    assert_eq!(
        (&shown["payload"], &shown["response"], &shown["removed"]),
        (&sent, &json!("ok"), &json!([]))
    );
    let everything = site.admin("GET /api/backend/webhooks").expect(200).await.text();
    assert!(!everything.contains(secret) && !everything.contains("\"7\""));
}

#[tokio::test]
async fn entries_match_names_families_and_everything() {
    let site = site().await;
    let (exact, items, all, other) = (
        Receiver::start(200).await,
        Receiver::start(200).await,
        Receiver::start(200).await,
        Receiver::start(200).await,
    );
    site.webhook(&exact.url, &["item.settings.updated", "auth.login"]).await;
    site.webhook(&items.url, &["item.*", "item.settings.created"]).await;
    site.webhook(&all.url, &["*"]).await;
    site.webhook(&other.url, &["form.submitted"]).await;
    site.write("claim").await;
    site.admin("PATCH /api/backend/item?table=settings&id=claim")
        .json(json!({"value": 2}))
        .expect(200)
        .await;
    site.person("ana", json!([])).await;
    site.worker().step().await.unwrap();
    site.worker().step().await.unwrap();
    let names = |receiver: &Receiver| {
        let mut names: Vec<_> =
            receiver.deliveries().iter().map(|d| d.headers["x-webhook-event"].clone()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&exact), ["auth.login", "item.settings.updated"]);
    assert_eq!(names(&items), ["item.settings.created", "item.settings.updated"]);
    assert_eq!(names(&all), ["auth.login", "item.settings.created", "item.settings.updated"]);
    assert_eq!(names(&other), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_is_queued_for_what_does_not_commit() {
    let site = site().await;
    let receiver = Receiver::start(200).await;
    site.webhook(&receiver.url, &["*"]).await;
    site.write("claim").await;
    site.worker().step().await.unwrap();
    // A constraint, a dropped change, a batch with one bad entry.
    site.admin("POST /api/backend/item?table=settings")
        .json(json!({"name": "claim", "value": 1}))
        .refused(409, "conflict")
        .await;
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    change.emit("form.submitted", json!({"answers": {}})).await.unwrap();
    drop(change);
    let batch = json!([{"name": "a", "value": 1}, {"name": "b", "nope": 1}]);
    site.admin("POST /api/backend/item?table=settings").json(batch).expect(400).await;
    site.worker().step().await.unwrap();
    assert_eq!(receiver.count(), 1);
    assert_eq!(site.statuses().await, [("delivered".to_owned(), 1)]);
}

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
            let received = Received {
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

#[tokio::test]
async fn deliveries_are_sent_again_with_the_same_event() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let made = site.webhook(&receiver.url, &["item.settings.created"]).await;
    for name in ["a", "b", "c"] {
        site.write(name).await;
    }
    site.worker().step().await.unwrap();
    let again = |body: Json| site.admin("POST /api/backend/webhooks/redeliver").json(body);
    let log = site.admin("GET /api/backend/webhooks/deliveries").expect(200).await.data();
    assert_eq!(again(json!({"ids": [log[0]["id"]]})).expect(200).await.data()["queued"], 1);
    let filter = json!({"subscription": made["id"], "status": "delivered"});
    again(json!({"filter": filter, "expected": 7})).refused(409, "count_moved").await;
    assert_eq!(
        again(json!({"filter": filter, "expected": 3})).expect(200).await.data()["queued"],
        3
    );
    again(json!({"ids": [4711]})).refused(404, "not_found").await;
    again(json!({})).refused(422, "validation_failed").await;
    site.worker().step().await.unwrap();
    site.worker().step().await.unwrap();
    let deliveries = receiver.deliveries();
    assert_eq!(deliveries.len(), 7);
    let ids: std::collections::BTreeSet<_> =
        deliveries.iter().map(|delivery| delivery.headers["webhook-id"].clone()).collect();
    assert_eq!(ids.len(), 3);
}

#[tokio::test]
async fn a_ping_tells_at_once_how_it_went() {
    let (site, good, bad) = (site().await, Receiver::start(204).await, Receiver::start(500).await);
    let first = site.webhook(&good.url, &["*"]).await;
    let second = site.webhook(&bad.url, &["*"]).await;
    let ping = async |id: &Json| {
        site.admin(&format!("POST /api/backend/webhooks/ping?id={id}")).expect(200).await.data()
    };
    assert_eq!(ping(&first["id"]).await["status"], "delivered");
    let failed = ping(&second["id"]).await;
    assert_eq!((&failed["status"], &failed["response_code"]), (&json!("status"), &json!(500)));
    assert_eq!(site.subscription(&second["id"]).await["failure_count"], 0);
    assert_eq!(good.deliveries()[0].json()["event"], "webhook.ping");
}

#[tokio::test]
async fn what_was_delivered_leaves_the_queue_and_then_the_log() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    site.webhook(&receiver.url, &["item.settings.created"]).await;
    site.write("a").await;
    site.worker().step().await.unwrap();
    site.clock.advance(24 * 3_600_000 - 1);
    site.cms.expire().await.unwrap();
    assert_eq!(site.statuses().await, [("delivered".to_owned(), 1)]);
    site.clock.advance(1);
    site.cms.expire().await.unwrap();
    assert_eq!(site.statuses().await, []);
    assert_eq!(site.database.count("select count(*) from cms_webhook_deliveries").await, 1);
    site.clock.advance(29 * 24 * 3_600_000);
    site.cms.expire().await.unwrap();
    assert_eq!(site.database.count("select count(*) from cms_webhook_deliveries").await, 0);
}

/// Claims and successes are written in groups: more lanes than one holds, and groups that are not
/// full.
#[tokio::test]
async fn many_lanes_at_once_are_each_settled_as_they_ended() {
    let (site, good, bad) = (site().await, Receiver::start(200).await, Receiver::start(500).await);
    for number in 0..40 {
        site.webhook(
            if number % 4 == 0 { &bad.url } else { &good.url },
            &["item.settings.created"],
        )
        .await;
    }
    site.write("first").await;
    let settled = site.worker().step().await.unwrap();
    assert_eq!((settled.delivered, settled.retried, settled.failed, settled.lost), (30, 10, 0, 0));
    assert_eq!((good.count(), bad.count()), (30, 10));
    assert_eq!(site.statuses().await, [("delivered".to_owned(), 30), ("retry".to_owned(), 10)]);
    let logged = |what: &str| {
        format!("select count(distinct subscription_id) from cms_webhook_deliveries where {what}")
    };
    let delivered = "outcome = 'delivered' and status_code = 200 and response = 'ok' and attempt = 1 and event_name = 'item.settings.created'";
    assert_eq!(site.database.count(&logged(delivered)).await, 30);
    assert_eq!(site.database.count(&logged("outcome = 'status' and status_code = 500")).await, 10);
}

/// More at once than there are connections to PostgreSQL: no change may need a second one.
#[tokio::test]
async fn many_are_made_and_raised_at_once() {
    let site = site().await;
    let url = "http://127.0.0.1:1/hook";
    futures_util::future::join_all((0..40).map(|_| site.webhook(url, &["item.settings.created"])))
        .await;
    assert_eq!(site.database.count("select count(*) from cms_webhook_subscriptions").await, 40);
    let raise = || async {
        let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
        site.cms
            .webhooks()
            .emit(&mut change, "order.created", serde_json::Map::new())
            .await
            .unwrap();
        change.commit().await.unwrap();
    };
    futures_util::future::join_all((0..40).map(|_| raise())).await;
    assert_eq!(
        site.database.count("select count(*) from cms_events where name = 'order.created'").await,
        40
    );
}
