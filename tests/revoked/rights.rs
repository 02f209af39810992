//! Callers who lose rights while their call is under way, and stay.

use cms_core::access::{Access, Right};
use futures_util::FutureExt;
use serde_json::json;

use super::{Act, Caller, body, send, user, written};
use crate::support::Site;

/// A caller who may do less than before, but enough for the call, is not refused.
#[tokio::test]
async fn rights_that_are_not_needed_may_go() {
    let site = Site::open().await;
    let create = "POST /api/backend/item?table=settings";
    let (id, value) = site.key_with(|_| {}, &[create, "GET /api/backend/keys"]).await;
    let rights = json!([Right::parse(create).unwrap()]).to_string();
    let caller = Caller {
        header: ("x-api-key", value),
        revoke: format!("update cms_api_keys set rights = '{rights}' where id = {id}"),
        code: "",
    };
    let act = Act {
        method: "POST",
        target: "/api/backend/item?table=settings".to_owned(),
        body: json!({"name": "a", "value": 1}).to_string(),
        access: Access::Table,
        writes: true,
    };
    let late = async { site.database.run(caller.revoke.clone()).await };
    let (status, reply) = send(&site, &act, &caller, body(&act.body, late.boxed())).await;
    assert_eq!(status, 201, "{reply}");
}

/// Only rights that are held when the change is made can be passed on.
#[tokio::test]
async fn rights_that_went_meanwhile_are_not_passed_on() {
    let site = Site::open().await;
    let create = "POST /api/backend/keys";
    let (id, value) = site.key_with(|_| {}, &[create, "GET /api/backend/users"]).await;
    let rights = json!([Right::parse(create).unwrap()]).to_string();
    let caller = Caller {
        header: ("x-api-key", value),
        revoke: format!("update cms_api_keys set rights = '{rights}' where id = {id}"),
        code: "permission_denied",
    };
    let granted = json!([Right::parse("GET /api/backend/users").unwrap()]);
    let act = Act {
        method: "POST",
        target: "/api/backend/keys".to_owned(),
        body: json!({"name": "mine", "rights": granted}).to_string(),
        access: Access::Area("keys_keys"),
        writes: true,
    };
    let late = async { site.database.run(caller.revoke.clone()).await };
    let (status, reply) = send(&site, &act, &caller, body(&act.body, late.boxed())).await;
    assert_eq!((status, &reply["error"]), (403, &json!(caller.code)), "{reply}");
}

/// Who may still write, but is no administrator any more, writes no records without events.
#[tokio::test]
async fn records_without_events_need_an_administrator_to_the_end() {
    let site = Site::open().await;
    let row = json!([Right::parse("POST /api/backend/item?table=settings").unwrap()]).to_string();
    let (key_id, value) = site.key_with(|_| {}, &["*"]).await;
    let less = "update cms_user_groups set rights = '[\"settings_settings_edit\"]' where id = {id}";
    let callers = [
        Caller {
            header: ("x-api-key", value),
            revoke: format!("update cms_api_keys set rights = '{row}' where id = {key_id}"),
            code: "permission_denied",
        },
        user(&site, 90, ("reduced", less, "permission_denied")).await,
    ];
    for caller in callers {
        let mut act = Act {
            method: "POST",
            target: "/api/backend/item?table=settings&no_events=true".to_owned(),
            body: json!({"name": "a", "value": "b"}).to_string(),
            access: Access::Table,
            writes: true,
        };
        let (tell, told) = tokio::sync::oneshot::channel();
        let late = async {
            site.database.run(caller.revoke.clone()).await;
            let _ = tell.send(written(&site).await);
        };
        let (status, reply) = send(&site, &act, &caller, body(&act.body, late.boxed())).await;
        assert_eq!((status, &reply["error"]), (403, &json!(caller.code)), "{reply}");
        assert_eq!(written(&site).await, told.await.unwrap(), "{} has written", caller.header.0);
        // With events the same call is carried out.
        act.target = "/api/backend/item?table=settings".to_owned();
        act.body = json!({"name": caller.header.0, "value": "b"}).to_string();
        let (status, reply) = send(&site, &act, &caller, body(&act.body, async {}.boxed())).await;
        assert_eq!(status, 201, "{reply}");
    }
}
