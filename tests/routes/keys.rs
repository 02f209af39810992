//! `/api/backend/keys`: keys are made, changed, rotated, checked, removed.

use serde_json::{Value as Json, json};

use crate::support::Site;

const PAGES: &str = "GET /api/pages";

#[tokio::test]
async fn a_key_is_managed_through_the_api() {
    let site = Site::open().await;
    let body = json!({
        "name": "shop", "expires_on": "2027-01-31",
        "rights": [{"endpoint": "/api/pages", "methods": ["GET"]}],
    });
    let created = site.admin("POST /api/backend/keys").json(body).expect(201).await.data();
    let id = created["id"].as_i64().unwrap();
    let value = created["key"].as_str().unwrap().to_owned();
    assert!(
        value.starts_with(created["prefix"].as_str().unwrap())
            && created["prefix"].as_str().unwrap().len() == "cms_k1_".len() + 6
    );
    let shown = site.admin(&format!("GET /api/backend/keys?id={id}")).expect(200).await;
    assert!(!shown.text().contains(&value));
    let names: Vec<_> = shown.data().as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        names,
        [
            "active",
            "created_at",
            "denied",
            "expires_on",
            "id",
            "last_used_at",
            "name",
            "prefix",
            "requests",
            "rights"
        ]
    );

    site.ask(PAGES).key(&value).expect(200).await;
    site.ask("GET /api/menu").key(&value).refused(401, "api_key_forbidden").await;
    let used = site.admin(&format!("GET /api/backend/keys?id={id}")).expect(200).await.data();
    assert_eq!(
        (&used["requests"], &used["denied"], &used["last_used_at"]),
        (&json!(2), &json!(1), &json!("2026-11-21T09:30:00Z"))
    );
    site.cms.flush().await.unwrap();
    assert_eq!(
        site.database
            .count(&format!("select requests * 10 + denied from cms_api_keys where id = {id}"))
            .await,
        21
    );

    let denied = format!("GET /api/backend/keys/denied?id={id}");
    let last = json!({
        "at": "2026-11-21T09:30:00Z",
        "right": {"endpoint": "/api/menu", "methods": ["GET"]},
    });
    assert_eq!(site.admin(&denied).expect(200).await.data(), last);

    let check = |method: &str, path: &str| {
        site.admin(&format!("GET /api/backend/keys/check?id={id}&method={method}&path={path}"))
    };
    assert_eq!(
        check("get", "/api/pages").expect(200).await.data(),
        json!({"allowed": true, "reason": "allowed"})
    );
    assert_eq!(
        check("GET", "/api/p%2561ges?view=a%2520b").expect(200).await.data()["allowed"],
        true
    );
    check("GET", "/api//pages").refused(400, "bad_query").await;
    assert_eq!(
        check("GET", "/api/menu").expect(200).await.data(),
        json!({"allowed": false, "reason": "api_key_forbidden"})
    );

    let patch = |body: Json| site.admin(&format!("PATCH /api/backend/keys?id={id}")).json(body);
    patch(json!({"active": false})).expect(200).await;
    site.ask(PAGES).key(&value).refused(401, "api_key_disabled").await;
    assert_eq!(check("GET", "/api/pages").expect(200).await.data()["reason"], "api_key_disabled");
    let patched =
        patch(json!({"active": true, "expires_on": null, "name": "Shop"})).expect(200).await.data();
    assert_eq!((&patched["expires_on"], &patched["name"]), (&json!(null), &json!("Shop")));
    site.ask(PAGES).key(&value).expect(200).await;

    site.admin(&format!("DELETE /api/backend/keys?id={id}")).expect(204).await;
    site.ask(PAGES).key(&value).refused(401, "api_key_invalid").await;
    site.admin(&format!("DELETE /api/backend/keys?id={id}")).refused(404, "not_found").await;
    assert_eq!(site.database.count("select count(*) from cms_api_key_values").await, 1);
    let audit = site.admin("GET /api/backend/audit").expect(200).await.data();
    let acts: Vec<_> = audit
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["action"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(&acts[..4], ["delete", "update", "update", "create"]);
}

#[tokio::test]
async fn wrong_keys_are_not_made() {
    let site = Site::open().await;
    let before = site.traces().await;
    let right = |endpoint: &str, methods: Json| json!([{"endpoint": endpoint, "methods": methods}]);
    for (body, fields) in [
        (json!({"name": "", "rights": []}), vec!["name"]),
        (json!({"name": "x".repeat(101)}), vec!["name"]),
        (json!({"name": "x", "expires_on": "2027-02-30"}), vec!["expires_on"]),
        (
            json!({"name": "x", "rights": right("/api/nothing", json!(["GET"]))}),
            vec!["rights[0].endpoint"],
        ),
        (
            json!({"name": "x", "rights": right("/api/pages", json!(["POST"]))}),
            vec!["rights[0].methods"],
        ),
        (json!({"name": "x", "rights": right("/api/pages", json!([]))}), vec!["rights[0].methods"]),
        (json!({"name": "x", "rights": right("*", json!(["GET"]))}), vec!["rights[0]"]),
    ] {
        let refused =
            site.admin("POST /api/backend/keys").json(body).refused(422, "validation_failed").await;
        let found: Vec<_> = refused.json()["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["field"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(found, fields);
    }
    for body in [
        json!({}),
        json!({"name": 5}),
        json!({"name": "x", "nmae": "y"}),
        json!({"name": "x", "rights": "all"}),
    ] {
        site.admin("POST /api/backend/keys").json(body).refused(422, "validation_failed").await;
    }
    assert_eq!(site.traces().await, before);
}

#[tokio::test]
async fn nobody_grants_what_he_does_not_hold() {
    let site = Site::open().await;
    let (admin_id, _) = site.key_with(|_| {}, &["*"]).await;
    let own = [
        "GET,POST,PATCH,DELETE /api/backend/keys",
        "POST /api/backend/keys/rotate",
        "GET /api/pages",
    ];
    let (id, key) = site.key_with(|_| {}, &own).await;
    let refused = |line: String, body: Json| {
        site.ask(&line).key(&key).json(body).refused(403, "permission_denied")
    };
    let (small, _) = site.key_with(|_| {}, &["GET /api/pages"]).await;
    let before = site.traces().await;
    refused(
        "POST /api/backend/keys".to_owned(),
        json!({"name": "x", "rights": [{"endpoint": "*"}]}),
    )
    .await;
    refused(
        "POST /api/backend/keys".to_owned(),
        json!({"name": "x", "rights": [{"endpoint": "/api/menu", "methods": ["GET"]}]}),
    )
    .await;
    refused(format!("PATCH /api/backend/keys?id={id}"), json!({"rights": [{"endpoint": "*"}]}))
        .await;
    refused(format!("PATCH /api/backend/keys?id={admin_id}"), json!({"name": "mine"})).await;
    refused(format!("POST /api/backend/keys/rotate?id={admin_id}"), json!({})).await;
    refused(format!("DELETE /api/backend/keys?id={admin_id}"), json!({})).await;
    assert_eq!(site.traces().await, before);
    site.ask(&format!("POST /api/backend/keys/rotate?id={small}"))
        .key(&key)
        .json(json!({}))
        .expect(200)
        .await;
    let granted = json!({"name": "x", "rights": [{"endpoint": "/api/pages", "methods": ["GET"]}]});
    site.ask("POST /api/backend/keys").key(&key).json(granted).expect(201).await;
}

#[tokio::test]
async fn a_list_of_keys_is_paged() {
    let site = Site::open().await;
    for _ in 0..5 {
        site.key(&[PAGES]).await;
    }
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page =
            site.admin(&format!("GET /api/backend/keys?limit=2{cursor}")).expect(200).await.json();
        found
            .extend(page["data"].as_array().unwrap().iter().map(|key| key["id"].as_i64().unwrap()));
        match page["meta"]["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found, [1, 2, 3, 4, 5, 6]);
    site.admin("GET /api/backend/keys?cursor=nope").refused(400, "bad_query").await;
    site.admin("POST /api/backend/item?table=settings")
        .json(json!([{"name": "a"}, {"name": "b"}]))
        .expect(201)
        .await;
    let foreign =
        site.admin("GET /api/backend/audit?limit=1").expect(200).await.json()["meta"]["next"]
            .as_str()
            .unwrap()
            .to_owned();
    site.admin(&format!("GET /api/backend/keys?cursor={foreign}")).refused(400, "bad_query").await;
}

#[tokio::test]
async fn rotation_with_and_without_grace() {
    let site = Site::open().await;
    let (id, first) = site.key_with(|_| {}, &[PAGES]).await;
    let rotate =
        |body: Json| site.admin(&format!("POST /api/backend/keys/rotate?id={id}")).json(body);
    let second = rotate(json!({})).expect(200).await.data()["key"].as_str().unwrap().to_owned();
    site.ask(PAGES).key(&first).refused(401, "api_key_invalid").await;
    site.ask(PAGES).key(&second).expect(200).await;
    let third =
        rotate(json!({"grace_s": 60})).expect(200).await.data()["key"].as_str().unwrap().to_owned();
    site.clock.advance(59_999);
    for key in [&second, &third] {
        site.ask(PAGES).key(key).expect(200).await;
    }
    site.clock.advance(1);
    site.ask(PAGES).key(&second).refused(401, "api_key_invalid").await;
    site.ask(PAGES).key(&third).expect(200).await;
    for grace in [-1, 604_801] {
        rotate(json!({"grace_s": grace})).refused(422, "validation_failed").await;
    }
    let empty = site.admin(&format!("POST /api/backend/keys/rotate?id={id}")).expect(200).await;
    assert!(empty.data()["key"].is_string(), "the body may be left out");
    // A rotation without grace ends the graces before it as well.
    let fourth = rotate(json!({"grace_s": 604_800})).expect(200).await.data()["key"]
        .as_str()
        .unwrap()
        .to_owned();
    let fifth =
        rotate(json!({"grace_s": 60})).expect(200).await.data()["key"].as_str().unwrap().to_owned();
    rotate(json!({})).expect(200).await;
    for key in [&third, &fourth, &fifth] {
        site.ask(PAGES).key(key).refused(401, "api_key_invalid").await;
    }
}

#[tokio::test]
async fn endpoints_are_listed_as_rights_that_a_key_can_hold() {
    let site = Site::open().await;
    let (mut rows, mut cursor) = (Vec::new(), String::new());
    loop {
        let line = format!("GET /api/backend/keys/endpoints?limit=10{cursor}");
        let page = site.admin(&line).expect(200).await.json();
        rows.extend(page["data"].as_array().expect("endpoints").clone());
        match page["meta"]["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let pages = json!({"endpoint": "/api/pages", "methods": ["GET"], "public": true});
    assert!(rows.contains(&pages), "{rows:?}");
    let item = rows.iter().find(|row| row["endpoint"] == "/api/backend/item").expect("items");
    assert_eq!(item["methods"], json!(["GET", "POST", "PATCH", "DELETE"]));
    assert_eq!(item["public"], false);
    let unfit = ["/api/backend/auth/login", "/api/backend/auth/me", "/healthz"];
    assert!(!rows.iter().any(|row| unfit.contains(&row["endpoint"].as_str().unwrap())));
    let mut rights = rows;
    for row in &mut rights {
        row.as_object_mut().unwrap().remove("public");
    }
    let body = json!({"name": "all", "rights": rights});
    site.admin("POST /api/backend/keys").json(body).expect(201).await;

    let reader = site.person("reader", json!(["keys_keys_view"])).await;
    let ask = site.ask("GET /api/backend/keys/endpoints?limit=1").bearer(&reader.token);
    assert_eq!(ask.expect(200).await.data().as_array().unwrap().len(), 1);
}

/// What was refused last is told as the right that would allow it, and nothing more of the call.
#[tokio::test]
async fn the_last_denied_call_is_remembered() {
    let site = Site::open().await;
    let key = site.key(&[PAGES]).await;
    let keys = site.admin("GET /api/backend/keys").expect(200).await.data();
    let id = keys.as_array().unwrap().last().unwrap()["id"].clone();
    let last = async || {
        let line = format!("GET /api/backend/keys/denied?id={id}");
        site.admin(&line).expect(200).await.data()
    };
    assert_eq!(last().await, Json::Null);
    let ask = site.ask("GET /api/backend/item?table=settings&filter[name][eq]=ana%40example.org");
    ask.key(&key).refused(401, "api_key_forbidden").await;
    let right = json!({
        "endpoint": "/api/backend/item", "query": {"table": "settings"}, "methods": ["GET"],
    });
    assert_eq!(last().await["right"], right);
    // It outlives the process, and calls that no right could allow do not replace it.
    site.cms.flush().await.unwrap();
    site.ask("GET /api/nothing").key(&key).refused(401, "api_key_forbidden").await;
    site.cms.flush().await.unwrap();
    assert_eq!(last().await["right"], right);
    let granted = json!({"rights": [{"endpoint": "/api/pages", "methods": ["GET"]}, right]});
    site.admin(&format!("PATCH /api/backend/keys?id={id}")).json(granted).expect(200).await;
    site.ask("GET /api/backend/item?table=settings").key(&key).expect(200).await;
    site.admin("GET /api/backend/keys/denied?id=4711").refused(404, "not_found").await;
}
