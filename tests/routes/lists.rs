//! Lists of users, groups, keys, origins, webhooks, funnels: rows chosen and sorted as records are.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use crate::support::{Site, people::PASSWORD};

/// Three rows of each, made in this order at different times.
async fn filled() -> Site {
    let site = Site::open().await;
    for (n, name) in ["Cleo", "ana", "Bert"].into_iter().enumerate() {
        let is_active = n != 1;
        for (list, new) in [
            ("user_groups", json!({"name": format!("{name}s")})),
            (
                "users",
                json!({"username": name, "password": PASSWORD, "groups": [1],
                             "active": is_active}),
            ),
            ("keys", json!({"name": name, "rights": [], "active": is_active})),
            (
                "origins",
                json!({"origin": format!("https://{}.example.org", name.to_lowercase()),
                               "active": is_active}),
            ),
            (
                "webhooks",
                json!({"name": name, "url": format!("https://1.1.1.{n}/hooks"),
                                "events": ["*"], "active": is_active}),
            ),
            ("formfunnel/create", json!({"name": name})),
        ] {
            site.admin(&format!("POST /api/backend/{list}")).json(new).expect(201).await;
        }
        site.clock.advance(60_000);
    }
    site
}

async fn page(site: &Site, list: &str, query: &str) -> Json {
    site.admin(&format!("GET /api/backend/{list}?{query}")).expect(200).await.json()
}

fn values(page: &Json, column: &str) -> Vec<String> {
    let text = |row: &Json| row[column].as_str().unwrap_or_default().to_lowercase();
    page["data"].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test]
async fn rows_are_chosen_sorted_searched_and_counted() {
    let site = filled().await;
    for (list, column) in [
        ("users", "username"),
        ("user_groups", "name"),
        ("keys", "name"),
        ("origins", "origin"),
        ("webhooks", "name"),
        ("formfunnel/list", "name"),
    ] {
        let names = async |query: &str| {
            let mut found = values(&page(&site, list, query).await, column);
            for name in &mut found {
                *name = name.replace("https://", "").chars().take(4).collect();
            }
            // The key of the test itself.
            found.retain(|name| name != "test");
            found.join(" ").replace('.', "").replace("anas", "ana")
        };
        assert_eq!(names("").await, "cleo ana bert", "{list}: by id");
        assert_eq!(names("sort=-id").await, "bert ana cleo", "{list}");
        let contains = format!("filter[{column}][contains]=ert");
        assert_eq!(names(&contains).await, "bert", "{list}");
        assert_eq!(names("search=NA").await, "ana", "{list}");
        assert_eq!(
            names("filter[created_at][gte]=2026-11-21T09:31:00Z&sort=-created_at").await,
            "bert ana",
            "{list}"
        );
        let either = r#"{"or":[{"created_at":{"gt":"2026-11-21T09:31:00Z"}},{"id":{"eq":1}}]}"#;
        let either = utf8_percent_encode(either, NON_ALPHANUMERIC);
        let found = names(&format!("filter={either}")).await;
        assert!(found.contains("bert") && !found.contains("ana"), "{list}: {found}");
        // By text, one row a page. Capitals come first.
        let mut sorted = match list {
            "origins" => vec!["ana", "bert", "cleo"],
            _ => vec!["bert", "cleo", "ana"],
        };
        if list == "keys" {
            sorted.push("test");
        }
        let mut cursor = String::new();
        for expected in sorted {
            let one = page(&site, list, &format!("sort={column},-id&limit=1{cursor}")).await;
            assert!(values(&one, column)[0].contains(expected), "{list}: {expected}, {one}");
            cursor = format!("&cursor={}", one["meta"]["next"].as_str().unwrap_or_default());
        }
        assert_eq!(cursor, "&cursor=", "{list}: that was all");
        if !["user_groups", "formfunnel/list"].contains(&list) {
            assert_eq!(names("filter[active]=false").await, "ana", "{list}");
        }
        let first = page(&site, list, "sort=-created_at&limit=2&count=true").await;
        assert_eq!(first["data"].as_array().map(Vec::len), Some(2), "{list}");
        let total = first["meta"]["total"].as_i64().unwrap();
        assert_eq!(total, if list == "keys" { 4 } else { 3 }, "{list}");
        let next = first["meta"]["next"].as_str().unwrap();
        let second = page(&site, list, &format!("sort=-created_at&cursor={next}")).await;
        assert_eq!(second["data"].as_array().map(Vec::len), Some(total as usize - 2), "{list}");
        let line = format!("GET /api/backend/{list}?cursor={next}");
        site.admin(&line).refused(400, "bad_query").await;
    }
}

#[tokio::test]
async fn rows_without_a_value_are_sorted_and_paged() {
    let site = filled().await;
    for (list, column) in
        [("users", "last_login_at"), ("keys", "expires_on"), ("webhooks", "disabled_reason")]
    {
        for sort in [column.to_owned(), format!("-{column}")] {
            let (mut ids, mut cursor) = (Vec::new(), String::new());
            loop {
                let one = page(&site, list, &format!("sort={sort}&limit=1{cursor}")).await;
                ids.extend(one["data"][0]["id"].as_i64());
                let Some(next) = one["meta"]["next"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            ids.sort_unstable();
            let all = if list == "keys" { 4 } else { 3 };
            assert_eq!(ids, (1..=all).collect::<Vec<_>>(), "{list} by {sort}");
        }
    }
}

#[tokio::test]
async fn what_a_list_does_not_have_is_refused_with_what_it_has() {
    let site = filled().await;
    for (list, query, hint) in [
        ("users", "filter[password]=x", "The list of users has no column \"password\"; it has id"),
        ("users", "filter[name_key]=ana", "no column \"name_key\""),
        ("keys", "sort=hash", "no column \"hash\""),
        ("webhooks", "filter[secret][contains]=w", "no column \"secret\""),
        ("webhooks", "filter[active]=maybe", "filter[active]"),
        ("user_groups", "filter[created_at][gte]=yesterday", "a date-time such as"),
        ("origins", "filter[id][like]=1", "no operator \"like\""),
        ("origins", "limt=5", "There is no parameter \"limt\"; there are id, limit"),
        ("origins", "id=1&limt=5", "There is no parameter \"limt\""),
        ("users", "user=ana", "there are id, username, limit"),
        ("users", "filter[active=1", "There is no parameter \"filter[active\""),
        ("origins", "fields=id", "There is no parameter \"fields\""),
        ("origins", "id=1&filter[active]=false", "send either"),
        ("users", "username=ana&search=bert", "send either"),
        ("formfunnel/list", "filter[settings_json]=x", "no column \"settings_json\""),
        ("formfunnel/list", "id=1", "there are language, status, limit"),
    ] {
        let line = format!("GET /api/backend/{list}?{query}");
        let refused = site.admin(&line).refused(400, "bad_query").await;
        let detail = refused.json()["detail"].as_str().unwrap_or_default().to_owned();
        assert!(detail.contains(hint), "{list}?{query}: {detail}");
    }
}

/// A row of a key may bind a filter: then nothing else is listed, and nothing by its id.
#[tokio::test]
async fn a_key_may_be_bound_to_some_rows() {
    let site = filled().await;
    let key = site.key(&["GET /api/backend/webhooks?filter[active]=true"]).await;
    let listed = site.ask("GET /api/backend/webhooks?filter[active]=true").key(&key);
    assert_eq!(values(&listed.expect(200).await.json(), "name"), ["cleo", "bert"]);
    for (query, status, code) in [
        ("", 401, "api_key_forbidden"),
        ("?filter[active]=false", 401, "api_key_forbidden"),
        ("?id=2", 401, "api_key_forbidden"),
        ("?filter[active]=true&id=2", 400, "bad_query"),
    ] {
        let line = format!("GET /api/backend/webhooks{query}");
        site.ask(&line).key(&key).refused(status, code).await;
    }
}
