//! `/api/openapi.json`: the document follows the routes, the types and the tables, and shows each
//! caller what that caller may call.

use cms_core::db::Kind;
use serde_json::{Value as Json, json};

use crate::support::{Site, plugins::table};

async fn site() -> Site {
    let table = table("dishes", "title text required, price decimal, code password");
    let plugin = json!({
        "id": "menu", "name": "Menu", "version": "1.0.0",
        "tables": [table],
        "content_button": [{"button_id": "list", "type": "edit",
                            "editable_rows": [{"column": "title", "type": "text"}]}],
        "endpoints": [{"modelPath": "dishes", "endpoint": "menu-card", "public": true},
                      {"modelPath": "dishes", "endpoint": "backend/menu/sales-report"}],
    });
    Site::builder().await.plugin(plugin).open().await
}

/// In `allOf`: some generators demand a member with a `default`.
#[tokio::test]
async fn new_records_show_the_defaults_of_their_columns() {
    let words = "title text default=x, price decimal default=1.50, hot boolean default=0, \
                 tags json default=[]";
    let plugin = json!({"id": "menu", "tables": [table("dishes", words)]});
    let site = Site::builder().await.plugin(plugin).open().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let schemas = &document["components"]["schemas"];
    for (column, default) in
        [("title", json!("x")), ("price", json!(1.5)), ("hot", json!(false)), ("tags", json!([]))]
    {
        let property = &schemas["DishesCreate"]["properties"][column];
        assert_eq!(property["allOf"][0]["default"], default, "{column}: {property}");
    }
    assert!(!schemas["DishesUpdate"].to_string().contains("default"));
}

/// Every text that is a reference.
fn references(json: &Json) -> Vec<&str> {
    match json {
        Json::Object(members) => {
            let own = members.get("$ref").and_then(Json::as_str);
            own.into_iter().chain(members.values().flat_map(references)).collect()
        }
        Json::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn every_endpoint_is_described() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/api/backend/menu/sales-report"]["get"].is_object());
    let mut ids = std::collections::BTreeSet::new();
    for endpoint in site.cms.access().all().iter() {
        if !endpoint.access.is_for_keys() {
            continue;
        }
        for method in &endpoint.methods {
            let action = endpoint.action.map(|action| format!("/{action}"));
            let path = match endpoint.path.as_str() {
                "/api/backend/item" => "/api/backend/item/dishes".to_owned(),
                path => path.to_owned() + &action.unwrap_or_default(),
            };
            let method = method.to_ascii_lowercase();
            let paths = [path.clone(), path.clone() + "/{id}"];
            let mut operations = paths.iter().map(|path| &document["paths"][path][&method]);
            let operation = operations.find(|one| one.is_object()).unwrap_or(&Json::Null);
            let line = format!("{method} {path}");
            assert!(!operation["summary"].as_str().unwrap_or_default().is_empty(), "{line}");
            let responses = operation["responses"].as_object().expect(&line);
            assert!(responses.keys().all(|status| status.parse::<u16>().is_ok()), "{line}");
            assert!(responses.keys().any(|status| status.starts_with('2')), "{line}");
            assert!(ids.insert(operation["operationId"].to_string()), "{line}: id is taken");
        }
    }
    // Two types of one name would get a number, or one would stand for both.
    let names = document["components"]["schemas"].as_object().unwrap();
    for name in names.keys() {
        assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name}: the name is taken");
        let short = name.trim_end_matches("Record");
        assert!(short == name || !names.contains_key(short), "{name}: the name is taken");
    }
    assert!(document.pointer("/components/schemas/Problem/properties/title").is_some());
    for reference in references(&document) {
        let pointer = reference.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

#[tokio::test]
async fn records_have_the_columns_of_their_table() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let dishes = &document["components"]["schemas"]["Dishes"]["properties"];
    assert_eq!(dishes["price"]["type"], json!(["number", "null"]));
    assert!(dishes["title"].is_object() && dishes["id"].is_object());
    assert!(dishes["code"].is_null(), "passwords never come out");
    // What holds any JSON has no type.
    let alt = &document["components"]["schemas"]["Media"]["properties"]["alt"];
    assert!(alt.is_object() && alt.get("type").is_none(), "{alt}");
}

#[tokio::test]
async fn fields_of_forms_are_described_by_the_table_of_types() {
    let site = Site::open().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let schemas = &document["components"]["schemas"];
    let fields = &schemas["Forms"]["properties"]["fields"];
    assert_eq!(fields["items"]["$ref"], "#/components/schemas/FieldDeclaration");
    let types = schemas["FieldDeclaration"]["oneOf"].as_array().unwrap();
    let names: Vec<_> = types.iter().map(|one| &one["properties"]["type"]["const"]).collect();
    let expected: Vec<_> = cms_core::fields::FieldType::ALL.iter().map(|one| one.name).collect();
    assert_eq!(names, expected);
    let number = types.iter().find(|one| one["title"] == "number").unwrap();
    assert!(number["properties"]["step"].is_object() && number["properties"]["label"].is_object());
}

#[tokio::test]
async fn deliveries_are_described_to_who_may_see_the_list_of_events() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let body = |event: &str| {
        let delivery = &document["webhooks"][event]["post"];
        assert_eq!(delivery["parameters"].as_array().unwrap().len(), 6, "{event}");
        delivery["requestBody"]["content"]["application/json"].clone()
    };
    let published = body("page.published");
    assert_eq!(published["schema"]["properties"]["event"], json!({"const": "page.published"}));
    assert_eq!(published["example"]["data"]["revision"], 3);
    let created = body("item.dishes.created");
    let record = created.pointer("/schema/properties/data/properties/record/$ref").unwrap();
    assert_eq!(record, "#/components/schemas/event.dishes");
    let dishes = &document["components"]["schemas"]["event.dishes"]["properties"];
    assert!(dishes["price"].is_object() && dishes["code"].is_null(), "{dishes}");

    let rights = ["GET /api/openapi.json", "GET /api/backend/webhooks/events"];
    let key = site.key(&rights).await;
    let known = site.ask("GET /api/openapi.json").key(&key).expect(200).await.json();
    assert!(known["webhooks"]["order.created"].is_object());
    assert!(known["webhooks"]["item.dishes.created"].is_null(), "it may not read the table");
    // Nor does the event itself tell the columns.
    let line = "GET /api/backend/webhooks/events?name=item.dishes.created";
    let seen = site.ask(line).key(&key).expect(200).await;
    assert!(!seen.text().contains("price"), "{}", seen.text());
    assert_eq!(seen.data()["schema"]["properties"]["event"]["const"], "item.dishes.created");
    assert!(site.admin(line).expect(200).await.text().contains("price"));
    let key = site.key(&rights[..1]).await;
    let known = site.ask("GET /api/openapi.json").key(&key).expect(200).await.json();
    assert!(known["webhooks"].is_null());
}

#[tokio::test]
async fn callers_see_what_they_may_call() {
    let site = site().await;
    let paths = |document: &Json| -> Vec<String> {
        let paths = document["paths"].as_object().expect("paths");
        paths.keys().filter(|path| path.starts_with("/api/backend/")).cloned().collect()
    };
    let anonymous = site.ask("GET /api/openapi.json").expect(200).await;
    // It knows the records of a public endpoint, and no other door to them.
    assert!(!anonymous.text().contains("/item/"));
    assert!(anonymous.json()["paths"]["/api/menu_card"]["get"].is_object());
    let login = ["/api/backend/auth/login", "/api/backend/auth/verify"];
    assert_eq!(paths(&anonymous.json()), login);

    let rights = ["GET /api/openapi.json", "GET /api/backend/item?table=settings"];
    let key = site.key(&rights).await;
    let known = site.ask("GET /api/openapi.json").key(&key).expect(200).await;
    assert!(known.text().contains("/item/settings") && !known.text().contains("/item/dishes"));
    let item = &known.json()["paths"]["/api/backend/item/settings"];
    assert!(item["get"].is_object() && item["post"].is_null());
    let settings = ["/api/backend/item/settings", "/api/backend/item/settings/{id}"];
    assert_eq!(paths(&known.json()), settings, "no key logs in");

    let editor = site.person("editor", json!(["menu_list_view", "keys_keys_view"])).await;
    let known = site.ask("GET /api/openapi.json").bearer(&editor.token).expect(200).await;
    assert!(known.text().contains("/item/dishes") && !known.text().contains("/item/settings"));
    let known = known.json();
    assert!(known["paths"]["/api/backend/keys"]["get"].is_object());
    assert!(known["paths"]["/api/backend/keys"]["post"].is_null());
    assert!(known["paths"]["/api/backend/users"].is_null());
    assert!(known["paths"]["/api/backend/auth/me"].is_object());
}

/// Each operation of a document with its method and path.
fn operations(document: &Json) -> Vec<(String, String, &Json)> {
    let paths = document["paths"].as_object().expect("paths");
    let at = |(path, item): (&String, _)| {
        let methods = Json::as_object(item).expect("operations").iter();
        methods.map(|(method, one)| (method.to_uppercase(), path.clone(), one)).collect::<Vec<_>>()
    };
    paths.iter().flat_map(at).collect()
}

#[tokio::test]
async fn examples_of_creations_can_be_sent_as_they_are() {
    let site = site().await;
    // The form that the example answers.
    crate::forms::open(&site, "contact", json!({})).await;
    // The funnel that the example begins.
    let mut offer = crate::support::visits::leads();
    offer["slug"] = "offer".into();
    site.funnel(offer).await;
    // The page that the example adds a row to.
    let page = json!({"id": 1, "language_short": "en", "url_rewrite": "/first", "title": "First"});
    site.insert("pages", page).await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let mut sent = 0;
    for (method, path, operation) in operations(&document) {
        let Some(body) = operation.pointer("/requestBody/content/application~1json") else {
            continue;
        };
        let line = format!("{method} {path}");
        assert!(body["example"].is_object(), "{line} has no example");
        if operation["responses"]["201"].is_null() {
            continue;
        }
        site.admin(&line).json(body["example"].clone()).expect(201).await;
        sent += 1;
    }
    assert!(sent >= 6, "{sent}");
}

#[tokio::test]
async fn replies_link_to_the_operations_on_their_rows() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let ids: Vec<_> = operations(&document)
        .iter()
        .map(|(.., one)| one["operationId"].as_str().expect("an id").to_owned())
        .collect();
    let links = |pointer: &str| {
        let links = document["paths"].pointer(pointer).and_then(Json::as_object).expect(pointer);
        assert!(links.keys().all(|id| ids.contains(id)), "{pointer}: {links:?}");
        links.clone()
    };
    let created = links("/~1api~1backend~1webhooks/post/responses/201/links");
    assert_eq!(
        created["delete_backend_webhooks_id"]["parameters"]["id"],
        "$response.body#/data/id"
    );
    assert!(created.contains_key("post_backend_webhooks_ping"));
    // Ids below that path that are none of a subscription.
    assert!(!created.contains_key("post_backend_webhooks_queue_retry"), "{created:?}");
    let listed = links("/~1api~1backend~1webhooks~1queue/get/responses/200/links");
    let retry = &listed["post_backend_webhooks_queue_retry"]["parameters"];
    assert_eq!(retry["id"], "$response.body#/data/0/id");
    let item = links("/~1api~1backend~1item~1dishes/post/responses/201/links");
    let changed = &item["patch_backend_item_dishes_id"]["parameters"];
    assert_eq!(changed["id"], "$response.body#/data/id");
}

/// What is read at an endpoint of a plugin takes the parameters of items, but for the table.
#[tokio::test]
async fn endpoints_that_read_a_table_tell_their_filters() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    for path in ["/api/menu_card", "/api/backend/menu/sales-report"] {
        let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap();
        let names: Vec<_> = parameters.iter().filter_map(|one| one["name"].as_str()).collect();
        for name in ["limit", "sort", "filter", "filter[title][eq]", "filter[price][gte]"] {
            assert!(names.contains(&name), "{path}: {name} in {names:?}");
        }
        assert!(!names.contains(&"table") && !names.contains(&"filter[code][eq]"), "{names:?}");
        let one = &document["paths"][format!("{path}/{{id}}")]["get"];
        let mut names = one["parameters"].as_array().unwrap().iter().map(|one| &one["name"]);
        assert!(names.any(|name| name == "id"), "{one}");
    }
}

/// Each condition that the document names for a list of the service's own is taken there.
#[tokio::test]
async fn lists_of_the_service_tell_their_filters() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    for (path, list) in [
        ("users", "users"),
        ("user_groups", "user_groups"),
        ("keys", "keys"),
        ("origins", "origins"),
        ("webhooks", "webhooks"),
        ("webhooks/events", "events"),
        ("media", "media"),
        ("formfunnel/list", "funnels"),
        ("formfunnel/submissions", "inbox"),
        ("formfunnel/export", "inbox"),
        ("formfunnel/assignable_users", "assignable"),
    ] {
        let path = format!("/api/backend/{path}");
        let parameters = document["paths"][&path]["get"]["parameters"].as_array().expect(&path);
        let name = |one: &Json| one["name"].as_str().unwrap_or_default().to_owned();
        let filters: Vec<_> =
            parameters.iter().filter(|one| name(one).starts_with("filter[")).collect();
        let kind = |wanted: &str| {
            let found = filters.iter().find(|one| name(one) == wanted);
            found.map(|one| one["schema"]["type"].as_str().unwrap().to_owned())
        };
        let columns = site.cms.list_columns(list);
        assert!(!columns.is_empty(), "{list}");
        for column in &columns {
            // A column with few values is only compared for equality.
            let is_free = column.allowed.is_none();
            let has_text = matches!(column.kind, Kind::Text | Kind::Json);
            for (op, is_taken) in [
                ("eq", true),
                ("nin", true),
                ("null", true),
                ("gte", is_free),
                ("contains", is_free && has_text),
            ] {
                let expected = format!("filter[{}][{op}]", column.name);
                assert_eq!(kind(&expected).is_some(), is_taken, "{path}: {expected}");
            }
        }
        if path == "/api/backend/media" {
            // A content table: JSON is compared with JSON.
            continue;
        }
        let queries: Vec<String> = filters
            .iter()
            .map(|one| {
                let name = name(one);
                let (column, op) = name.split_once("][").unwrap();
                let equal = kind(&format!("{column}][eq]")).unwrap_or_default();
                let declared = columns.iter().find(|one| column == format!("filter[{}", one.name));
                let choices = declared.and_then(|one| one.allowed.as_ref());
                let choice = choices.and_then(|some| some.first()).and_then(Json::as_str);
                let value = match (op, choice, equal.as_str()) {
                    ("null]", ..) | (.., "boolean") => "true",
                    (_, Some(choice), _) => choice,
                    (.., "integer" | "number") => "1",
                    _ => "2026-11-21T09:30:00Z",
                };
                format!("{name}={value}")
            })
            .collect();
        for some in queries.chunks(40) {
            site.admin(&format!("GET {path}?{}", some.join("&"))).expect(200).await;
        }
        let one = &document["paths"][format!("{path}/{{id}}")]["get"].to_string();
        assert!(!one.contains("filter["), "{path}: one row is not chosen by filters");
    }
}

#[tokio::test]
async fn conditions_and_limits_are_described_where_they_are_judged() {
    let site = site().await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let judges = |method: &str, path: &str| {
        let operation = &document["paths"][path][method];
        assert!(operation.is_object(), "{method} {path}");
        let takes = references(&operation["parameters"]).iter().any(|one| one.ends_with("IfMatch"));
        assert_eq!(takes, operation["responses"]["412"].is_object(), "{method} {path}");
        takes
    };
    for (method, path) in [
        ("patch", "/api/backend/item/dishes/{id}"),
        ("delete", "/api/backend/item/dishes/{id}"),
        ("patch", "/api/backend/media/{id}"),
        ("delete", "/api/backend/media/{id}"),
        ("post", "/api/backend/pagebuilder"),
        ("patch", "/api/backend/pagebuilder"),
        ("delete", "/api/backend/pagebuilder/{id}"),
        ("post", "/api/backend/pagebuilder/publish"),
        ("post", "/api/backend/formfunnel/submission_update"),
        ("post", "/api/backend/actions/checklist"),
    ] {
        assert!(judges(method, path), "{method} {path}");
    }
    for (method, path) in [
        ("post", "/api/backend/item/dishes"),
        ("patch", "/api/backend/keys/{id}"),
        ("delete", "/api/backend/users/{id}"),
        ("get", "/api/backend/pagebuilder"),
        ("post", "/api/backend/pagebuilder/link"),
    ] {
        assert!(!judges(method, path), "{method} {path}");
    }
    for path in ["/media/{folder}/{file}", "/sitemap.xml"] {
        assert!(document["paths"][path]["get"]["responses"]["429"].is_object(), "{path}");
    }
    let text = document.to_string();
    assert!(!text.contains("\"format\":\"uint") && !text.contains("\"format\":\"int8\""));
    assert!(text.contains("\"format\":\"int64\""));
}
