//! Lists of users, groups, keys, origins, webhooks, funnels, events and people to assign: rows
//! chosen and sorted as records are. Any list counts its rows.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use crate::support::{Site, each, people::PASSWORD, plugins::table, with};

/// Three rows of each, made in this order at different times.
async fn filled() -> Site {
    let site = Site::open().await;
    for (n, name) in ["Cleo", "ana", "Bert"].into_iter().enumerate() {
        let hook = format!("https://1.1.1.{n}/hooks");
        for (list, new) in [
            ("user_groups", json!({"name": format!("{name}s")})),
            ("users", json!({"username": name, "password": PASSWORD, "groups": [1]})),
            ("keys", json!({"name": name, "rights": []})),
            ("origins", json!({"origin": format!("https://{}.example.org", name.to_lowercase())})),
            ("webhooks", json!({"name": name, "url": hook, "events": ["*"]})),
            ("formfunnel/create", json!({"name": name})),
        ] {
            let has_state = !["user_groups", "formfunnel/create"].contains(&list);
            let active = if has_state { json!({"active": n != 1}) } else { json!({}) };
            site.create(&format!("/api/backend/{list}"), with(new, active)).await;
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
    let audit = page(&site, "audit", "limit=1").await;
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
        let late = "filter[created_at][gte]=2026-11-21T09:31:00Z&sort=-created_at";
        assert_eq!(names(late).await, "bert ana", "{list}");
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
        for foreign in ["nope", next, audit["meta"]["next"].as_str().unwrap()] {
            let line = format!("GET /api/backend/{list}?cursor={foreign}");
            site.admin(&line).refused(400, "bad_query").await;
        }
        let paged = site.pages(&format!("/api/backend/{list}?limit=2")).await;
        let ids: Vec<_> = paged.iter().flat_map(|page| each(page, "id")).collect();
        assert_eq!(ids, (1..=total).collect::<Vec<_>>(), "{list}");
    }
}

#[tokio::test]
async fn rows_without_a_value_are_sorted_and_paged() {
    let site = filled().await;
    for (list, column) in
        [("users", "last_login_at"), ("keys", "expires_on"), ("webhooks", "disabled_reason")]
    {
        for sort in [column.to_owned(), format!("-{column}")] {
            let pages = site.pages(&format!("/api/backend/{list}?sort={sort}&limit=1")).await;
            let mut ids: Vec<_> = pages.iter().filter_map(|page| page[0]["id"].as_i64()).collect();
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
        ("origins", "id=1&filter[active]=false", "send only one of them"),
        ("users", "username=ana&search=bert", "send only one of them"),
        ("formfunnel/list", "filter[settings_json]=x", "no column \"settings_json\""),
        ("formfunnel/list", "id=1", "there are language, status, limit"),
        ("formfunnel/assignable_users", "id=1", "there are limit, cursor"),
        ("formfunnel/assignable_users", "sort=last_login_at", "no column \"last_login_at\""),
        ("webhooks/events", "nam=x", "there are name, limit"),
        ("webhooks/events", "filter[schema]=x", "no column \"schema\"; it has id, plugin_id"),
        ("webhooks/events", "name=page.published&search=page", "send only one of them"),
    ] {
        let line = format!("GET /api/backend/{list}?{query}");
        let refused = site.admin(&line).refused(400, "bad_query").await.json();
        assert!(refused["detail"].as_str().unwrap().contains(hint), "{line}: {refused}");
    }
}

#[tokio::test]
async fn events_are_chosen_sorted_and_searched() {
    let site = Site::open().await;
    for (query, expected) in [
        ("filter[event_name]=page.published", "page.published"),
        ("filter[event_name][starts_with]=media.&sort=-event_name", "media.uploaded media.deleted"),
        ("search=A%20FILE%20WAS&sort=event_name", "media.deleted media.uploaded"),
        (
            "filter[content_table]=redirects&sort=event_name",
            "item.redirects.created item.redirects.deleted item.redirects.updated",
        ),
        ("filter[event_type]=auto&filter[content_table][null]=true", ""),
        ("filter[plugin_id]=nobody", ""),
    ] {
        let found = values(&page(&site, "webhooks/events", query).await, "event_name").join(" ");
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn people_to_assign_are_chosen_sorted_and_searched() {
    let site = Site::open().await;
    for (name, rights) in [
        ("cleo", json!(["formfunnel_inbox_view"])),
        ("ana", json!("0")),
        ("bert", json!(["formfunnel_inbox_edit"])),
        ("anabel", json!(["formfunnel_inbox_view"])),
        ("dan", json!([])),
    ] {
        site.person(name, rights).await;
    }
    let list = "formfunnel/assignable_users";
    let off = json!({"active": false});
    site.patch("/api/backend/users?id=4", off).await;
    for (query, expected) in [
        ("", "cleo ana"),
        ("sort=username", "ana cleo"),
        ("sort=-username&limit=1", "cleo"),
        ("limit=1", "cleo"),
        ("search=LE", "cleo"),
        ("search=bert", ""),
        ("filter[username][starts_with]=an", "ana"),
        ("filter[active]=false", ""),
    ] {
        let found = values(&page(&site, list, query).await, "username").join(" ");
        assert_eq!(found, expected, "{query}");
    }
    let first = page(&site, list, "sort=username&limit=1&count=true").await;
    assert_eq!(first["meta"]["total"], 2);
    assert_eq!(first["data"], json!([{"id": 2, "username": "ana"}]));
    let next = first["meta"]["next"].as_str().unwrap();
    let last = page(&site, list, &format!("sort=username&cursor={next}")).await;
    assert_eq!(values(&last, "username"), ["cleo"]);
}

/// Lists that take no parameters of a page.
const WHOLE: [&str; 7] = [
    "formfunnel/email_routings?funnel_id=1",
    "formfunnel/field_types",
    "formfunnel/views",
    "mail/providers",
    "pagebuilder/diff?page_id=1",
    "plugins/buttons?plugin=menu",
    "plugins/diff",
];

#[tokio::test]
async fn short_lists_are_one_page() {
    let plugin = json!({
        "id": "menu", "name": "Menu", "version": "1.0.0",
        "tables": [table("dishes", "title text")],
        "content_button": [{"button_id": "list", "type": "edit",
                            "editable_rows": [{"column": "title", "type": "text"}]}],
    });
    let site = Site::builder().await.plugin(plugin).open().await;
    site.create("/api/backend/formfunnel/create", json!({"name": "Leads"})).await;
    let page = json!({"url_rewrite": "/first", "title": "First", "view": "first"});
    site.create("/api/backend/item/pages", page).await;
    site.post("/api/backend/pagebuilder/publish", json!({"page_id": 1})).await;
    for list in WHOLE {
        let line = format!("GET /api/backend/{list}");
        let shown = site.admin(&line).expect(200).await.json();
        let (rows, meta) = (shown["data"].as_array().expect(list).len(), &shown["meta"]);
        assert!(meta["limit"].as_u64() >= Some(rows as u64), "{list}: {shown}");
        assert_eq!(meta.get("next"), Some(&Json::Null), "{list}");
    }
}

/// Logs, lists in memory and public pages too.
#[tokio::test]
async fn every_list_counts_its_rows_when_that_is_asked() {
    let site = filled().await;
    let first = json!({"id": 1, "language_short": "en", "url_rewrite": "/a", "title": "A"});
    site.admin("POST /api/backend/item?table=pages").json(first).expect(201).await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let mut lists = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let operation = &operations["get"];
        let json = "/responses/200/content/application~1json/schema/properties/meta";
        let parameters = operation["parameters"].as_array();
        let list = path.strip_prefix("/api/backend/");
        let is_whole = WHOLE.iter().any(|whole| whole.split('?').next() == list);
        if operation.pointer(json).is_none() || is_whole {
            continue;
        }
        let asked = |one: &&Json| one["in"] == "query" && one["required"] == true;
        let needed = parameters.into_iter().flatten().filter(asked);
        let needed: String =
            needed.map(|one| format!("&{}=1", one["name"].as_str().unwrap())).collect();
        let line = format!("GET {}?limit=", path.replace("{id}", "1"));
        let counted = site.admin(&format!("{line}1&count=true{needed}")).expect(200).await.json();
        let whole = site.admin(&format!("{line}500{needed}")).expect(200).await.json();
        let rows = whole["data"].as_array().expect(path).len();
        assert_eq!(counted["meta"]["total"].as_u64(), Some(rows as u64), "{path}");
        assert_eq!(counted["data"].as_array().unwrap().len(), rows.min(1), "{path}");
        assert!(whole["meta"].get("total").is_none(), "{path}");
        lists.push((path.strip_prefix("/api/").unwrap_or(path), rows));
    }
    let wanted = "pages backend/audit backend/loginattempts backend/forms/submissions \
                  backend/keys/endpoints backend/mail/log backend/pagebuilder/revisions \
                  backend/permissions backend/plugins backend/tables backend/tasks \
                  backend/tasks/history backend/users/sessions/{id} backend/webhooks/deliveries \
                  backend/webhooks/messages backend/webhooks/queue";
    for wanted in wanted.split(' ') {
        assert!(lists.iter().any(|(path, _)| *path == wanted), "{wanted}: {lists:?}");
    }
    let filled = lists.iter().filter(|(_, rows)| *rows > 1).count();
    assert!(filled > 9, "{lists:?}");
}

/// Logs count what their own filters choose.
#[tokio::test]
async fn logs_count_what_their_filters_choose() {
    let site = filled().await;
    for (query, expected) in [
        ("audit?table=users", 3),
        ("audit?table=users,origins", 6),
        ("audit?table=users,origins&until=2026-11-21T09:31:00Z", 2),
        ("audit?table=users&id=2", 1),
        ("audit?actor=operator&table=users", 0),
        ("webhooks/messages?event=nothing.*", 0),
        ("webhooks/deliveries?status=failed", 0),
    ] {
        let and = if query.contains('?') { '&' } else { '?' };
        let line = format!("GET /api/backend/{query}{and}limit=1&count=true");
        let counted = site.admin(&line).expect(200).await.json();
        assert_eq!(counted["meta"]["total"], expected, "{query}");
    }
    for wrong in ["audit?count=maybe", "webhooks/queue?count=", "tasks?count=2"] {
        site.admin(&format!("GET /api/backend/{wrong}")).refused(400, "bad_query").await;
    }
}

/// Many programs send the last second of the year 9999 for "never".
#[tokio::test]
async fn times_may_be_the_last_ones() {
    let site = filled().await;
    let last = "9999-12-31T23:59:59Z";
    for log in
        ["audit", "mail/log", "forms/submissions", "webhooks/deliveries", "webhooks/messages"]
    {
        let found = page(&site, log, &format!("since={last}")).await;
        assert_eq!(found["data"], json!([]), "{log}");
    }
    let all = page(&site, "audit", &format!("until={last}&limit=1")).await;
    assert_eq!(all["data"].as_array().map(Vec::len), Some(1));
    for (op, expected) in [("lte", 3), ("gt", 0)] {
        let found = page(&site, "users", &format!("filter[created_at][{op}]={last}")).await;
        assert_eq!(found["data"].as_array().map(Vec::len), Some(expected), "{op}");
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
