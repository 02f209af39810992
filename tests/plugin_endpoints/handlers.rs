//! `Handlers::endpoint`: what a handler gets, on whose behalf it writes, when its reply is kept.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use cms_core::{
    Code, Error,
    items::IfMatch,
    plugins::{Plugin, ScriptReply},
};
use serde_json::{Value as Json, json};

use crate::support::{
    Reply, Site, faults,
    plugins::{program, table},
    until,
};

/// Endpoints whose handlers tell what they got; `calls` counts those of `list`.
fn plugin(calls: Arc<AtomicU64>) -> impl Plugin {
    let all = json!(["GET", "POST", "PATCH", "DELETE"]);
    let manifest = json!({
        "id": "desk",
        "tables": [table("notes", "text text")],
        "content_button": [{"button_id": "edit", "type": "edit",
            "editable_rows": [{"column": "text", "type": "text"}]}],
        "action_button": [{"button_id": "count", "type": "script", "script": "count.php"}],
        "endpoints": [
            {"modelPath": "echo", "endpoint": "backend/desk/echo", "methods": all},
            {"modelPath": "write", "endpoint": "backend/desk/write",
             "methods": ["POST", "DELETE"]},
            {"modelPath": "list", "endpoint": "desk-list", "public": true},
            {"modelPath": "count", "endpoint": "desk-count", "public": true},
            {"modelPath": "faults", "endpoint": "desk-faults", "public": true},
            {"modelPath": "slow", "endpoint": "backend/desk/slow", "methods": ["POST"]},
        ],
    });
    program(manifest, move |handlers| {
        let [listed, counted, slow, script] = [(); 4].map(|()| calls.clone());
        handlers
            .endpoint("echo", &[], |call| async move {
                let parameter = call.parameter("a").map(str::to_owned);
                Ok(json!({"method": call.method().name(), "a": parameter, "body": call.body()}))
            })
            .endpoint("write", &[], |call| async move {
                let mut change = call.change().await?;
                if call.method().name() == "DELETE" {
                    let id = call.parameter("id").unwrap_or_default();
                    call.items().delete(&mut change, "notes", id, None, &IfMatch::Nothing).await?;
                } else {
                    let note = call.body().as_object().cloned().unwrap_or_default();
                    call.items().create(&mut change, "notes", &note).await?;
                }
                if call.parameter("forget").is_none() {
                    change.commit().await?;
                }
                Ok(json!({}))
            })
            .endpoint("list", &["notes"], move |call| {
                listed.fetch_add(1, Ordering::SeqCst);
                async move {
                    let all =
                        call.items().list("notes", &cms_core::items::Query::default()).await?;
                    Ok(json!(all.records()?))
                }
            })
            .endpoint("count", &[], move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
                async { Ok(json!(1)) }
            })
            .endpoint("slow", &[], move |call| {
                let number = slow.fetch_add(1, Ordering::SeqCst);
                async move {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    match call.body()["fails"] == number {
                        true => Err(Error::new(Code::Conflict, "The desk is closed.")),
                        false => Ok(json!(number)),
                    }
                }
            })
            .script("count.php", move |_| {
                let number = script.fetch_add(1, Ordering::SeqCst);
                async move {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    Ok(ScriptReply::Json(number.to_string()))
                }
            })
            .endpoint("faults", &[], |call| async move {
                Err::<serde_json::Value, _>(match call.parameter("kind") {
                    Some("conflict") => Error::new(Code::Conflict, "The desk is closed."),
                    Some("field") => Error::invalid_field("text", "dull", "another text"),
                    _ => Error::internal("a password"),
                })
            })
    })
}

async fn desk() -> (Site, Arc<AtomicU64>) {
    let calls = Arc::new(AtomicU64::new(0));
    let kept = |settings: &mut cms_core::settings::Settings| {
        settings.cache.enabled = true;
        settings.cache.ttl_s = 300;
    };
    let plugin = plugin(calls.clone());
    (Site::builder().await.settings(kept).program(plugin).open().await, calls)
}

#[tokio::test]
async fn a_handler_gets_method_query_and_body() {
    let (site, _) = desk().await;
    for method in ["GET", "POST", "PATCH", "DELETE"] {
        let ask = site.admin(&format!("{method} /api/backend/desk/echo?a=x%20y&b=1"));
        // Handlers judge it.
        let mut ask = ask.header("if-match", "\"x\"");
        let has_body = matches!(method, "POST" | "PATCH");
        if has_body {
            ask = ask.json(json!([1, {"b": null}]));
        }
        let body = if has_body { json!([1, {"b": null}]) } else { json!(null) };
        let reply = ask.expect(200).await.data();
        assert_eq!(reply, json!({"method": method, "a": "x y", "body": body}));
    }
    let head = site.admin("HEAD /api/backend/desk/echo").expect(200).await;
    assert!(head.body.is_empty());
    site.admin("PUT /api/backend/desk/echo").refused(405, "method_not_allowed").await;
    site.admin("POST /api/backend/desk/echo").body("{").refused(400, "bad_json").await;
}

/// Reading takes any `_view` of the plugin, everything else any `_edit`.
#[tokio::test]
async fn who_may_call_a_handler_and_on_whose_behalf_it_writes() {
    let (site, _) = desk().await;
    for (name, rights, reads, writes) in [
        ("viewer", json!(["desk_edit_view"]), 200, 403),
        ("editor", json!(["desk_edit_edit"]), 403, 200),
        ("nobody", json!([]), 403, 403),
    ] {
        let person = site.person(name, rights).await;
        let read = site.ask("GET /api/backend/desk/echo").bearer(&person.token).send().await;
        assert_eq!(read.status, reads, "{name}");
        let ask = site.ask("POST /api/backend/desk/write").bearer(&person.token);
        assert_eq!(ask.json(json!({"text": name})).send().await.status, writes, "{name}");
        let audit = format!("cms_audit where table_name = 'notes' and actor_id = {}", person.id);
        assert_eq!(site.database.rows(&audit).await, i64::from(writes == 200), "{name}");
    }
    let key = site.key(&["DELETE /api/backend/desk/write"]).await;
    let write = "/api/backend/desk/write";
    let post = site.ask(&format!("POST {write}")).key(&key).json(json!({}));
    post.refused(401, "api_key_forbidden").await;
    let none = site.ask(&format!("DELETE {write}?id=77")).key(&key);
    none.refused(404, "not_found").await;
    site.ask(&format!("DELETE {write}?id=1")).key(&key).expect(200).await;
    site.ask(&format!("POST {write}")).json(json!({})).refused(401, "login_required").await;
}

/// A change that its handler drops leaves nothing.
#[tokio::test]
async fn what_is_not_committed_is_not_written() {
    let (site, _) = desk().await;
    let before = site.traces().await;
    let forget = site.admin("POST /api/backend/desk/write?forget=1");
    forget.json(json!({"text": "x"})).expect(200).await;
    let wrong = site.admin("POST /api/backend/desk/write");
    wrong.json(json!({"txt": "x"})).refused(400, "database_error").await;
    assert_eq!(site.traces().await, before);
}

/// Kept until a table changes that the handler names; never without tables.
#[tokio::test]
async fn replies_are_kept_by_the_tables_that_a_handler_names() {
    let (site, calls) = desk().await;
    let called = async |line: &str| {
        let before = calls.load(Ordering::SeqCst);
        let text = site.ask(line).expect(200).await.text();
        (calls.load(Ordering::SeqCst) - before, text)
    };
    let empty = r#"{"data":[]}"#.to_owned();
    assert_eq!(called("GET /api/desk_list").await, (1, empty.clone()));
    assert_eq!(called("GET /api/desk_list").await, (0, empty));
    site.insert("notes", json!({"text": "x"})).await;
    let (times, text) = called("GET /api/desk_list").await;
    assert_eq!((times, text.contains("x")), (1, true), "{text}");
    for _ in 0..2 {
        assert_eq!(called("GET /api/desk_count").await.0, 1);
    }
}

#[tokio::test]
async fn errors_of_a_handler_are_problems() {
    let (site, _) = desk().await;
    let faults = "GET /api/desk_faults?kind=";
    let closed = site.ask(&format!("{faults}conflict")).refused(409, "conflict").await;
    assert_eq!(closed.json()["detail"], "The desk is closed.");
    let field = site.ask(&format!("{faults}field")).refused(422, "validation_failed").await;
    assert_eq!(field.json()["errors"][0]["field"], "text", "{}", field.text());
    let fault = site.ask(&format!("{faults}x")).refused(500, "internal_error").await;
    assert!(!fault.text().contains("password"), "{}", fault.text());
}

/// Two that come at once run the handler, or the script, once.
#[tokio::test]
async fn a_repetition_waits_for_the_first() {
    let (site, calls) = desk().await;
    let slow = |key: &str, body: serde_json::Value| {
        site.admin("POST /api/backend/desk/slow").header("idempotency-key", key).json(body)
    };
    let press = |key: &str| {
        let body = json!({"plugin": "desk", "button_id": "count"});
        let ask = site.admin("POST /api/backend/actions/script");
        ask.header("idempotency-key", key).json(body)
    };
    let (one, two) =
        tokio::join!(slow("a", json!({})).expect(200), slow("a", json!({})).expect(200));
    assert_eq!((one.body.clone(), calls.load(Ordering::SeqCst)), (two.body.clone(), 1));
    let replayed = |reply: &Reply| reply.headers.contains_key("idempotency-replayed");
    assert!(replayed(&one) != replayed(&two));
    let (one, two) = tokio::join!(press("b").expect(200), press("b").expect(200));
    assert_eq!((one.body.clone(), calls.load(Ordering::SeqCst)), (two.body, 2));
    assert_eq!(one.text(), "1");
    // What fails is tried again by whoever waits.
    let fails = || slow("c", json!({"fails": 2}));
    let (one, two) = tokio::join!(fails().send(), fails().send());
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!((statuses, calls.load(Ordering::SeqCst)), ([200, 409], 4));
    // Another request with the key of one under way.
    let (first, other) = tokio::join!(slow("d", json!({})).expect(200), async {
        until("the first runs", async || calls.load(Ordering::SeqCst) == 5).await;
        slow("d", json!({"other": 1})).refused(409, "idempotency_mismatch").await
    });
    assert_eq!(first.data(), 4, "{}", other.text());
    assert_eq!(calls.load(Ordering::SeqCst), 5);
}

/// A claim of a process that died holds nobody up for longer than a minute.
#[tokio::test]
async fn a_claim_that_nobody_renews_ends() {
    let (site, calls) = desk().await;
    let slow = || {
        let ask = site.admin("POST /api/backend/desk/slow");
        ask.header("idempotency-key", "a").json(json!({}))
    };
    slow().expect(200).await;
    site.database.run("update cms_idempotency set status = 0, body = null").await;
    slow().refused(409, "in_progress").await;
    site.clock.advance(60_000);
    slow().expect(200).await;
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

/// A site whose plugin declares what its endpoint takes and answers; `calls` counts the handler's.
async fn typed(calls: Arc<AtomicU64>) -> Site {
    let line = json!({"type": "object", "required": ["amount"], "additionalProperties": false,
        "properties": {"amount": {"type": "integer", "format": "uint8", "maximum": 9}}});
    let manifest = json!({"id": "desk", "endpoints": [{
        "modelPath": "order", "endpoint": "orders/{id}", "public": true,
        "methods": ["GET", "POST", "PATCH", "DELETE"],
        "body": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "required": ["lines"], "examples": [{"lines": [{"amount": 2}]}], "properties": {
                "lines": {"type": "array", "items": line},
                "note": {"type": "string", "default": "", "pattern": "^[a-z]*$"}}},
        "reply": {"type": "array", "items": {"type": "integer"}},
    }]});
    let plugin = program(manifest, move |handlers| {
        let calls = calls.clone();
        handlers.endpoint("order", &[], move |_| {
            calls.fetch_add(1, Ordering::SeqCst);
            async { Ok(json!([7])) }
        })
    });
    Site::builder().await.program(plugin).open().await
}

#[tokio::test]
async fn a_body_that_does_not_fit_its_schema_never_reaches_the_handler() {
    let calls = Arc::new(AtomicU64::new(0));
    let site = typed(calls.clone()).await;
    let lines = |lines: Json| json!({"lines": lines});
    for (body, expected) in [
        (json!(null), "body type"),
        (json!([]), "body type"),
        (json!({}), "lines required"),
        (lines(json!([{"amount": 1}, {}])), "lines[1].amount required"),
        (lines(json!([{"amount": 10}])), "lines[0].amount range"),
        (lines(json!([{"amount": 1, "b": 1}])), "lines[0].b unexpected"),
        (json!({"lines": [], "note": "A"}), "note format"),
    ] {
        for method in ["POST", "PATCH"] {
            let ask = site.ask(&format!("{method} /api/orders/1")).json(body.clone());
            let refused = ask.refused(422, "validation_failed").await;
            assert_eq!(faults(&refused.json()), [expected], "{method} {body}");
        }
    }
    let form = site.ask("POST /api/orders/1").header("content-type", "text/plain").body("lines");
    form.refused(415, "unsupported_media_type").await;
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    // Members that no rule names are the handler's matter.
    let fits = json!({"lines": [{"amount": 9}], "more": 1});
    site.ask("POST /api/orders/1").json(fits).expect(200).await;
    for method in ["GET", "DELETE"] {
        site.ask(&format!("{method} /api/orders/1")).expect(200).await;
    }
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn the_document_has_the_schemas_that_a_plugin_declares() {
    let site = typed(Arc::default()).await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let path = &document["paths"]["/api/orders/{id}"];
    for method in ["post", "patch"] {
        let body = &path[method]["requestBody"]["content"]["application/json"];
        assert_eq!(body["example"], json!({"lines": [{"amount": 2}]}), "{method}");
        let schema = &body["schema"];
        assert_eq!((&schema["$schema"], &schema["required"]), (&Json::Null, &json!(["lines"])));
        // As generators need them: `default` in `allOf`, no formats that only Rust has.
        assert_eq!(schema["properties"]["note"]["allOf"][0]["default"], "");
        let amount = schema.pointer("/properties/lines/items/properties/amount").unwrap();
        assert_eq!(*amount, json!({"type": "integer", "maximum": 9}));
    }
    for method in ["get", "post", "patch", "delete"] {
        let reply = &path[method]["responses"]["200"]["content"]["application/json"]["schema"];
        let data = json!({"type": "array", "items": {"type": "integer"}});
        assert_eq!(reply["properties"]["data"], data, "{method}");
        assert_eq!(reply["required"], json!(["data"]), "{method}");
        let id = &path[method]["parameters"][0];
        assert!(id["in"] == "path" && id.get("description").is_none(), "{method}: {id}");
    }
    assert!(path["get"]["requestBody"].is_null());
}
