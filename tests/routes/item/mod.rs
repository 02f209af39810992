//! `/api/backend/item`: records of content tables.

/// Several records in one request, and ids given by the caller.
mod batch;
/// A page that ends early at its limit in bytes.
mod bytes;
/// `If-Match`: a stale change is refused.
mod if_match;
/// Filters, order, cursors.
mod list;
/// Broken references.
mod references;
/// Values in and out: each type, both engines, the same bytes.
mod values;

use serde_json::{Value as Json, json};

use crate::support::{Reply, Site};

/// A blog with authors, in several languages.
fn blog() -> Json {
    json!({"id": "blog", "tables": [
        {"name": "authors",
         "columns": [{"name": "name", "type": "text", "required": true},
                     {"name": "email", "type": "text", "unique": true}]},
        {"name": "blog", "multilanguage": true, "columns": [
            {"name": "title", "type": "text", "required": true},
            {"name": "rating", "type": "decimal"},
            {"name": "published_at", "type": "datetime"},
            {"name": "tags", "type": "json"},
            {"name": "author_id", "type": "integer", "references": "authors"},
        ]},
        {"name": "guarded", "require_if_match": true,
         "columns": [{"name": "title", "type": "text"}, {"name": "tags", "type": "json"}]},
    ]})
}

pub(crate) async fn site() -> Site {
    Site::builder().await.plugin(blog()).open().await
}

pub(crate) async fn create(site: &Site, table: &str, body: Json) -> Json {
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
    let bodies = "select count(*) from cms_events where name = 'item.authors.updated' \
                  and body like '%\"changed\":[\"name\"]%' \
                  and body like '%\"created_at\":\"2026-11-21T09:30:00Z\"%' \
                  and body like \
                  '%\"record\":{\"email\":\"ada@example.org\",\"id\":1,\"name\":\"Ada L.\"}%'";
    assert_eq!(site.database.count(bodies).await, 1);
    assert_eq!(
        site.database
            .count(
                "select count(*) from cms_events where name = 'item.authors.deleted' \
                 and body like '%Ada L.%'"
            )
            .await,
        1
    );
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

/// Rows 1 and 2 are versions of one record, 3 is another record.
#[tokio::test]
async fn a_version_names_a_record_and_no_version() {
    let site = site().await;
    create(&site, "blog", json!({"title": "Bicycle"})).await;
    let version = |base: Json, language: &str| {
        json!({"title": language, "base_id": base,
               "language_short": language})
    };
    let german = version(json!(1), "de");
    create(&site, "blog", german.clone()).await;
    let other = create(&site, "blog", version(Json::Null, "en")).await;
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
        let ask = site.admin(&line).json(version(json!(base), "fr"));
        let error = ask.refused(422, "validation_failed").await.json()["errors"][0].clone();
        let told = (&error["field"], &error["code"]);
        assert_eq!(told, (&json!("base_id"), &json!(code)), "{line} {base}");
    }
    assert_eq!(site.traces().await, before);
    let set = async |id: i64, body: Json| {
        site.admin(&format!("{patch}{id}")).json(body).expect(200).await.data()["base_id"].clone()
    };
    // Its own record, a version of the first, and its own again.
    for (base, expected) in [(json!(3), 3), (json!(1), 1), (Json::Null, 3)] {
        assert_eq!(set(3, version(base, "fr")).await, expected);
    }
    // Versions outlive their base, and get others.
    site.admin("DELETE /api/backend/item?table=blog&id=1").expect(204).await;
    assert_eq!(set(2, german).await, 1);
    create(&site, "blog", version(json!(1), "it")).await;
    site.admin("GET /api/backend/item?table=blog&id=2&language=it").expect(200).await;
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
