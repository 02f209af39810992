//! `/api/settings`: what is public, as one object.

use super::pages::filled;

#[tokio::test]
async fn settings_are_an_object() {
    let site = filled().await;
    assert_eq!(
        site.ask("GET /api/settings").expect(200).await.text(),
        r#"{"data":{"claim":{"en":"Hi"},"n":1.5}}"#
    );
    let head = site.ask("HEAD /api/settings").expect(200).await;
    assert!(head.body.is_empty());
    assert_eq!(head.header("content-length"), "38");
}
