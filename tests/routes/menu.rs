//! `/api/menu`: trees.

use serde_json::json;

use super::pages::filled;

#[tokio::test]
async fn menus_are_trees() {
    let site = filled().await;
    let menu = site.ask("GET /api/menu").expect(200).await.data();
    assert_eq!(
        (&menu[0]["title"], &menu[1]["title"], &menu[1]["children"][0]["title"]),
        (&json!("first"), &json!("second"), &json!("below"))
    );
    assert_eq!(
        menu[0],
        json!({"id": 2, "title": "first", "url": "/x", "target": "_self", "children": []})
    );
    assert_eq!(site.ask("GET /api/menu?name=footer").expect(200).await.data(), json!([]));
}
