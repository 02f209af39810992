//! `/api/backend/item`: records of content tables.

mod batch;
mod bytes;
mod if_match;
mod list;
mod references;
mod values;

use serde_json::{Value as Json, json};

use crate::support::{
    Site, each,
    plugins::{columns, table},
    with,
};

/// A blog with authors, in several languages.
fn blog() -> Json {
    json!({"id": "blog", "tables": [
        table("authors", "name text required, email text unique"),
        {"name": "blog", "multilanguage": true, "columns": columns("title text required, \
            rating decimal, published_at datetime, tags json, \
            author_id integer references=authors")},
        {"name": "guarded", "require_if_match": true,
         "columns": columns("title text, tags json")},
    ]})
}

pub(crate) async fn site() -> Site {
    Site::builder().await.plugin(blog()).open().await
}

fn ids(list: &Json) -> Vec<i64> {
    list.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn a_record_lives_and_leaves_its_traces() {
    let site = site().await;
    let ada = json!({"id": 1, "name": "Ada", "email": "ada@example.org"});
    let new = json!({"name": "Ada", "email": "ada@example.org"});
    assert_eq!(site.insert("authors", new).await, ada);
    let one = "/api/backend/item?table=authors&id=1";
    let read = site.admin(&format!("GET {one}")).expect(200).await;
    assert_eq!(read.text(), r#"{"data":{"id":1,"name":"Ada","email":"ada@example.org"}}"#);
    let etag = read.header("etag").to_owned();
    site.admin(&format!("GET {one}")).header("if-none-match", &etag).expect(304).await;

    let patch = site.admin(&format!("PATCH {one}")).json(json!({"name": "Ada L."}));
    assert_ne!(patch.expect(200).await.header("etag"), etag);
    site.delete(one).await;
    for method in ["GET", "DELETE"] {
        site.admin(&format!("{method} {one}")).refused(404, "not_found").await;
    }

    let audit = site.get("/api/backend/audit?table=authors").await;
    assert_eq!(each(&audit, "action"), ["delete", "update", "create", "install"]);
    assert_eq!(audit[1]["columns"], json!(["name"]));
    assert_eq!(audit[2]["actor"], json!({"kind": "key", "id": 1, "name": "test"}));
    assert_eq!(audit[2]["created_at"], "2026-11-21T09:30:00Z");
    for (event, holds) in [
        ("created", ""),
        ("updated", ""),
        ("deleted", ""),
        (
            "updated",
            " and body like '%\"changed\":[\"name\"]%' \
             and body like '%\"created_at\":\"2026-11-21T09:30:00Z\"%' and body like \
             '%\"record\":{\"email\":\"ada@example.org\",\"id\":1,\"name\":\"Ada L.\"}%'",
        ),
        ("deleted", " and body like '%Ada L.%'"),
    ] {
        let events = format!("cms_events where name = 'item.authors.{event}'{holds}");
        assert_eq!(site.database.rows(&events).await, 1, "{events}");
    }
}

#[tokio::test]
async fn versions_of_a_record_share_its_base() {
    let site = site().await;
    let english = site.insert("blog", json!({"title": "Bicycle"})).await;
    assert_eq!((&english["base_id"], &english["language_short"]), (&json!(1), &json!("en")));
    let german = json!({"title": "Fahrrad", "base_id": 1, "language_short": "de"});
    assert_eq!(site.insert("blog", german).await["id"], 2);
    for (id, language, title) in
        [(1, "de", "Fahrrad"), (2, "de", "Fahrrad"), (2, "en", "Bicycle"), (1, "en", "Bicycle")]
    {
        let read = site.items(&format!("blog&id={id}&language={language}")).await;
        assert_eq!(read["title"], title, "{id} {language}");
    }
    let twice = json!({"title": "x", "base_id": 1, "language_short": "de"});
    for (line, status, code) in [
        ("GET /api/backend/item?table=blog&id=1&language=fr", 404, "not_found"),
        ("GET /api/backend/item?table=authors&id=1&language=de", 400, "bad_query"),
        ("POST /api/backend/item?table=blog", 409, "conflict"),
    ] {
        site.admin(line).json(twice.clone()).refused(status, code).await;
    }
    let patched = site.update("blog&id=1&language=de", json!({"title": "Rad"})).await;
    assert_eq!((&patched["id"], &patched["title"]), (&json!(2), &json!("Rad")));
    for renumbered in [
        json!({"id": 9}),
        json!({"id": 9, "base_id": null}),
        json!({"id": 9, "base_id": 1}),
        json!({"id": 9, "base_id": 7}),
    ] {
        let refused = site.admin("PATCH /api/backend/item?table=blog&id=1").json(renumbered);
        let refused = refused.refused(422, "validation_failed").await.json()["errors"][0].clone();
        assert_eq!((&refused["field"], &refused["code"]), (&json!("id"), &json!("refused")));
    }
    site.remove("blog&id=1&language=de").await;
    site.items("blog&id=1").await;
    let alone = site.update("blog&id=1", json!({"id": 9, "base_id": null})).await;
    assert_eq!((&alone["id"], &alone["base_id"]), (&json!(9), &json!(9)));
    let german = "cms_events where body like '%\"language\":\"de\"%'";
    assert_eq!(site.database.rows(german).await, 3);
}

#[tokio::test]
async fn versions_keep_the_name_of_a_base_that_is_gone() {
    let site = site().await;
    for (title, language) in [("Bicycle", "en"), ("Fahrrad", "de")] {
        let version = json!({"title": title, "base_id": (language == "de").then_some(1),
                             "language_short": language});
        site.insert("blog", version).await;
    }
    site.remove("blog&id=1").await;
    for id in [1, 2] {
        assert_eq!(site.items(&format!("blog&id={id}&language=de")).await["id"], 2, "{id}");
    }
    site.admin("GET /api/backend/item?table=blog&id=1").refused(404, "not_found").await;
    let again = json!({"title": "Bike", "base_id": 1, "language_short": "en"});
    let again = site.insert("blog", again).await["id"].clone();
    assert_eq!(site.items("blog&id=2&language=en").await["id"], again);
}

/// Rows 1 and 2 are versions of one record, 3 is another record.
#[tokio::test]
async fn a_version_names_a_record_and_no_version() {
    let site = site().await;
    let version = |base: Json, language: &str| {
        let members = json!({"base_id": base, "language_short": language});
        with(json!({"title": language}), members)
    };
    let german = version(json!(1), "de");
    site.insert("blog", json!({"title": "Bicycle"})).await;
    site.insert("blog", german.clone()).await;
    let other = site.insert("blog", version(Json::Null, "en")).await;
    assert_eq!((&other["id"], &other["base_id"]), (&json!(3), &json!(3)));
    let before = site.traces().await;
    let (post, patch) =
        ("POST /api/backend/item?table=blog", "PATCH /api/backend/item?table=blog&id=");
    for (line, base, code) in [
        (post.to_owned(), 99, "unknown"),
        (post.to_owned(), 2, "refused"),
        (format!("{patch}3"), 99, "unknown"),
        (format!("{patch}3"), 2, "refused"),
        // The German version would be one of a version.
        (format!("{patch}1"), 3, "refused"),
    ] {
        let error = site.invalid(&line, version(json!(base), "fr")).await["errors"][0].clone();
        let told = (&error["field"], &error["code"]);
        assert_eq!(told, (&json!("base_id"), &json!(code)), "{line} {base}");
    }
    // A row with an id of its own would hold the place of a record to come.
    let mut own = version(json!(99), "fr");
    own["id"] = json!(50);
    site.admin(post).json(own.clone()).refused(422, "validation_failed").await;
    assert_eq!(site.traces().await, before);
    let set = async |id: i64, body: Json| {
        site.update(&format!("blog&id={id}"), body).await["base_id"].clone()
    };
    // Its own record, a version of the first, and its own again.
    for (base, expected) in [(json!(3), 3), (json!(1), 1), (Json::Null, 3)] {
        assert_eq!(set(3, version(base, "fr")).await, expected);
    }
    // Versions outlive their base, and get others.
    site.remove("blog&id=1").await;
    assert_eq!(set(2, german).await, 1);
    site.insert("blog", version(json!(1), "it")).await;
    site.items("blog&id=2&language=it").await;
    // Rows that are copied come in any order.
    let copy = format!("{post}&no_events=true");
    site.admin(&copy).json(json!([own])).expect(201).await;
    // No new record becomes the base that is still to come.
    let next = site.insert("blog", version(Json::Null, "fr")).await["id"].as_i64();
    assert!(next > Some(99), "{next:?}");
    own["base_id"] = json!(9_007_199_254_740_992_i64);
    own["id"] = json!(51);
    site.admin(&copy).json(own).refused(422, "validation_failed").await;
}

#[tokio::test]
async fn references_are_replaced_by_what_they_name() {
    let site = site().await;
    site.insert("authors", json!({"name": "Ada"})).await;
    site.insert("blog", json!([{"title": "a", "author_id": 1}, {"title": "b"}])).await;
    let one = "GET /api/backend/item?table=blog&id=1&fields=title,author_id&expand=author_id";
    assert_eq!(
        site.admin(one).expect(200).await.text(),
        r#"{"data":{"title":"a","author_id":{"id":1,"name":"Ada","email":null}}}"#
    );
    let list = site.items("blog&expand=author_id&sort=id").await;
    assert_eq!(
        (&list[0]["author_id"]["name"], &list[1]["author_id"]),
        (&json!("Ada"), &Json::Null)
    );
    let expand = "GET /api/backend/item?table=blog&expand=";
    let narrow = site.key(&["GET /api/backend/item?table=blog"]).await;
    let refused = site.ask(&format!("{expand}author_id")).key(&narrow);
    refused.refused(401, "api_key_forbidden").await;
    for bad in ["title", "nothing"] {
        site.admin(&format!("{expand}{bad}")).refused(400, "bad_query").await;
    }
    site.admin("DELETE /api/backend/item?table=authors&id=1").refused(409, "conflict").await;
    let unknown = json!({"title": "c", "author_id": 99});
    site.admin("POST /api/backend/item?table=blog").json(unknown).refused(409, "conflict").await;
}
