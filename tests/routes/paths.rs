//! Paths for typed clients: what `?action=` and `?id=` select has a path of its own, and both
//! spellings are one endpoint.

use serde_json::{Value as Json, json};

use crate::support::{Site, TestDatabase, each, plugins::table, visits::leads};

const ITEM: &str = "/api/backend/item";

async fn site() -> Site {
    let dishes = table("dishes", "title text");
    let words = json!({"name": "words", "adopt": true, "columns": []});
    let plugin = json!({
        "id": "menu", "name": "Menu", "version": "1.0.0", "tables": [dishes, words],
        "endpoints": [
            {"modelPath": "dishes", "endpoint": "menu-card", "public": true},
            {"modelPath": "words", "endpoint": "menu-words", "public": true},
        ],
    });
    let database = TestDatabase::new().await;
    let words = "create table words (word varchar(20) primary key, said integer); \
                 insert into words values ('a-b', 1), ('a_b', 2)";
    database.run(words).await;
    let site = Site::on(database).plugin(plugin).open().await;
    for title in ["Soup", "Bread"] {
        site.create(&format!("{ITEM}/dishes"), json!({"title": title})).await;
    }
    site.funnel(leads()).await;
    let page = json!({"url_rewrite": "/first", "title": "First", "view": "first"});
    site.create("/api/backend/item/pages", page).await;
    site.post("/api/backend/pagebuilder/publish", json!({"page_id": 1})).await;
    site
}

#[tokio::test]
async fn both_spellings_are_one_endpoint() {
    let site = site().await;
    for (path, first) in [
        ("/api/backend/item/dishes", "/api/backend/item?table=dishes"),
        ("/api/backend/item/dishes?limit=1", "/api/backend/item?table=dishes&limit=1"),
        ("/api/backend/item/dishes/2", "/api/backend/item?table=dishes&id=2"),
        ("/api/backend/formfunnel/list", "/api/backend/formfunnel?action=list"),
        ("/api/backend/formfunnel/get/1", "/api/backend/formfunnel?action=get&id=1"),
        (
            "/api/backend/pagebuilder/revisions?page_id=1",
            "/api/backend/pagebuilder?action=revisions&page_id=1",
        ),
        (
            "/api/backend/webhooks/events/page.published",
            "/api/backend/webhooks/events?name=page.published",
        ),
        ("/api/pages/one?view=first", "/api/pages?view=first"),
        ("/api/menu_card/2", "/api/menu_card?id=2"),
        ("/api/menu-words/a-b", "/api/menu_words?id=a-b"),
        ("/api/backend/tables/dishes", "/api/backend/tables?name=dishes"),
    ] {
        let [one, other] = [path, first].map(|path| format!("GET {path}"));
        let (one, other) = (site.admin(&one).send().await, site.admin(&other).send().await);
        assert_eq!(one.status, other.status, "{path}: {}", one.text());
        assert_eq!(one.text(), other.text(), "{path}");
        assert!(one.status == 200, "{path}: {}", one.text());
    }
    let changed = site.admin("PATCH /api/backend/item/dishes/2").json(json!({"title": "Rye"}));
    assert_eq!(changed.expect(200).await.data()["title"], "Rye");
    site.delete("/api/backend/item/dishes/2").await;
    site.admin("GET /api/backend/item?table=dishes&id=2").refused(404, "not_found").await;
}

#[tokio::test]
async fn rights_name_the_first_spelling() {
    let site = site().await;
    let key = site.key(&["GET,PATCH /api/backend/item?table=dishes&id=1"]).await;
    site.ask("GET /api/backend/item/dishes/1").key(&key).expect(200).await;
    for line in [
        "GET /api/backend/item/dishes/2",
        "GET /api/backend/item/dishes",
        "DELETE /api/backend/item/dishes/1",
        "GET /api/backend/item/pages/1",
        "GET /api/backend/formfunnel/list",
        "GET /api/backend/keys/1",
    ] {
        site.ask(line).key(&key).refused(401, "api_key_forbidden").await;
        site.ask(line).refused(401, "login_required").await;
    }
    let keys = each(&site.get("/api/backend/keys").await, "id");
    let id = keys.iter().filter_map(Json::as_i64).max().unwrap();
    for (path, allowed) in
        [("/api/backend/item/dishes/1", true), ("/api/backend/item/dishes/2", false)]
    {
        let check = format!("/api/backend/keys/check?id={id}&method=GET&path={path}");
        assert_eq!(site.get(&check).await["allowed"], allowed, "{path}");
    }
}

/// A right that hides columns, or opens one record, shows no more in the document.
#[tokio::test]
async fn the_document_of_a_bound_key_tells_nothing_more() {
    let site = site().await;
    let document = async |rights: &[&str]| {
        let key = site.key(rights).await;
        site.ask("GET /api/openapi.json").key(&key).expect(200).await.json()
    };
    let hidden = document(&["GET /api/backend/item?table=dishes&fields=id"]).await;
    assert!(!hidden.to_string().contains("ishes"), "{hidden}");
    let one = document(&["GET /api/backend/item?table=dishes&id=1"]).await;
    let paths = |document: &Json| {
        let paths = document["paths"].as_object().unwrap().keys();
        paths.filter(|path| path.contains("/item/")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(paths(&one), ["/api/backend/item/dishes/{id}"]);
    let none = document(&[]).await;
    assert!(none["paths"]["/api/openapi.json"].is_object() && paths(&none).is_empty());
    assert!(none["paths"]["/api/pages"].is_null(), "it may not call it");
}

#[tokio::test]
async fn a_path_says_a_thing_once_and_makes_no_other() {
    let site = site().await;
    for line in [
        "GET /api/backend/item/dishes/1?id=2",
        "GET /api/backend/item/dishes?table=pages",
        "GET /api/backend/formfunnel/list?action=get",
        "GET /api/pages/one",
        "GET /api/pages/one?limit=2",
        "GET /api/backend/item/dishes/1?nonsense=1",
        "DELETE /api/backend/pagebuilder/1?action=link",
    ] {
        site.admin(line).refused(400, "bad_query").await;
    }
    for (line, allow) in [
        ("POST /api/backend/item/dishes/1", "GET, HEAD, PATCH, DELETE"),
        ("POST /api/backend/keys/1", "GET, HEAD, PATCH, DELETE"),
        ("POST /api/menu_card/1", "GET, HEAD"),
        ("PATCH /api/backend/formfunnel/list", "GET, HEAD"),
    ] {
        let refused = site.admin(line).json(json!({})).refused(405, "method_not_allowed").await;
        assert_eq!(refused.headers["allow"], allow, "{line}");
    }
    for line in [
        "GET /api/backend/formfunnel/nonsense",
        "GET /api/backend/item/dishes/1/more",
        "GET /api/backend/status/1",
    ] {
        site.admin(line).refused(404, "not_found").await;
    }
    // A path of the service is no id.
    assert!(site.get("/api/backend/keys/endpoints").await.is_array());
}

/// One operation for a method and path, one type for a reply.
#[tokio::test]
async fn the_document_leaves_no_choice_between_one_and_many() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let mut ids = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        assert!(!path.contains(['#', '?']), "{path}");
        for (method, operation) in methods.as_object().unwrap() {
            let line = format!("{method} {path}");
            for one in operation["parameters"].as_array().unwrap() {
                let by_query = one["in"] == "query" && ["id", "action"].contains(&name(one));
                // What chooses from the audit log, one of three names of a page, and what a POST
                // is about.
                let others = ["/api/backend/audit", "/api/pages/one"];
                let is_left = others.contains(&path.as_str()) || method == "post";
                assert!(!by_query || is_left, "{line} {}", one["name"]);
                ids += usize::from(one["in"] == "path");
                let default = &one["schema"]["default"];
                assert!(one["required"] == false || default.is_null(), "{line} {}", one["name"]);
            }
            for status in ["200", "201"] {
                let reply = &operation["responses"][status]["content"]["application/json"];
                assert!(reply["schema"]["anyOf"].is_null(), "{line}");
            }
        }
    }
    assert!(ids > 50, "{ids}");
    let schemas = &document["components"]["schemas"];
    let dishes = &schemas["Dishes"];
    assert_eq!(dishes["required"], json!(["id", "title"]));
    assert_eq!(dishes["properties"]["title"]["type"], json!(["string", "null"]));
    assert_eq!(dishes["properties"]["id"]["type"], "integer");
    assert_eq!(schemas["DishesCreate"]["required"], json!([]));
    let list = &document["paths"]["/api/backend/item/dishes"]["get"];
    let names: Vec<&str> = list["parameters"].as_array().unwrap().iter().map(name).collect();
    assert!(names.contains(&"filter[title][contains]"), "{names:?}");
    assert!(!names.contains(&"filter[id][contains]") && !names.contains(&"language"), "{names:?}");
}

fn name(parameter: &Json) -> &str {
    parameter["name"].as_str().unwrap_or_default()
}

/// What the document says of new records is what the service takes.
#[tokio::test]
async fn required_columns_are_those_that_the_service_asks_for() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(table) = path.strip_prefix("/api/backend/item/") else { continue };
        let Some(body) = methods["post"].pointer("/requestBody/content/application~1json/schema")
        else {
            continue;
        };
        let at = body["$ref"].as_str().unwrap().trim_start_matches('#');
        let said = document.pointer(at).unwrap()["required"].clone();
        let reply = site.admin(&format!("POST {path}")).json(json!({})).send().await;
        let errors = reply.json_or_null()["errors"].clone();
        let asked = errors.as_array().into_iter().flatten();
        let asked = asked.filter(|error| error["code"] == "required");
        let asked: Json = asked.map(|error| error["field"].clone()).collect();
        assert_eq!(said, asked, "{table}: {}", reply.text());
        tried += 1;
    }
    assert!(tried >= 5, "{tried}");
}

/// Each filter by the name that the document has for it.
#[tokio::test]
async fn every_filter_of_the_document_is_taken() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        if !path.starts_with("/api/backend/item/") || path.ends_with('}') {
            continue;
        }
        for one in methods["get"]["parameters"].as_array().unwrap() {
            let value = match (one["schema"]["type"].as_str(), name(one)) {
                (Some("boolean"), _) => "true",
                (Some("integer" | "number"), _) => "1",
                (_, filter) if !filter.starts_with("filter[") => continue,
                _ => "x",
            };
            let line = format!("GET {path}?{}={value}", name(one));
            let reply = site.admin(&line).send().await;
            // A text must be one of the column's kind: a day, JSON.
            let text = reply.text();
            let is_refused = reply.status == 400 && text.contains(" is expected");
            assert!(reply.status == 200 || is_refused, "{line}: {text}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}
