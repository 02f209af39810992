//! Reading and writing items through the API.

use serde_json::{Value as Json, json};

use crate::support::{Reply, Site};

/// A blog with authors, in several languages.
fn blog() -> Json {
    json!({"id": "blog", "tables": [
        {"name": "authors", "columns": [{"name": "name", "type": "text", "required": true}, {"name": "email", "type": "text", "unique": true}]},
        {"name": "blog", "multilanguage": true, "columns": [
            {"name": "title", "type": "text", "required": true},
            {"name": "rating", "type": "decimal"},
            {"name": "published_at", "type": "datetime"},
            {"name": "tags", "type": "json"},
            {"name": "author_id", "type": "integer", "references": "authors"},
        ]},
        {"name": "guarded", "require_if_match": true, "columns": [{"name": "title", "type": "text"}, {"name": "tags", "type": "json"}]},
    ]})
}

async fn site() -> Site {
    Site::builder().await.plugin(blog()).open().await
}

async fn create(site: &Site, table: &str, body: Json) -> Json {
    site.admin(&format!("POST /api/backend/item?table={table}")).json(body).expect(201).await.data()
}

fn ids(reply: &Reply) -> Vec<i64> {
    reply.data().as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn a_record_lives_and_leaves_its_traces() {
    let site = site().await;
    let author = create(&site, "authors", json!({"name": "Ada", "email": "ada@example.org"})).await;
    assert_eq!(author, json!({"id": 1, "name": "Ada", "email": "ada@example.org"}));
    let read = site.admin("GET /api/backend/item?table=authors&id=1").expect(200).await;
    assert_eq!(read.text(), r#"{"data":{"id":1,"name":"Ada","email":"ada@example.org"}}"#);
    let etag = read.header("etag").to_owned();
    site.admin("GET /api/backend/item?table=authors&id=1")
        .header("if-none-match", &etag)
        .expect(304)
        .await;

    let patched = site
        .admin("PATCH /api/backend/item?table=authors&id=1")
        .json(json!({"name": "Ada L."}))
        .expect(200)
        .await;
    assert_ne!(patched.header("etag"), etag);
    site.admin("DELETE /api/backend/item?table=authors&id=1").expect(204).await;
    site.admin("GET /api/backend/item?table=authors&id=1").refused(404, "not_found").await;
    site.admin("DELETE /api/backend/item?table=authors&id=1").refused(404, "not_found").await;

    let audit = site.admin("GET /api/backend/audit").expect(200).await.data();
    let acts: Vec<_> = audit
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["table"] == "authors" && row["action"] != "install")
        .collect();
    assert_eq!(acts.len(), 3);
    assert_eq!(acts[0]["action"], "delete");
    assert_eq!(acts[1]["columns"], json!(["name"]));
    assert_eq!(acts[2]["actor"], json!({"kind": "key", "id": 1, "name": "test"}));
    assert_eq!(acts[2]["created_at"], "2026-11-21T09:30:00Z");
    for (event, count) in
        [("item.authors.created", 1), ("item.authors.updated", 1), ("item.authors.deleted", 1)]
    {
        assert_eq!(
            site.database
                .count(&format!("select count(*) from cms_events where name = '{event}'"))
                .await,
            count,
            "{event}"
        );
    }
    let bodies = "select count(*) from cms_events where name = 'item.authors.updated' and body like '%\"changed\":[\"name\"]%' \
                  and body like '%\"created_at\":\"2026-11-21T09:30:00Z\"%' and body like '%\"record\":{\"email\":\"ada@example.org\",\"id\":1,\"name\":\"Ada L.\"}%'";
    assert_eq!(site.database.count(bodies).await, 1);
    assert_eq!(
        site.database.count("select count(*) from cms_events where name = 'item.authors.deleted' and body like '%Ada L.%'").await,
        1
    );
}

#[tokio::test]
async fn a_batch_is_written_whole_or_not_at_all() {
    let site = site().await;
    let rows = json!([{"name": "A"}, {"name": "B", "email": "b@example.org"}, {"name": "C"}]);
    let created = site.admin("POST /api/backend/item?table=authors").json(rows).expect(201).await;
    assert_eq!(ids(&created), [1, 2, 3]);
    let before = site.traces().await;
    let rows = json!([{"name": "D"}, {"name": "E", "email": "b@example.org"}]);
    let refused = site
        .admin("POST /api/backend/item?table=authors")
        .json(rows)
        .refused(409, "conflict")
        .await;
    assert!(refused.json()["detail"].as_str().unwrap().starts_with("Entry 1: "));
    let rows = json!([{"name": "D"}, {"email": 5}]);
    let refused = site
        .admin("POST /api/backend/item?table=authors")
        .json(rows)
        .refused(422, "validation_failed")
        .await;
    assert_eq!(refused.json()["errors"][0]["field"], "[1].name");
    assert_eq!(site.traces().await, before);
    assert_eq!(site.database.count("select count(*) from authors").await, 3);
}

#[tokio::test]
async fn filters_find_what_they_say() {
    let site = site().await;
    let rows = json!([
        {"title": "Äpfel", "rating": "1.5", "published_at": "2026-01-01T00:00:00Z", "tags": ["a"]},
        {"title": "apple Pie", "rating": 10, "published_at": "2026-01-01T00:00:00.5Z"},
        {"title": "Zebra", "rating": null, "published_at": null, "tags": {"x": 1}},
        {"title": "100%_sure", "rating": "2.25"},
        {"title": "apple", "rating": -3, "published_at": "2025-12-31T23:59:59Z"},
    ]);
    site.admin("POST /api/backend/item?table=blog").json(rows).expect(201).await;
    for (filter, expected) in [
        ("filter[title][eq]=apple", vec![5]),
        ("filter[title]=apple", vec![5]),
        ("filter[title][ne]=apple", vec![1, 2, 3, 4]),
        ("filter[title][contains]=APPLE", vec![2, 5]),
        ("filter[title][contains]=%25_", vec![4]),
        ("filter[title][contains]=%C3%A4", vec![]),
        ("filter[title][starts_with]=apple", vec![2, 5]),
        ("filter[title][starts_with]=Apple", vec![]),
        ("filter[title][ends_with]=Pie", vec![2]),
        ("filter[title][ends_with]=%C3%84pfel", vec![1]),
        ("filter[title][ends_with]=longer%20than%20all%20of%20them", vec![]),
        ("filter[title][gt]=apple", vec![1, 2]),
        ("filter[title][in]=apple,Zebra", vec![3, 5]),
        ("filter[title][nin]=apple,Zebra", vec![1, 2, 4]),
        ("filter[rating][eq]=1.50", vec![1]),
        ("filter[rating][gt]=2", vec![2, 4]),
        ("filter[rating][lte]=1.5", vec![1, 5]),
        ("filter[rating][ne]=10", vec![1, 3, 4, 5]),
        ("filter[rating][null]=true", vec![3]),
        ("filter[rating][null]=false", vec![1, 2, 4, 5]),
        ("filter[rating][in]=10,-3", vec![2, 5]),
        ("filter[published_at][eq]=2026-01-01T01:00:00%2B01:00", vec![1]),
        ("filter[published_at][gt]=2026-01-01T00:00:00Z", vec![2]),
        ("filter[published_at][lt]=2026-01-01", vec![5]),
        ("filter[published_at][null]=true", vec![3, 4]),
        ("filter[id][gte]=4", vec![4, 5]),
        ("filter[rating][gt]=0&filter[title][contains]=p", vec![1, 2]),
        ("search=PIE", vec![2]),
        ("search=apple&filter[id][lt]=5", vec![2]),
        ("language=en&filter[id]=2", vec![2]),
        ("language=de", vec![]),
    ] {
        let reply = site
            .admin(&format!("GET /api/backend/item?table=blog&count=true&{filter}"))
            .expect(200)
            .await;
        assert_eq!(ids(&reply), expected, "{filter}");
        assert_eq!(reply.json()["meta"]["total"], expected.len(), "{filter}");
    }
}

#[tokio::test]
async fn every_order_pages_through_all_rows_once() {
    let site = site().await;
    let rows: Vec<_> = (0..23)
        .map(|i| {
            json!({
                "title": (["b", "a", "ä", "B", ""][i % 5]),
                "rating": if i % 4 == 0 { Json::Null } else { json!(f64::from(i as u32 % 3) + 0.1) },
                "published_at": if i % 7 == 0 { Json::Null } else { json!(format!("2026-01-{:02}T00:00:00Z", i % 3 + 1)) },
            })
        })
        .collect();
    site.admin("POST /api/backend/item?table=blog").json(json!(rows)).expect(201).await;
    for sort in [
        "id",
        "-id",
        "title",
        "-title",
        "rating,-title",
        "-rating",
        "-published_at,rating",
        "published_at,-rating,title",
        "language_short",
    ] {
        let whole = ids(&site
            .admin(&format!("GET /api/backend/item?table=blog&sort={sort}"))
            .expect(200)
            .await);
        let mut sorted = whole.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=23).collect::<Vec<_>>(), "{sort}");
        for limit in [1, 4, 22, 23] {
            let (mut found, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = site
                    .admin(&format!(
                        "GET /api/backend/item?table=blog&sort={sort}&limit={limit}{cursor}"
                    ))
                    .expect(200)
                    .await;
                found.extend(ids(&page));
                match page.json()["meta"]["next"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => break,
                }
            }
            assert_eq!(found, whole, "{sort} by {limit}");
        }
        let skipped = ids(&site
            .admin(&format!("GET /api/backend/item?table=blog&sort={sort}&offset=20"))
            .expect(200)
            .await);
        assert_eq!(skipped, whole[20..], "{sort}");
    }
    let titles = site
        .admin("GET /api/backend/item?table=blog&sort=title&fields=title&limit=500")
        .expect(200)
        .await
        .data();
    let titles: Vec<_> = titles
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["title"].as_str().unwrap().to_owned())
        .collect();
    assert!(titles.is_sorted(), "text is sorted by code point: {titles:?}");
    let last = site
        .admin("GET /api/backend/item?table=blog&sort=-rating&limit=500")
        .expect(200)
        .await
        .data();
    assert!(
        last.as_array().unwrap()[17..].iter().all(|row| row["rating"].is_null()),
        "nulls come last"
    );
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused() {
    let site = site().await;
    site.admin("POST /api/backend/item?table=blog")
        .json(json!([{"title": "a"}, {"title": "b"}, {"title": "c"}]))
        .expect(201)
        .await;
    let page = site.admin("GET /api/backend/item?table=blog&limit=1&sort=title").expect(200).await;
    let cursor = page.json()["meta"]["next"].as_str().unwrap().to_owned();
    site.admin(&format!("GET /api/backend/item?table=blog&limit=2&sort=title&cursor={cursor}"))
        .expect(200)
        .await;
    for other in [
        "table=blog&sort=-title",
        "table=blog",
        "table=authors&sort=name",
        "table=blog&sort=title&filter[title]=a",
    ] {
        site.admin(&format!("GET /api/backend/item?{other}&cursor={cursor}"))
            .refused(400, "bad_query")
            .await;
    }
    for cursor in ["x", "AAAA", "", "W10", &cursor[1..]] {
        site.admin(&format!("GET /api/backend/item?table=blog&sort=title&cursor={cursor}"))
            .refused(400, "bad_query")
            .await;
    }
}

#[tokio::test]
async fn versions_of_a_record_share_its_base() {
    let site = site().await;
    let english = create(&site, "blog", json!({"title": "Bicycle"})).await;
    assert_eq!((&english["base_id"], &english["language_short"]), (&json!(1), &json!("en")));
    let german =
        create(&site, "blog", json!({"title": "Fahrrad", "base_id": 1, "language_short": "de"}))
            .await;
    assert_eq!(german["id"], 2);
    for (id, language, title) in
        [(1, "de", "Fahrrad"), (2, "de", "Fahrrad"), (2, "en", "Bicycle"), (1, "en", "Bicycle")]
    {
        let read = site
            .admin(&format!("GET /api/backend/item?table=blog&id={id}&language={language}"))
            .expect(200)
            .await;
        assert_eq!(read.data()["title"], title);
    }
    site.admin("GET /api/backend/item?table=blog&id=1&language=fr").refused(404, "not_found").await;
    site.admin("GET /api/backend/item?table=authors&id=1&language=de")
        .refused(400, "bad_query")
        .await;
    let twice = json!({"title": "x", "base_id": 1, "language_short": "de"});
    site.admin("POST /api/backend/item?table=blog").json(twice).refused(409, "conflict").await;
    let patched = site
        .admin("PATCH /api/backend/item?table=blog&id=1&language=de")
        .json(json!({"title": "Rad"}))
        .expect(200)
        .await;
    assert_eq!((&patched.data()["id"], &patched.data()["title"]), (&json!(2), &json!("Rad")));
    site.admin("DELETE /api/backend/item?table=blog&id=1&language=de").expect(204).await;
    site.admin("GET /api/backend/item?table=blog&id=1").expect(200).await;
    assert_eq!(
        site.database
            .count("select count(*) from cms_events where body like '%\"language\":\"de\"%'")
            .await,
        3
    );
}

#[tokio::test]
async fn references_are_replaced_by_what_they_name() {
    let site = site().await;
    create(&site, "authors", json!({"name": "Ada"})).await;
    create(&site, "blog", json!({"title": "a", "author_id": 1})).await;
    create(&site, "blog", json!({"title": "b"})).await;
    let one = site
        .admin("GET /api/backend/item?table=blog&id=1&fields=title,author_id&expand=author_id")
        .expect(200)
        .await;
    assert_eq!(
        one.text(),
        r#"{"data":{"title":"a","author_id":{"id":1,"name":"Ada","email":null}}}"#
    );
    let list = site
        .admin("GET /api/backend/item?table=blog&expand=author_id&sort=id")
        .expect(200)
        .await
        .data();
    assert_eq!(
        (&list[0]["author_id"]["name"], &list[1]["author_id"]),
        (&json!("Ada"), &json!(null))
    );
    let narrow = site.key(&["GET /api/backend/item?table=blog"]).await;
    let refused = site.ask("GET /api/backend/item?table=blog&expand=author_id").key(&narrow);
    refused.refused(401, "api_key_forbidden").await;
    for bad in ["title", "nothing"] {
        site.admin(&format!("GET /api/backend/item?table=blog&expand={bad}"))
            .refused(400, "bad_query")
            .await;
    }
    site.admin("DELETE /api/backend/item?table=authors&id=1").refused(409, "conflict").await;
    site.admin("POST /api/backend/item?table=blog")
        .json(json!({"title": "c", "author_id": 99}))
        .refused(409, "conflict")
        .await;
}

#[tokio::test]
async fn a_stale_change_is_refused() {
    let site = site().await;
    create(&site, "authors", json!({"name": "Ada"})).await;
    let etag = site
        .admin("GET /api/backend/item?table=authors&id=1")
        .expect(200)
        .await
        .header("etag")
        .to_owned();
    let patch = |tag: &str, name: &str| {
        site.admin("PATCH /api/backend/item?table=authors&id=1")
            .header("if-match", tag)
            .json(json!({"name": name}))
    };
    let second = patch(&etag, "B").expect(200).await.header("etag").to_owned();
    let before = site.traces().await;
    patch(&etag, "C").refused(412, "stale").await;
    site.admin("DELETE /api/backend/item?table=authors&id=1")
        .header("if-match", &etag)
        .refused(412, "stale")
        .await;
    patch(&format!("W/{second}"), "C").refused(412, "stale").await;
    assert_eq!(site.traces().await, before);
    patch(&format!("\"x\", {second}"), "D").expect(200).await;
    patch("*", "E").expect(200).await;

    create(&site, "guarded", json!({"title": "a"})).await;
    site.admin("PATCH /api/backend/item?table=guarded&id=1")
        .json(json!({"title": "b"}))
        .refused(428, "precondition_required")
        .await;
    site.admin("DELETE /api/backend/item?table=guarded&id=1")
        .header("if-match", "*")
        .expect(204)
        .await;

    let checklist = |id: i64| {
        let body = json!({"table": "guarded", "column": "tags", "id": id, "add": ["x"]});
        site.admin("POST /api/backend/actions/checklist").json(body)
    };
    let created = site
        .admin("POST /api/backend/item?table=guarded")
        .json(json!({"title": "a"}))
        .expect(201)
        .await;
    let etag = created.header("etag").to_owned();
    checklist(2).refused(428, "precondition_required").await;
    checklist(2).header("if-match", "\"x\"").refused(412, "stale").await;
    checklist(2).header("if-match", &etag).expect(200).await;
    checklist(2).header("if-match", &etag).refused(412, "stale").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_writers_at_once_one_wins() {
    let site = site().await;
    create(&site, "authors", json!({"name": "Ada"})).await;
    let etag = site
        .admin("GET /api/backend/item?table=authors&id=1")
        .expect(200)
        .await
        .header("etag")
        .to_owned();
    let writers = (0..8).map(|i| {
        site.admin("PATCH /api/backend/item?table=authors&id=1")
            .header("if-match", &etag)
            .json(json!({"name": format!("w{i}")}))
            .send()
    });
    let replies = futures_util::future::join_all(writers).await;
    let mut statuses: Vec<_> = replies.iter().map(|reply| reply.status.as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
    assert_eq!(
        site.database
            .count("select count(*) from cms_events where name = 'item.authors.updated'")
            .await,
        1
    );
}

#[tokio::test]
async fn checklists_change_as_one_step() {
    let site = site().await;
    create(&site, "blog", json!({"title": "a", "tags": ["x"]})).await;
    let apply = |body: Json| site.admin("POST /api/backend/actions/checklist").json(body);
    let change =
        json!({"table": "blog", "column": "tags", "id": 1, "add": ["y", "x"], "remove": ["z"]});
    assert_eq!(apply(change).expect(200).await.text(), r#"{"data":["x","y"]}"#);
    let change = json!({"table": "blog", "column": "tags", "id": "1", "value": [1, {"a": 2}]});
    assert_eq!(apply(change).expect(200).await.text(), r#"{"data":[1,{"a":2}]}"#);
    for (body, status, code) in [
        (
            json!({"table": "blog", "column": "title", "id": 1, "add": ["y"]}),
            422,
            "validation_failed",
        ),
        (json!({"table": "blog", "column": "nope", "id": 1, "add": ["y"]}), 400, "database_error"),
        (json!({"table": "blog", "column": "tags", "id": 9, "add": ["y"]}), 404, "not_found"),
        (
            json!({"table": "api_keys", "column": "rights", "id": 1, "add": ["*"]}),
            404,
            "unknown_table",
        ),
        (json!({"table": "blog", "column": "tags"}), 422, "validation_failed"),
        (
            json!({"table": "blog", "column": "tags", "id": 1, "add": ["y"], "value": []}),
            422,
            "validation_failed",
        ),
    ] {
        apply(body).refused(status, code).await;
    }
    let narrow = site.key(&["POST /api/backend/actions/checklist?table=authors"]).await;
    let body = json!({"table": "blog", "column": "tags", "id": 1, "add": ["y"]});
    site.ask("POST /api/backend/actions/checklist")
        .key(&narrow)
        .json(body)
        .refused(401, "api_key_forbidden")
        .await;
    assert_eq!(
        site.database
            .count("select count(*) from cms_events where name = 'item.blog.updated'")
            .await,
        2
    );
}

#[tokio::test]
async fn rows_with_ids_of_their_own_leave_the_counter_ahead() {
    let site = site().await;
    create(&site, "authors", json!({"id": 41, "name": "a"})).await;
    assert_eq!(create(&site, "authors", json!({"name": "b"})).await["id"], 42);
    create(&site, "authors", json!({"id": 7, "name": "c"})).await;
    assert_eq!(create(&site, "authors", json!({"name": "d"})).await["id"], 43);
    site.admin("POST /api/backend/item?table=authors")
        .json(json!({"id": 41, "name": "e"}))
        .refused(409, "conflict")
        .await;
    site.admin("DELETE /api/backend/item?table=authors&id=43").expect(204).await;
    assert_eq!(
        create(&site, "authors", json!({"name": "f"})).await["id"],
        44,
        "an id is never given twice"
    );
}

#[tokio::test]
async fn an_array_hides_no_table_from_the_rights() {
    let site = site().await;
    create(&site, "blog", json!({"title": "a", "tags": ["x"]})).await;
    let narrow = site.key(&["POST /api/backend/actions/checklist?table=authors"]).await;
    for (line, body) in [
        (
            "POST /api/backend/actions/checklist?table=authors",
            json!(["blog", "tags", 1, ["y"], [], null]),
        ),
        ("POST /api/backend/actions/checklist", json!(["authors", "tags", 1])),
        (
            "POST /api/backend/actions/checklist?table=authors",
            json!({"table": "blog", "column": "tags", "id": 1, "add": ["y"]}),
        ),
    ] {
        let reply = site.ask(line).key(&narrow).json(body).send().await;
        assert!([400, 401].contains(&reply.status.as_u16()), "{line}: {}", reply.text());
    }
    site.admin("POST /api/backend/keys")
        .json(json!(["name", null, true, []]))
        .refused(400, "bad_json")
        .await;
    let tags = site.admin("GET /api/backend/item?table=blog&id=1&fields=tags").expect(200).await;
    assert_eq!(tags.data()["tags"], json!(["x"]));
    // Without a row for the action its body is not even read.
    let other = site.key(&["GET /api/pages"]).await;
    site.ask("POST /api/backend/actions/checklist")
        .key(&other)
        .body("{")
        .refused(401, "api_key_forbidden")
        .await;
}

#[tokio::test]
async fn filters_that_rights_demand_hold_for_one_record_too() {
    let site = site().await;
    site.admin("POST /api/backend/item?table=settings")
        .json(json!([{"name": "open", "public": true}, {"name": "closed"}]))
        .expect(201)
        .await;
    let key = site.key(&["GET /api/backend/item?table=settings&filter[public]=true"]).await;
    let get = |rest: &str| {
        site.ask(&format!("GET /api/backend/item?table=settings&filter[public]=true{rest}"))
            .key(&key)
    };
    get("&id=open").expect(200).await;
    get("&id=closed").refused(404, "not_found").await;
    get("&id=open&search=nothing").refused(404, "not_found").await;
}

#[tokio::test]
async fn batches_and_ids_have_limits() {
    let site = site().await;
    let before = site.traces().await;
    let rows = json!(vec![json!({"name": "x"}); 1001]);
    site.admin("POST /api/backend/item?table=authors")
        .json(rows)
        .refused(422, "validation_failed")
        .await;
    for id in [9_007_199_254_740_992_i64, i64::MAX] {
        site.admin("POST /api/backend/item?table=authors")
            .json(json!({"id": id, "name": "x"}))
            .refused(422, "validation_failed")
            .await;
    }
    assert_eq!(site.traces().await, before);
    create(&site, "authors", json!({"name": "x"})).await;
}
