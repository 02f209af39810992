//! `/api/backend/limits`: what each bucket has left.

use crate::limiter::{from, site};

#[tokio::test]
async fn one_owner_is_found_among_many() {
    let site = site().await;
    for n in 0..1500_u32 {
        let address = format!("198.51.{}.{}", n / 250, n % 250);
        from(&site, &address, "GET /api/settings", None).await;
        from(&site, &address, "GET /api/settings", None).await;
    }
    from(&site, "2001:db8::5", "GET /api/settings", None).await;
    let used = async |owner: &str| {
        let line = format!("GET /api/backend/limits?owner={owner}");
        site.admin(&line).expect(200).await.data()["used"].clone()
    };
    assert_eq!(
        used("ip:2001:db8::7").await[0]["remaining"],
        99,
        "any address of the network names it"
    );
    assert_eq!(used("ip:192.0.2.1").await, serde_json::json!([]));
    site.admin("GET /api/backend/limits?owner=somebody").refused(400, "bad_query").await;
}
