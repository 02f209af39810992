//! Broken references: both engines name the column.

use serde_json::{Value as Json, json};

use crate::support::{Reply, Site, plugins};

fn plugin() -> Json {
    let articles =
        "title text, writer integer references=writers, editor integer references=writers";
    let writers = "name text, chief integer references=writers";
    plugins::plugin("press", [("writers", writers), ("articles", articles)])
}

fn named(refused: &Reply) -> Vec<String> {
    let json = refused.json();
    let errors = json["errors"].as_array().unwrap().iter();
    errors.map(|one| one["field"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_broken_reference_is_named() {
    let site = Site::builder().await.plugin(plugin()).open().await;
    let writers = "/api/backend/item?table=writers";
    let articles = "/api/backend/item?table=articles";
    site.create(writers, json!({"name": "Ana"})).await;
    let article = |writer: i64, editor: i64| json!({"writer": writer, "editor": editor});
    site.create(articles, article(1, 1)).await;
    let before = site.traces().await;
    let post = format!("POST {articles}");
    let patch = format!("PATCH {articles}&id=1");
    let hire = format!("POST {writers}");
    for (line, body, column) in [
        (&post, article(7, 1), "writer"),
        (&post, article(1, 7), "editor"),
        (&post, json!([article(1, 1), article(1, 8)]), "[1].editor"),
        (&patch, json!({"title": "x", "editor": 9}), "editor"),
        (&patch, json!({"writer": 9}), "writer"),
        (&hire, json!({"chief": 9}), "chief"),
    ] {
        let refused = site.admin(line).json(body).refused(409, "conflict").await;
        assert_eq!(named(&refused), [column], "{}", refused.text());
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        let bare = column.trim_start_matches("[1].");
        assert!(detail.contains(&format!("({bare})")), "{detail}");
    }
    assert_eq!(site.traces().await, before);
    // Named by the other table, and by its own.
    let chief = json!([{"id": 5, "name": "Bo"}, {"name": "Cy", "chief": 5}]);
    site.admin(&hire).json(chief).expect(201).await;
    let before = site.traces().await;
    for named_by_others in [1, 5] {
        let delete = format!("DELETE {writers}&id={named_by_others}");
        let refused = site.admin(&delete).refused(409, "conflict").await;
        assert_eq!(named(&refused), ["id"]);
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        let expected = "Other records name this row of writers: change or delete them first.";
        assert_eq!(detail, expected);
    }
    assert_eq!(site.traces().await, before);
    site.admin(&post).json(json!({"writer": null, "editor": 1})).expect(201).await;
}
