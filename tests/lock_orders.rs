//! Changes that once waited for each other on PostgreSQL, or together wrote what neither may: each
//! pair behind a barrier, a row or a lock that both need, so that they always meet. SQLite has one
//! writer at a time.

use cms_core::{Actor, Change, Code, Result, items::IfMatch};
use serde_json::{Value as Json, json};

use crate::support::{
    Site,
    webhooks::{WEBHOOKS, subscribed},
    with_leads,
};

/// A site on PostgreSQL, whose deadlocks are told as 503.
async fn site() -> Option<Site> {
    let site = Site::open().await;
    site.database.is_postgres().then_some(site)
}

/// Returns when so many connections of the site wait for a lock.
async fn waiting(site: &Site, number: i64) {
    let count = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' \
                 and application_name = current_setting('application_name')";
    for _ in 0..1000 {
        if site.database.count(count).await >= number {
            return;
        }
    }
    panic!("{number} connections never waited");
}

#[tokio::test]
async fn two_logouts_of_one_session_end_it_once() {
    let Some(site) = site().await else { return };
    let ana = site.person("ana", json!("0")).await;
    let accounts = site.cms.accounts();
    let user = accounts.identify(&ana.token).await.unwrap().unwrap();
    // Holds the session's row as every change of this caller does.
    let (barrier, _) = accounts.change(&user).await.unwrap();
    let logout = || site.ask("POST /api/backend/auth/logout").bearer(&ana.token).send();
    let open = async {
        waiting(&site, 2).await;
        drop(barrier);
    };
    let (one, other, ()) = tokio::join!(logout(), logout(), open);
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 401], "{} {}", one.text(), other.text());
}

#[tokio::test]
async fn an_administrator_who_is_changed_changes_a_group_all_the_same() {
    let Some(site) = site().await else { return };
    let (ana, bob) = (site.person("ana", json!("0")).await, site.person("bob", json!("0")).await);
    let group = site.group("editors", json!([])).await;
    let mut barrier = site.cms.change(Actor::Operator).await.unwrap();
    site.cms.accounts().take_turn(&mut barrier).await.unwrap();
    let line = format!("PATCH /api/backend/users?id={}", ana.id);
    let renamed = site.ask(&line).bearer(&bob.token).json(json!({"username": "anna"})).send();
    let listed = async {
        waiting(&site, 1).await;
        let body = json!({"table": "user_groups", "column": "rights", "id": group,
                          "add": ["pages_pages_view"]});
        let ask = site.ask("POST /api/backend/actions/checklist").bearer(&ana.token);
        ask.json(body).send().await
    };
    let open = async {
        waiting(&site, 2).await;
        drop(barrier);
    };
    let (renamed, listed, ()) = tokio::join!(renamed, listed, open);
    assert_eq!(renamed.status, 200, "{}", renamed.text());
    assert_eq!(listed.status, 200, "{}", listed.text());
}

#[tokio::test]
async fn uses_of_keys_are_counted_while_one_key_changes_another() {
    let Some(site) = site().await else { return };
    let rights = ["PATCH /api/backend/keys", "GET /api/settings"];
    let (one, first) = site.key_with(|_| {}, &["GET /api/settings"]).await;
    let (_, second) = site.key_with(|_| {}, &[rights[0], rights[1]]).await;
    for key in [&first, &second] {
        site.ask("GET /api/settings").key(key).expect(200).await;
    }
    let keys = site.cms.keys();
    let (holder, _) = keys.identify_reader(&second, None).await.unwrap();
    // Holds the second key's row. Whoever counts uses waits for nobody: those of this key stay in
    // memory for the next time.
    let (barrier, _) = keys.change(&holder).await.unwrap();
    let counted = async || {
        site.cms.flush().await.unwrap();
        let counts = "select cast(sum(requests) as bigint) from cms_api_keys";
        site.database.count(counts).await
    };
    assert_eq!(counted().await, 1);
    let line = format!("PATCH /api/backend/keys?id={one}");
    let ask = site.ask(&line).key(&second).json(json!({"name": "renamed"}));
    let changed = ask.send().await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    barrier.commit().await.unwrap();
    // One of the first key, two of the second.
    assert_eq!(counted().await, 3);
}

/// Three menu items and three pages, none below another.
async fn flat() -> Site {
    let site = Site::open().await;
    let item = |id: i64| {
        json!({"id": id, "menu": "main", "title": "t", "url": "/x",
               "language_short": "en"})
    };
    let page = |id: i64| json!({"id": id, "url_rewrite": format!("/{id}"), "title": "t"});
    for (table, rows) in [("menu_items", [1, 2, 3].map(item)), ("pages", [1, 2, 3].map(page))] {
        let line = format!("POST /api/backend/item?table={table}");
        site.admin(&line).json(json!(rows)).expect(201).await;
    }
    site
}

async fn move_to(
    site: &Site,
    change: &mut Change,
    (table, id): (&str, i64),
    parent: Json,
) -> Result<()> {
    let (id, body) = (id.to_string(), json!({"parent_id": parent}));
    let body = body.as_object().unwrap();
    site.cms.items().update(change, table, &id, None, &IfMatch::Nothing, body).await.map(drop)
}

/// Runs two changes of parents at once. On PostgreSQL both wait for a third one first.
async fn at_once(
    site: &Site,
    one: impl Future<Output = Result<()>>,
    other: impl Future<Output = Result<()>>,
) -> [Result<()>; 2] {
    let mut barrier = site.cms.change(Actor::Operator).await.unwrap();
    move_to(site, &mut barrier, ("menu_items", 3), Json::Null).await.unwrap();
    behind(site, barrier, one, other).await
}

/// Runs two changes at once, which wait for the barrier.
async fn behind(
    site: &Site,
    barrier: Change,
    one: impl Future<Output = Result<()>>,
    other: impl Future<Output = Result<()>>,
) -> [Result<()>; 2] {
    let open = async {
        if site.database.is_postgres() {
            waiting(site, 2).await;
        }
        drop(barrier);
    };
    let (one, other, ()) = tokio::join!(one, other, open);
    [one, other]
}

#[tokio::test]
async fn of_two_moves_that_close_a_circle_one_is_refused() {
    let site = flat().await;
    for table in ["menu_items", "pages"] {
        let put = async |id: i64, parent: i64| {
            let mut change = site.cms.change(Actor::Operator).await?;
            move_to(&site, &mut change, (table, id), json!(parent)).await?;
            change.commit().await
        };
        let outcomes = at_once(&site, put(1, 2), put(2, 1)).await;
        let refused: Vec<_> = outcomes.iter().filter_map(|done| done.as_ref().err()).collect();
        let codes: Vec<_> = refused.iter().map(|error| error.fields()[0].code).collect();
        assert_eq!(codes, ["loop"], "{table}: {refused:?}");
        let below = format!("select count(*) from cms_{table} where parent_id is not null");
        assert_eq!(site.database.count(&below).await, 1, "{table}");
    }
}

#[tokio::test]
async fn an_item_goes_or_gets_one_below_it() {
    let site = flat().await;
    let items = site.cms.items();
    let delete = async {
        let mut change = site.cms.change(Actor::Operator).await?;
        items.delete(&mut change, "menu_items", "1", None, &IfMatch::Nothing).await?;
        change.commit().await
    };
    let put = async {
        let mut change = site.cms.change(Actor::Operator).await?;
        move_to(&site, &mut change, ("menu_items", 2), json!(1)).await?;
        change.commit().await
    };
    let outcomes = at_once(&site, delete, put).await;
    let refused = outcomes.iter().filter_map(|done| done.as_ref().err());
    let codes: Vec<_> = refused.map(cms_core::Error::code).collect();
    assert_eq!(codes, [Code::Conflict], "{outcomes:?}");
}

#[tokio::test]
async fn of_two_redirects_that_close_a_circle_one_is_refused() {
    let site = Site::open().await;
    let add = async |change: &mut Change, from: &str, to: &str| {
        let body = json!({"from": from, "to": to});
        site.cms.items().create(change, "redirects", body.as_object().unwrap()).await.map(drop)
    };
    let put = async |from: &str, to: &str| {
        let mut change = site.cms.change(Actor::Operator).await?;
        add(&mut change, from, to).await?;
        change.commit().await
    };
    let mut barrier = site.cms.change(Actor::Operator).await.unwrap();
    add(&mut barrier, "/c", "/d").await.unwrap();
    let outcomes = behind(&site, barrier, put("/a", "/b"), put("/b", "/a")).await;
    let refused = outcomes.iter().filter_map(|done| done.as_ref().err());
    let codes: Vec<_> = refused.map(|error| error.fields()[0].code).collect();
    assert_eq!(codes, ["loop"], "{outcomes:?}");
}

#[tokio::test]
async fn two_funnels_of_one_name_get_a_slug_each() {
    let site = Site::open().await;
    let add = async |change: &mut Change, name: &str| {
        let new = serde_json::from_value(json!({"name": name})).unwrap();
        site.cms.funnels().create(change, new).await.map(drop)
    };
    let put = async || {
        let mut change = site.cms.change(Actor::Operator).await?;
        add(&mut change, "Lead form").await?;
        change.commit().await
    };
    let mut barrier = site.cms.change(Actor::Operator).await.unwrap();
    add(&mut barrier, "Other").await.unwrap();
    for made in behind(&site, barrier, put(), put()).await {
        made.unwrap();
    }
    let slugs = "cms_formfunnels where slug in ('lead-form', 'lead-form-2')";
    assert_eq!(site.database.rows(slugs).await, 2);
}

#[tokio::test]
async fn a_submission_is_not_assigned_to_a_user_who_is_deleted() {
    let site = with_leads().await;
    if !site.database.is_postgres() {
        return;
    }
    let ana = site.person("ana", json!(["formfunnel_inbox_view"])).await;
    let visit = site.visit("leads").await;
    let (funnels, id) = (site.cms.funnels(), visit.column("id").await);
    let update = serde_json::from_value(json!({"assigned_to": ana.id})).unwrap();
    let mut barrier = site.cms.change(Actor::Operator).await.unwrap();
    funnels.update_submission(&mut barrier, id, update, &IfMatch::Nothing).await.unwrap();
    let line = format!("DELETE /api/backend/users?id={}", ana.id);
    let open = async {
        waiting(&site, 1).await;
        barrier.commit().await.unwrap();
    };
    let (deleted, ()) = tokio::join!(site.admin(&line).send(), open);
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    assert_eq!(visit.column("coalesce(assigned_to, 0)").await, 0);
}

/// The webhook first, then its jobs: who changes a webhook may need its jobs next.
#[tokio::test]
async fn a_delivery_is_sent_again_while_its_webhook_and_then_its_job_is_changed() {
    let (site, _receiver, made) = subscribed(500).await;
    if !site.database.is_postgres() {
        return;
    }
    site.write("a").await;
    site.step().await;
    let job = site.get(&format!("{WEBHOOKS}/queue")).await[0]["id"].as_i64().unwrap();
    let (webhooks, id) = (site.cms.webhooks(), made["id"].as_i64().unwrap());
    let patch = serde_json::from_value(json!({"name": "renamed"})).unwrap();
    let mut barrier = site.cms.change(Actor::Operator).await.unwrap();
    webhooks.update(&mut barrier, id, patch).await.unwrap();
    let body = json!({"filter": {}, "expected": 1});
    let again = site.admin("POST /api/backend/webhooks/redeliver").json(body).send();
    let open = async {
        waiting(&site, 1).await;
        webhooks.retry_now(&mut barrier, job).await.unwrap();
        barrier.commit().await.unwrap();
    };
    let (again, ()) = tokio::join!(again, open);
    assert_eq!(again.status, 200, "{}", again.text());
}
