//! The same request again, with the same `Idempotency-Key`.

use serde_json::{Value as Json, json};

use crate::support::{Ask, Site};

const CREATE: &str = "POST /api/backend/item?table=settings";

fn setting(name: &str) -> Json {
    json!({"name": name, "value": 1})
}

/// Creates a setting, with this key of repetitions.
fn create(site: &Site, key: &str, name: &str) -> Ask {
    site.admin(CREATE).header("idempotency-key", key).json(setting(name))
}

#[tokio::test]
async fn the_first_reply_comes_again() {
    let site = Site::open().await;
    let first = create(&site, "a", "x").expect(201).await;
    let before = site.traces().await;
    let again = create(&site, "a", "x").expect(201).await;
    assert_eq!((&again.body, again.header("etag")), (&first.body, first.header("etag")));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(site.traces().await, before);

    create(&site, "a", "y").refused(409, "idempotency_mismatch").await;
    let elsewhere = site.admin("POST /api/backend/item?table=pages").json(setting("x"));
    let elsewhere = elsewhere.header("idempotency-key", "a");
    elsewhere.refused(409, "idempotency_mismatch").await;
    let other = site.key(&["POST /api/backend/item"]).await;
    let of_other = site.ask(CREATE).key(&other).header("idempotency-key", "a");
    of_other.json(setting("z")).expect(201).await;
    create(&site, "", "z").refused(400, "bad_query").await;

    site.clock.advance(24 * 3_600_000);
    create(&site, "a", "v").expect(201).await;
    site.clock.advance(24 * 3_600_000);
    assert!(site.cms.expire().await.unwrap() >= 1);
    create(&site, "a", "w").expect(201).await;
}

#[tokio::test]
async fn a_reply_with_a_secret_is_not_kept() {
    let site = Site::open().await;
    let create = || {
        let ask = site.admin("POST /api/backend/keys").header("idempotency-key", "k");
        ask.json(json!({"name": "n"}))
    };
    let value = create().expect(201).await.data()["key"].as_str().unwrap().to_owned();
    create().refused(409, "idempotency_spent").await;
    let kept = format!("cms_idempotency where body is not null or fingerprint like '%{value}%'");
    assert_eq!(site.database.rows(&kept).await, 0);
}

#[tokio::test]
async fn a_repetition_shows_no_more_than_its_caller_may_see_now() {
    let site = Site::open().await;
    let both =
        ["GET /api/backend/item?table=menu_items", "POST /api/backend/item?table=menu_items"];
    let (id, key) = site.key_with(|_| {}, &both).await;
    let may = async |rights: &[&str]| {
        let row = |line: &&str| {
            let (method, rest) = line.split_once(' ').unwrap();
            let (endpoint, table) = rest.split_once("?table=").unwrap();
            json!({"endpoint": endpoint, "query": {"table": table}, "methods": [method]})
        };
        let rights: Vec<_> = rights.iter().map(row).collect();
        let line = format!("PATCH /api/backend/keys?id={id}");
        site.admin(&line).json(json!({"rights": rights})).expect(200).await;
    };
    let one = json!({"menu": "main", "title": "Secret", "url": "/a", "language_short": "en"});
    let send = |name: &str, body: &Json| {
        let ask = site.ask("POST /api/backend/item?table=menu_items").key(&key);
        ask.header("idempotency-key", name).json(body.clone())
    };
    let many = json!([one, one]);
    let scalar = json!({"menu": "main", "title": "B", "url": "/b", "language_short": "en"});
    let whole = send("one", &one).expect(201).await;
    assert_eq!(whole.data()["title"], "Secret");
    send("many", &many).expect(201).await;

    may(&both[1..]).await;
    let only = send("one", &one).expect(201).await;
    assert_eq!(only.json(), json!({"data": {"id": 1}}));
    assert_eq!(only.header("idempotency-replayed"), "true");
    assert!(!only.headers.contains_key("etag"));
    let only = send("many", &many).expect(201).await;
    assert_eq!(only.json(), json!({"data": [{"id": 2}, {"id": 3}]}));
    // What it sends now it gets again as it was: the id.
    for _ in 0..2 {
        assert_eq!(send("b", &scalar).expect(201).await.json(), json!({"data": {"id": 4}}));
    }

    may(&both).await;
    assert_eq!(send("one", &one).expect(201).await.body, whole.body);
}

#[tokio::test]
async fn a_refused_request_may_be_mended() {
    let site = Site::open().await;
    let wrong = site.admin(CREATE).header("idempotency-key", "a").json(json!({"value": 1}));
    wrong.refused(422, "validation_failed").await;
    create(&site, "a", "x").expect(201).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn at_once_the_work_is_done_once() {
    let site = Site::open().await;
    let requests = (0..8).map(|_| {
        let ask = site.admin("POST /api/backend/keys").header("idempotency-key", "k");
        ask.json(json!({"name": "n"})).send()
    });
    let replies = futures_util::future::join_all(requests).await;
    assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 1);
    let others = replies.iter().filter(|reply| reply.status != 201);
    assert!(others.into_iter().all(|reply| reply.json()["error"] == "idempotency_spent"));
    assert_eq!(site.database.rows("cms_api_keys where name = 'n'").await, 1);
}

#[tokio::test]
async fn old_rows_are_removed_and_young_ones_stay() {
    let site = Site::open().await;
    create(&site, "a", "x").expect(201).await;
    let rows = "select (select count(*) from cms_idempotency) * 100 + (select count(*) \
                from cms_events) * 10 + (select count(*) from cms_audit)";
    assert_eq!((site.cms.expire().await.unwrap(), site.database.count(rows).await), (0, 112));
    let day = 24 * 3_600_000;
    for (days, removed, left) in [(1, 1, 12), (29, 1, 2), (335, 2, 0)] {
        site.clock.advance(days * day);
        assert_eq!(
            (site.cms.expire().await.unwrap(), site.database.count(rows).await),
            (removed, left),
            "{days}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn at_once_all_get_the_first_reply() {
    let site = Site::open().await;
    let ana = site.person("ana", json!("0")).await;
    for round in 0..10 {
        let send = |body: Json| {
            let ask = site.ask(CREATE).header("idempotency-key", format!("k{round}"));
            // A session and a key judge their callers in different ways.
            let ask = if round % 2 == 0 { ask.key(&site.admin) } else { ask.bearer(&ana.token) };
            ask.json(body).send()
        };
        let name = format!("x{round}");
        // The name is unique: whoever does the work again is refused for that.
        let same = futures_util::future::join_all((0..8).map(|_| send(setting(&name))));
        let (same, other) = tokio::join!(same, send(setting("other")));
        if other.status == 409 {
            assert_eq!(other.json()["error"], "idempotency_mismatch");
            let bodies: Vec<_> = same.iter().map(|reply| (reply.status, &reply.body)).collect();
            assert!(bodies.iter().all(|one| one.0 == 201 && *one == bodies[0]), "{bodies:?}");
            let replayed =
                |reply: &&crate::support::Reply| reply.headers.contains_key("idempotency-replayed");
            assert_eq!(same.iter().filter(replayed).count(), 7);
        } else {
            let refused = |reply: &crate::support::Reply| {
                reply.status == 409 && reply.json()["error"] == "idempotency_mismatch"
            };
            assert!(other.status == 201 && same.iter().all(refused));
            site.admin("DELETE /api/backend/item?table=settings&id=other").expect(204).await;
        }
    }
    // So does who must wait for others as well.
    let user = json!({"username": "eve", "password": "correct horse battery", "groups": [1]});
    let made = futures_util::future::join_all((0..4).map(|_| {
        let ask = site.ask("POST /api/backend/users").bearer(&ana.token);
        ask.header("idempotency-key", "user").json(user.clone()).send()
    }));
    assert!(made.await.iter().all(|reply| reply.status == 201));
}
