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
        site.get(&format!("/api/backend/limits?owner={owner}")).await["used"].clone()
    };
    let left = used("ip:2001:db8::7").await[0]["remaining"].clone();
    assert_eq!(left, 99, "any address of the network names it");
    assert_eq!(used("ip:192.0.2.1").await, serde_json::json!([]));
    site.admin("GET /api/backend/limits?owner=somebody").refused(400, "bad_query").await;
}
