//! `/api/backend/webhooks/deliveries`, `redeliver` and `queue`.

use cms_core::webhooks::JobFilter;
use serde_json::{Value as Json, json};

use super::{assert_by_index, attempts, fill, jobs};
use crate::support::{
    Answer, Ask, Receiver, Site, has,
    webhooks::{CREATED, WEBHOOKS, site, subscribed},
};

/// Has deliveries sent again.
fn again(site: &Site, body: Json) -> Ask {
    site.admin("POST /api/backend/webhooks/redeliver").json(body)
}

async fn queued(site: &Site, body: Json) -> Json {
    again(site, body).expect(200).await.data()["queued"].take()
}

/// A payload may hold records of any table: it is for those who could subscribe to all of them.
#[tokio::test]
async fn who_may_only_look_sees_no_payload() {
    let (site, _receiver, _) = subscribed(200).await;
    site.write("a").await;
    site.step().await;
    let lists = ["deliveries", "messages"].map(|list| format!("GET {WEBHOOKS}/{list}"));
    let looking = site.key(&lists.each_ref().map(String::as_str)).await;
    let event = site.get(&format!("{WEBHOOKS}/messages")).await[0]["id"].clone();
    for (list, id) in lists.iter().zip(["1", event.as_str().unwrap()]) {
        let line = format!("{list}?id={id}");
        assert!(site.admin(&line).expect(200).await.data()["payload"].is_object(), "{line}");
        let seen = site.ask(&line).key(&looking).expect(200).await.data();
        has!(seen, {"payload": null, "response": null}, "{line}");
    }
}

#[tokio::test]
async fn the_attempts_of_one_job_are_listed() {
    let (site, _receiver, _) = subscribed(500).await;
    for name in ["a", "b"] {
        site.write(name).await;
    }
    for _ in 0..3 {
        site.step().await;
        site.clock.advance(3_600_000);
    }
    let log = async |query: &str| {
        let log = site.get(&format!("{WEBHOOKS}/deliveries{query}")).await;
        let row =
            |row: &Json| (row["queue_id"].as_i64().unwrap(), row["attempt"].as_i64().unwrap());
        log.as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    let all = log("").await;
    let job = all[0].0;
    let its: Vec<_> = all.iter().copied().filter(|(of, _)| *of == job).collect();
    assert!(its.len() > 1 && its.len() < all.len(), "{all:?}");
    assert_eq!(log(&format!("?job={job}")).await, its);
    assert_eq!(log(&format!("?job={job}&status=delivered")).await, []);
    assert_eq!(log("?job=4711").await, []);
}

#[tokio::test]
async fn deliveries_are_sent_again_with_the_same_event() {
    let (site, receiver, made) = subscribed(200).await;
    for name in ["a", "b", "c"] {
        site.write(name).await;
    }
    site.step().await;
    let log = site.get(&format!("{WEBHOOKS}/deliveries")).await;
    assert_eq!(queued(&site, json!({"ids": [log[0]["id"]]})).await, 1);
    let filter = json!({"subscription": made["id"], "status": "delivered"});
    assert_eq!(queued(&site, json!({"filter": filter, "expected": 3})).await, 3);
    for (body, status, code) in [
        (json!({"filter": filter, "expected": 7}), 409, "count_moved"),
        (json!({"ids": [4711]}), 404, "not_found"),
        (json!({}), 422, "validation_failed"),
    ] {
        again(&site, body).refused(status, code).await;
    }
    site.step().await;
    site.step().await;
    let deliveries = receiver.deliveries();
    assert_eq!(deliveries.len(), 6, "the one that was queued is not queued twice");
    let ids: std::collections::BTreeSet<_> =
        deliveries.iter().map(|delivery| &delivery.headers["webhook-id"]).collect();
    assert_eq!(ids.len(), 3);
}

/// An event arrives twice only where it was delivered before.
#[tokio::test]
async fn what_waits_is_due_and_not_queued_twice() {
    let receiver = Receiver::scripted(|n, _| Answer::Status([500, 200][n % 2])).await;
    let site = site().await;
    let id = site.webhook(&receiver.url, &[CREATED]).await["id"].clone();
    let failed = |expected: u64| json!({"filter": {"status": "failed"}, "expected": expected});
    for (number, status) in [(1, "retry"), (2, "held")] {
        site.write(status).await;
        site.step().await;
        let log = site.get(&format!("{WEBHOOKS}/deliveries")).await;
        if status == "held" {
            site.patch(&format!("{WEBHOOKS}?id={id}"), json!({"active": false})).await;
        }
        let body = json!({"ids": [log[0]["id"]]});
        for body in [&body, &body, &failed(1)] {
            assert_eq!(queued(&site, body.clone()).await, 1, "{status} {body}");
        }
        assert_eq!(site.statuses().await[status], 1);
        if status == "held" {
            site.post(&format!("{WEBHOOKS}/activate?id={id}"), json!({})).await;
        }
        site.clock.advance(1000);
        site.step().await;
        assert_eq!(receiver.count(), 2 * number, "{status}");
        assert_eq!(site.statuses().await, json!({"delivered": number}));
    }
    assert_eq!(queued(&site, failed(0)).await, 0, "all have arrived since");
    let log = site.get(&format!("{WEBHOOKS}/deliveries")).await;
    let ids: Vec<_> = log.as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(queued(&site, json!({"ids": ids})).await, 2, "one job for each event");
    assert_eq!(site.statuses().await, json!({"delivered": 2, "pending": 2}));
}

/// It counts all the same: nobody knows yet whether it arrives.
#[tokio::test]
async fn what_is_being_sent_is_left_to_its_attempt() {
    let (site, receiver, _) = subscribed(200).await;
    site.write("a").await;
    site.step().await;
    let log = site.get(&format!("{WEBHOOKS}/deliveries")).await;
    let body = json!({"ids": [log[0]["id"]]});
    assert_eq!(queued(&site, body.clone()).await, 1);
    let mut worker = site.worker();
    assert_eq!(worker.claim().await.unwrap(), 1);
    assert_eq!(queued(&site, body).await, 1);
    assert_eq!(site.statuses().await, json!({"delivered": 1, "sending": 1}));
    worker.step().await.unwrap();
    assert_eq!(site.statuses().await, json!({"delivered": 2}));
    assert_eq!(receiver.count(), 2);
}

/// The service refuses every other status, and its document names the same.
#[tokio::test]
async fn states_and_outcomes_are_the_same_wherever_they_are_listed() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    for (list, record) in [("queue", "Job"), ("deliveries", "Delivery")] {
        let line = format!("GET {WEBHOOKS}/{list}?status=none");
        let refused = site.admin(&line).refused(400, "bad_query").await.json();
        let known = refused["detail"].as_str().unwrap().split_once("only ").unwrap().1;
        let known: Vec<_> = known.trim_end_matches('.').split(", ").collect();
        let pattern = json!(format!("^({})$", known.join("|"))).to_string();
        assert!(document.to_string().contains(&pattern), "{list}: {pattern}");
        let told = &document["components"]["schemas"][record]["properties"]["status"];
        let told = told["description"].as_str().unwrap().split('`').skip(1).step_by(2);
        // Of deliveries `failed` means several.
        let known = known.into_iter().filter(|one| list == "queue" || *one != "failed");
        assert_eq!(told.collect::<Vec<_>>(), known.collect::<Vec<_>>(), "{list}");
    }
}

/// The log outlives subscriptions and events.
#[tokio::test]
async fn what_is_gone_is_not_sent_again() {
    let receiver = Receiver::scripted(|n, _| Answer::Status(if n < 2 { 500 } else { 200 })).await;
    let site = site().await;
    let mut logged = Vec::new();
    for name in ["first", "second"] {
        let new = json!({"name": name, "url": receiver.url, "events": [CREATED], "max_retries": 0});
        logged.push(site.create(WEBHOOKS, new).await["id"].clone());
    }
    site.write("a").await;
    site.step().await;
    assert_eq!(site.statuses().await, json!({"failed": 2}));
    let first = logged[0].clone();
    for id in &mut logged {
        let line = format!("{WEBHOOKS}/deliveries?subscription={id}");
        *id = site.get(&line).await[0]["id"].clone();
    }
    site.delete(&format!("{WEBHOOKS}?id={first}")).await;
    let failed = |expected: u64| json!({"filter": {"status": "failed"}, "expected": expected});
    again(&site, failed(2)).refused(409, "count_moved").await;
    assert_eq!(queued(&site, failed(1)).await, 1);
    site.clock.advance(1000);
    site.step().await;
    assert_eq!(receiver.count(), 3);
    again(&site, failed(1)).refused(409, "count_moved").await;
    site.database.run("delete from cms_events").await;
    for (id, why) in logged.iter().zip(["is deleted", "is no longer kept"]) {
        let refused = again(&site, json!({"ids": [id]})).refused(404, "not_found").await.json();
        assert!(refused["detail"].as_str().unwrap().contains(why), "{refused}");
    }
    assert_eq!(queued(&site, json!({"filter": {}, "expected": 0})).await, 0);
}

/// Whoever runs a receiver knows a delivery by its `webhook-id`.
#[tokio::test]
async fn all_attempts_of_an_event_are_found_by_the_id_that_receivers_see() {
    let (site, receiver, _) = subscribed(500).await;
    site.webhook(&receiver.url, &[CREATED]).await;
    site.write("a").await;
    site.step().await;
    let event = receiver.deliveries()[0].headers["webhook-id"].clone();
    site.write("b").await;
    for _ in 0..3 {
        site.clock.advance(3_600_000);
        site.step().await;
    }
    let found = async |line: &str| {
        site.get(&format!("{WEBHOOKS}/{line}")).await.as_array().unwrap().clone()
    };
    let all = found("deliveries").await;
    let its: Vec<Json> =
        all.iter().filter(|attempt| attempt["event_id"] == event.as_str()).cloned().collect();
    assert!(its.len() >= 4 && its.len() < all.len(), "{} of {}", its.len(), all.len());
    assert_eq!(found(&format!("deliveries?event_id={event}")).await, its);
    let (newest, job) = (&its[0], &its[0]["queue_id"]);
    let of_job: Vec<_> = its.iter().filter(|attempt| attempt["queue_id"] == *job).collect();
    let both = found(&format!("deliveries?event_id={event}&job={job}")).await;
    assert_eq!(both.iter().collect::<Vec<_>>(), of_job);
    let at = newest["created_at"].as_str().unwrap();
    let before: Vec<_> = its.iter().filter(|attempt| attempt["created_at"] != at).collect();
    let until = found(&format!("deliveries?event_id={event}&until={at}")).await;
    assert_eq!(until.iter().collect::<Vec<_>>(), before, "the end is excluded");
    assert_eq!(found(&format!("deliveries?until={at}&since={at}")).await, [] as [Json; 0]);
    let jobs = found(&format!("queue?event_id={event}")).await;
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|job| job["event_id"] == event.as_str()), "{jobs:?}");
    for list in ["deliveries", "queue"] {
        assert_eq!(found(&format!("{list}?event_id=none")).await, [] as [Json; 0]);
        let first = format!("GET {WEBHOOKS}/{list}?event_id={event}&limit=1");
        let first = site.admin(&first).expect(200).await.json();
        let cursor = first["meta"]["next"].as_str().unwrap();
        for query in [format!("cursor={cursor}"), "event_id=%07".to_owned()] {
            let line = format!("GET {WEBHOOKS}/{list}?{query}");
            site.admin(&line).refused(400, "bad_query").await;
        }
    }
    // One for each job, however often it was tried.
    let filter = json!({"event_id": event, "until": "2999-01-01T00:00:00Z"});
    again(&site, json!({"filter": filter, "expected": 4})).refused(409, "count_moved").await;
    for (filter, expected) in [
        (filter, 2),
        // The last attempt of a job decides.
        (json!({"event_id": event, "until": at}), 0),
        (json!({"event_id": "none"}), 0),
    ] {
        let body = json!({"filter": filter, "expected": expected});
        assert_eq!(queued(&site, body).await, expected, "{filter}");
    }
    let wrong = again(&site, json!({"filter": {"until": "yesterday"}, "expected": 0}));
    let refused = wrong.refused(422, "validation_failed").await.json();
    assert_eq!(refused["errors"][0]["field"], "filter.until");
}

/// The log may hold a month of a busy site.
#[tokio::test]
async fn the_attempts_of_an_event_are_read_by_index() {
    let site = Site::open().await;
    let events = "insert into cms_events (id, name, body, created_at, subject) select 'e' || i, \
                  'a', '{}', i, 'funnel submission ' || (i / 4)";
    let attempts = attempts("i / 2", "(i / 2)", "i % 3");
    fill(&site, &[events, &jobs("i % 3", "'delivered'"), &attempts]).await;
    let of = |fill: &dyn Fn(&mut JobFilter)| {
        let mut filter = JobFilter::default();
        fill(&mut filter);
        filter
    };
    let event_id = || Some("e77".to_owned());
    for (filter, jobs) in [
        (of(&|one| one.event_id = event_id()), true),
        (of(&|one| (one.event_id, one.until) = (event_id(), Some(9000))), true),
        (of(&|one| one.submission = Some(77)), true),
        (of(&|one| one.job = Some(77)), false),
    ] {
        let [listed, chosen, queued, _] = site.cms.webhooks().plans(&filter).await.unwrap();
        let worse = ["Seq Scan", "SCAN d", "SCAN q", "SCAN e"];
        let by = if jobs { "_by_event" } else { "_by_job" };
        let deliveries = format!("cms_webhook_deliveries{by}");
        let about = format!("{filter:?}");
        assert_by_index(&about, &listed, &[&deliveries], &worse);
        if jobs {
            assert_by_index(&about, &chosen, &[&deliveries], &worse);
            assert_by_index(&about, &queued, &["cms_webhook_queue_by_event"], &worse);
        }
    }
}

/// However many webhooks got one event.
#[tokio::test]
async fn what_is_sent_again_is_searched_by_event_and_webhook() {
    let site = Site::open().await;
    let jobs = "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, \
                created_at) select 'e0', i, 'failed', i, i";
    fill(&site, &[jobs, &attempts("i", "(i * 0)", "i")]).await;
    let both = match site.database.is_postgres() {
        true => "(event_id = d.event_id) AND (subscription_id = d.subscription_id)",
        false => "_by_event (event_id=? AND subscription_id=?)",
    };
    for event_id in [None, Some("e0".to_owned())] {
        let mut filter = JobFilter::default();
        filter.event_id = event_id;
        let [_, chosen, _, sources] = site.cms.webhooks().plans(&filter).await.unwrap();
        let about = format!("{filter:?}");
        assert_by_index(&about, &chosen, &["cms_webhook_deliveries_by_event", both], &[]);
        assert_by_index(&about, &sources, &["cms_webhook_queue_by_event", both], &[]);
    }
}

#[tokio::test]
async fn jobs_are_retried_and_cancelled_by_hand() {
    let (site, _receiver, made) = subscribed(500).await;
    site.write("a").await;
    site.step().await;
    let job = site.get(&format!("{WEBHOOKS}/queue")).await[0]["id"].clone();
    let act =
        |action: &str| site.admin(&format!("POST /api/backend/webhooks/queue/{action}?id={job}"));
    let due = act("retry").expect(200).await.data();
    has!(due, {"id": job, "status": "retry", "next_retry_at": "2026-11-21T09:30:00Z"});
    site.clock.advance(60_000);
    let log = site.get(&format!("{WEBHOOKS}/deliveries")).await;
    assert_eq!(queued(&site, json!({"ids": [log[0]["id"]]})).await, 1);
    let late = act("retry").expect(200).await.data();
    assert_eq!(late["next_retry_at"], due["next_retry_at"], "what is due keeps its place");
    assert_eq!(act("cancel").expect(200).await.data()["status"], "cancelled");
    site.patch(&format!("{WEBHOOKS}?id={}", made["id"]), json!({"active": false})).await;
    site.write("b").await;
    let held = site.get(&format!("{WEBHOOKS}/queue?status=held")).await[0]["id"].clone();
    let held = site.admin(&format!("POST {WEBHOOKS}/queue/retry?id={held}"));
    for (ask, remedy) in [
        (act("retry"), "redeliver one of its deliveries, where it was tried before"),
        (act("cancel"), "only jobs that wait"),
        (held, "activate its subscription"),
    ] {
        let refused = ask.refused(409, "conflict").await.json();
        assert!(refused["detail"].as_str().unwrap().contains(remedy), "{refused}");
    }
    site.admin("POST /api/backend/webhooks/queue/cancel?id=99").refused(404, "not_found").await;
}
