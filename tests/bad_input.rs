//! Wrong input of every kind: its documented error, nothing written.

use proptest::{prelude::*, prop_oneof};
use serde_json::{Value as Json, json};

use crate::support::Site;

const CREATE: &str = "POST /api/backend/item?table=settings";

#[tokio::test]
async fn bodies() {
    let site = Site::open().await;
    let before = site.traces().await;
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep_member = format!("{{\"name\":\"x\",\"value\":{deep}}}");
    let big = format!("{{\"name\":\"x\",\"value\":\"{}\"}}", "a".repeat(2 << 20));
    for (body, status, code) in [
        (b"{".to_vec(), 400, "bad_json"),
        (b"".to_vec(), 400, "bad_json"),
        (b"5".to_vec(), 400, "bad_json"),
        (b"\"x\"".to_vec(), 400, "bad_json"),
        (b"[5]".to_vec(), 400, "bad_json"),
        (b"{\"name\":\"x\"} trailing".to_vec(), 400, "bad_json"),
        (b"{\"name\":\"\xff\"}".to_vec(), 400, "bad_json"),
        (b"{\"name\":\"\\ud800\"}".to_vec(), 400, "bad_json"),
        (deep.into_bytes(), 422, "validation_failed"),
        (deep_member.into_bytes(), 422, "validation_failed"),
        (big.into_bytes(), 413, "payload_too_large"),
        (b"{\"name\":\"x\",\"nope\":1}".to_vec(), 400, "database_error"),
        (b"{\"name\":\"x\",\"public\":\"perhaps\"}".to_vec(), 422, "validation_failed"),
        (b"{\"name\":\"a\\u0000b\"}".to_vec(), 422, "validation_failed"),
        (b"{\"name\":\"x\",\"value\":{\"a\":\"\\u0000\"}}".to_vec(), 422, "validation_failed"),
        (b"{\"name\":null}".to_vec(), 422, "validation_failed"),
        (b"{}".to_vec(), 422, "validation_failed"),
        (b"{\"name\":\"x\",\"value\":1e999}".to_vec(), 400, "bad_json"),
    ] {
        site.admin(CREATE).body(body).refused(status, code).await;
    }
    for line in
        ["PATCH /api/backend/cache", "PATCH /api/backend/keys?id=1", "POST /api/backend/keys"]
    {
        site.admin(line).body("").refused(400, "bad_json").await;
        site.admin(line).refused(400, "bad_json").await;
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        let ask = site.admin(CREATE).header("content-type", kind).body("{}");
        ask.refused(415, "unsupported_media_type").await;
    }
    let page = |id: &str| format!("{{\"title\":\"x\",\"url_rewrite\":\"/x\",\"sort_order\":{id}}}");
    for number in
        ["9223372036854775808", "-9223372036854775809", "1e300", "1.5", "\"1e5\"", "\" \"", "[1]"]
    {
        let ask = site.admin("POST /api/backend/item?table=pages").body(page(number));
        ask.refused(422, "validation_failed").await;
    }
    assert_eq!(site.traces().await, before);
    for (name, kind) in
        [("x", "application/json; charset=utf-8"), ("y", "application/vnd.api+json")]
    {
        let ask = site.admin(CREATE).header("content-type", kind);
        ask.body(format!("{{\"name\":\"{name}\"}}")).expect(201).await;
    }
}

/// A tree takes far more memory than its text: values and levels are counted before it is made.
#[tokio::test]
async fn bodies_hold_so_many_values() {
    let site = Site::open().await;
    site.admin(CREATE).json(json!({"name": "x"})).expect(201).await;
    let list = |values: usize| format!("[{}1]", "1,".repeat(values - 2));
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let (patch, step) =
        ("PATCH /api/backend/item?table=settings&id=x", "POST /api/formfunnel/step");
    let session = "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10";
    let value = |value: &str| format!("{{\"value\":{value}}}");
    let answers =
        |value: &str| format!("{{\"session_uuid\":\"{session}\",\"answers\":{{\"a\":{value}}}}}");
    let before = site.traces().await;
    for (line, body, bound) in [
        (patch, value(&list(20_000)), "20000 values"),
        (patch, value(&nested(64)), "64 levels"),
        (step, answers(&list(4_998)), "5000 values"),
        (step, answers(&format!("[{}1]", "{\"a\":1},".repeat(100_000))), "5000 values"),
        ("POST /api/form/submit", answers(&list(5_000)), "5000 values"),
        ("POST /api/backend/auth/login", list(20_001), "20000 values"),
        (CREATE, value(&list(100_000)), "100000 values"),
    ] {
        let asked = if line.contains("item") { site.admin(line) } else { site.ask(line) };
        let asked = asked.body(body).refused(422, "validation_failed");
        let error = asked.await.json()["errors"][0].clone();
        assert_eq!((&error["field"], &error["code"]), (&json!("body"), &json!("range")), "{line}");
        assert!(error["message"].as_str().unwrap().contains(bound), "{line}: {error}");
    }
    assert_eq!(site.traces().await, before);
    site.admin(patch).body(value(&list(19_999))).expect(200).await;
    site.admin(patch).body(value(&nested(63))).expect(200).await;
    let many = format!("{{\"name\":\"y\",\"value\":{}}}", list(99_990));
    site.admin(CREATE).body(many).expect(201).await;
    site.ask(step).body(answers(&list(4_997))).refused(404, "not_found").await;
}

#[tokio::test]
async fn parameters_and_paths() {
    let site = Site::open().await;
    let before = site.traces().await;
    for (line, status, code) in [
        ("GET /api/backend/item", 400, "bad_query"),
        ("GET /api/backend/item?table=", 404, "unknown_table"),
        ("GET /api/backend/item?table=nope", 404, "unknown_table"),
        ("GET /api/backend/pagebuilder?action=nope", 400, "bad_query"),
        ("GET /api/backend/formfunnel?action=nope", 404, "not_found"),
        ("GET /api/backend/item?table=api_keys", 404, "unknown_table"),
        ("GET /api/backend/item?table=PAGES", 404, "unknown_table"),
        ("GET /api/backend/item?table=pages&table=pages", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&%74able=settings", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&id=x", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&id=99999999999999999999", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&id=99", 404, "not_found"),
        ("GET /api/backend/item?table=pages&limit=501", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&sort=nope", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&sort=--id", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&fields=nope", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&filter[nope]=1", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&filter[id][eq]=x", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&filter[id][contains]=1", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&filter[title][null]=x", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&expand=title", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&search=%00", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&cursor=nope", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&x=%ff", 400, "bad_query"),
        ("GET /api/backend/item?table=pages&x=%", 400, "bad_query"),
        ("PATCH /api/backend/item?table=pages", 400, "bad_query"),
        ("DELETE /api/backend/item?table=pages", 400, "bad_query"),
        ("DELETE /api/backend/item?table=pages&id=1&force=1", 400, "bad_query"),
        ("GET /api/backend%2Fitem?table=pages", 400, "bad_query"),
        ("GET /api/backend//item?table=pages", 400, "bad_query"),
        ("GET /api/backend/./item?table=pages", 400, "bad_query"),
        ("GET /api/x/../backend/item?table=pages", 400, "bad_query"),
        ("GET /api/backend/item/?table=pages", 400, "bad_query"),
        ("GET /api/pages/", 400, "bad_query"),
        ("GET /api/backend/key-s", 404, "not_found"),
        ("GET /api/backend/keys?id=x", 400, "bad_query"),
        ("GET /api/backend/keys?id=99", 404, "not_found"),
        ("GET /api/backend/keys?limit=x", 400, "bad_query"),
        ("GET /api/backend/audit?cursor=x", 400, "bad_query"),
    ] {
        site.admin(line).json(json!({})).refused(status, code).await;
    }
    assert_eq!(site.traces().await, before);
}

/// Pieces of SQL in every place that takes text: no engine error, nothing changed, no difference to
/// harmless text.
#[tokio::test]
async fn fragments_of_sql() {
    let site = Site::open().await;
    site.admin(CREATE).json(json!({"name": "a", "value": 1})).expect(201).await;
    let fragments = r#"' | " | ';drop table cms_settings;-- | ' or '1'='1 | " or 1=1 -- | 1) or (1=1
        | $1 | ? | :a | % | _ | \ | /* | -- | x'; select pg_sleep(5); -- | a" = "a | (select 1)
        | {{id}} | null | t.* | ][eq | filter[name"#;
    for fragment in fragments.split('|').map(str::trim) {
        let f = percent(fragment);
        for line in [
            format!("GET /api/backend/item?table={f}"),
            format!("GET /api/backend/item?table=settings&id={f}"),
            format!("GET /api/backend/item?table=settings&sort={f}"),
            format!("GET /api/backend/item?table=settings&fields={f}"),
            format!("GET /api/backend/item?table=settings&expand={f}"),
            format!("GET /api/backend/item?table=settings&filter[{f}]=1"),
            format!("GET /api/backend/item?table=settings&filter[name][{f}]=1"),
            format!("GET /api/backend/item?table=settings&filter[name][eq]={f}"),
            format!("GET /api/backend/item?table=settings&filter[name][in]={f},{f}"),
            format!("GET /api/backend/item?table=settings&filter[name][contains]={f}"),
            format!("GET /api/backend/item?table=settings&filter[value][starts_with]={f}"),
            format!("GET /api/backend/item?table=settings&search={f}"),
            format!("GET /api/backend/item?table=settings&cursor={f}"),
            format!("GET /api/backend/item?table=settings&limit={f}"),
            format!("GET /api/backend/item?table=pages&language={f}"),
            format!("GET /api/pages?view={f}"),
            format!("GET /api/pages?url={f}"),
            format!("GET /api/menu?name={f}&language={f}"),
            format!("DELETE /api/backend/item?table=settings&id={f}"),
        ] {
            let reply = site.admin(&line).send().await;
            assert!([200, 400, 404].contains(&reply.status.as_u16()), "{line}: {}", reply.text());
            assert!(!reply.text().to_lowercase().contains("syntax"), "{line}: {}", reply.text());
        }
        let ask = site.admin(CREATE).json(json!({fragment: 1, "name": "b"}));
        ask.refused(400, "database_error").await;
        site.update("settings&id=a", json!({"value": fragment})).await;
        assert_eq!(site.items("settings&id=a").await["value"], fragment);
    }
    assert_eq!(site.database.rows("cms_settings").await, 1);
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn no_query_is_an_internal_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let site = runtime.block_on(Site::open());
    let names =
        prop_oneof!["[a-z\\[\\]_]{0,12}", "filter\\[(name|value|public)\\]\\[[a-z]{2,4}\\]"];
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(300));
    let outcome = runner.run(&(names, "\\PC{0,12}"), |(name, value)| {
        let line =
            format!("GET /api/backend/item?table=settings&{}={}", percent(&name), percent(&value));
        let reply = runtime.block_on(site.admin(&line).send());
        prop_assert!(reply.status.as_u16() < 500, "{}: {}", line, reply.text());
        Ok(())
    });
    outcome.unwrap();
}

/// PostgreSQL has no text with U+0000. Both engines refuse it with the name of its place, wherever
/// it is sent: each parameter and each text of a body that the OpenAPI document knows.
#[tokio::test]
async fn nul_is_refused_everywhere_with_its_place() {
    let site = Site::open().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let before = site.traces().await;
    let (mut parameters, mut members) = (0, 0);
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let line = format!("{} {}", method.to_uppercase(), filled(path));
            let named = operation["parameters"].as_array().into_iter().flatten();
            let named = named.filter(|one| one["in"] == "query");
            for name in named.map(|one| &one["name"]) {
                parameters += 1;
                let name = name.as_str().unwrap();
                let asked = format!("{line}?{name}=a%00b");
                let reply = site.admin(&asked).json(json!({})).refused(400, "bad_query").await;
                let detail = reply.json()["detail"].as_str().unwrap().to_owned();
                assert!(detail.contains(name), "{asked}: {detail}");
            }
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            for name in schema["properties"].as_object().into_iter().flatten().map(|one| one.0) {
                members += 1;
                let mut body = serde_json::Map::new();
                body.insert(name.clone(), json!([{"x": "a\0b"}]));
                // The rights to an action depend on the table that the body names.
                // Keys do not log in.
                let login = path.starts_with("/api/backend/auth/");
                let ask = if login { site.ask(&line) } else { site.admin(&line) };
                let reply = ask.json(Json::Object(body)).send().await;
                let reply = (reply.status.as_u16(), reply.json()["errors"][0]["field"].clone());
                assert_eq!(reply, (422, json!(format!("{name}[0].x"))), "{line} {name}");
            }
        }
    }
    assert!(parameters > 60 && members > 40, "{parameters} {members}");
    assert_eq!(site.traces().await, before);
}

/// Names and addresses hold nothing that a terminal would obey or that turns the direction of text:
/// the field is named, and nothing is written.
#[tokio::test]
async fn hidden_characters_are_refused_in_names_and_addresses() {
    let site = Site::open().await;
    let hook = json!({"name": "a", "url": "https://hooks.example.org/x", "events": ["*"]});
    let user = json!({"username": "a", "password": "correct horse battery", "groups": []});
    let page = json!({"title": "a", "url_rewrite": "/a", "view": "a"});
    let menu = json!({"menu": "main", "title": "a", "url": "/a", "language_short": "en"});
    for (line, body, fields) in [
        ("keys", json!({"name": "a", "rights": []}), &["name"][..]),
        ("user_groups", json!({"name": "a", "rights": ["pages_pages_view"]}), &["name"]),
        ("users", user, &["username"]),
        ("webhooks", hook, &["name", "url"]),
        ("origins", json!({"origin": "https://a.example"}), &["origin"]),
        ("item?table=settings", json!({"name": "a", "value": 1}), &["name"]),
        ("item?table=pages", page, &["url_rewrite", "view"]),
        ("item?table=menu_items", menu, &["menu", "url"]),
        ("item?table=forms", json!({"name": "a", "title": "a", "fields": []}), &["name", "title"]),
    ] {
        for field in fields {
            for hidden in ["\u{7f}", "\u{9b}", "\u{202e}", "\u{2066}", "\u{200f}", "\u{1b}", "\n"] {
                let mut body = body.clone();
                body[*field] = format!("{}{hidden}x", body[*field].as_str().unwrap()).into();
                let traces = site.traces().await;
                let ask = site.admin(&format!("POST /api/backend/{line}")).json(body);
                let reply = ask.refused(422, "validation_failed").await;
                let error = &reply.json()["errors"][0];
                assert!(error.is_object(), "{line} {}", reply.text());
                assert_eq!((&error["field"], &error["code"]), (&json!(field), &json!("format")));
                assert_eq!(site.traces().await, traces, "{line} {field} {hidden:?}");
            }
        }
    }
    // Texts may hold them.
    site.insert("pages", json!({"title": "שלום\u{200f}", "url_rewrite": "/a"})).await;
}

/// Public reads as well: a misspelt parameter is no other question.
#[tokio::test]
async fn no_read_passes_over_a_parameter_that_it_does_not_know() {
    let site = Site::open().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let mut tried = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        // Probes of load balancers and of monitors may carry anything.
        let is_probe = ["/healthz", "/readyz", "/metrics"].contains(&path.as_str());
        if operations["get"].is_null() || is_probe {
            continue;
        }
        let one = if path.ends_with("/one") { "id=1&" } else { "" };
        let line = format!("GET {}?{one}nonsense=1", filled(path));
        let refused = site.admin(&line).refused(400, "bad_query").await.json();
        assert!(refused["detail"].to_string().contains("nonsense"), "{line}: {refused}");
        tried += 1;
    }
    assert!(tried > 50, "{tried}");
    for line in [
        "/api/pages?titel=x", "/api/pages/draft?tokn=x", "/api/menu?nme=main",
        "/api/settings?utm_source=x", "/sitemap.xml?utm_source=x",
    ] {
        site.ask(&format!("GET {line}")).refused(400, "bad_query").await;
    }
}

/// A path with `1` in place of its parameters.
fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "1" } else { part });
    parts.collect::<Vec<_>>().join("/")
}
