//! Handlers of the embedding program in place of files: JSON, CSV and streams.

use bytes::Bytes;
use cms_core::{
    Error,
    plugins::{Plugin, ScriptReply},
};
use futures_util::{StreamExt as _, stream};
use serde_json::json;

use super::{RUN, press};
use crate::support::{
    Site,
    plugins::{plugin, program},
    with,
};

fn shop() -> impl Plugin {
    let script = |id: &str| format!("orders/{id}.php");
    let button = |id: &str| json!({"button_id": id, "type": "script", "script": script(id)});
    let buttons = ["json", "csv", "bytes", "long"].map(button);
    let buttons = json!({"action_button": buttons});
    program(with(plugin("shop", [("orders", "a text")]), buttons), |handlers| {
        handlers
            .script("orders/json.php", |call| async move {
                let mut change = call.change().await?;
                let body = json!({"a": call.input().url_rewrite});
                let body = body.as_object().unwrap();
                let written = call.items().create(&mut change, "orders", body).await?;
                change.commit().await?;
                Ok(ScriptReply::Json(format!("{{\"made\":   {}}}", written.record.json())))
            })
            .script("orders/csv.php", |_| async {
                let rows = (0..100_000).map(|n| Ok(vec![n.to_string(), "=1+1".to_owned()]));
                Ok(ScriptReply::Csv {
                    save_as: "Bestellungen für März.csv".to_owned(),
                    names: vec!["n".to_owned(), "x".to_owned()],
                    rows: stream::iter(rows).boxed(),
                })
            })
            .script("orders/bytes.php", |_| async {
                let parts = [Ok(Bytes::from_static(b"%PDF")), Err(Error::internal("a fault"))];
                Ok(ScriptReply::Stream {
                    media_type: "application/pdf".to_owned(),
                    save_as: "x.pdf".to_owned(),
                    parts: stream::iter(parts.into_iter().take(1)).boxed(),
                })
            })
            .script("orders/long.php", |_| async {
                // A row in each tenth of a second, without an end.
                let rows = stream::unfold(0, |n| async move {
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    Some((Ok(vec![n.to_string()]), n + 1))
                });
                let names = vec!["n".to_owned()];
                Ok(ScriptReply::Csv { save_as: "x.csv".to_owned(), names, rows: rows.boxed() })
            })
    })
}

#[tokio::test]
async fn a_handler_changes_records_on_behalf_of_its_caller() {
    let site = Site::builder().await.program(shop()).open().await;
    let ana = site.person("ana", json!(["shop_json_edit"])).await;
    let mut body = press("json");
    body["url_rewrite"] = json!("x");
    let reply = site.ask(RUN).bearer(&ana.token).json(body).expect(200).await;
    assert_eq!(reply.text(), "{\"made\":   {\"id\":1,\"a\":\"x\"}}");
    let audit = format!("cms_audit where table_name = 'orders' and actor_id = {}", ana.id);
    assert_eq!(site.database.rows(&audit).await, 1);
}

#[tokio::test]
async fn a_handler_streams_other_types() {
    let site = Site::builder().await.program(shop()).open().await;
    let reply = site.admin(RUN).json(press("csv")).expect(200).await;
    assert_eq!(reply.header("content-type"), "text/csv; charset=utf-8; header=present");
    assert_eq!(
        reply.header("content-disposition"),
        "attachment; filename=\"Bestellungen f_r M_rz.csv\"; \
         filename*=UTF-8''Bestellungen%20f%C3%BCr%20M%C3%A4rz.csv"
    );
    let text = reply.text();
    assert!(text.starts_with("n,x\r\n0,'=1+1\r\n") && text.ends_with("99999,'=1+1\r\n"));
    let reply = site.admin(RUN).json(press("bytes")).expect(200).await;
    assert_eq!((reply.header("content-type"), &*reply.body), ("application/pdf", &b"%PDF"[..]));
}

/// A reply that lasts is broken off when its caller is revoked.
#[tokio::test]
async fn a_long_reply_ends_with_its_callers_rights() {
    use http_body_util::{BodyExt as _, Full};
    let site = Site::builder().await.program(shop()).open().await;
    let (id, key) = site.key_with(|_| {}, &["*"]).await;
    let request = http::Request::post("/api/backend/actions/script")
        .header("host", "cms.test")
        .header("x-api-key", key)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(press("long").to_string())))
        .unwrap();
    let mut body = site.api.handle(request).await.into_body();
    body.frame().await.unwrap().unwrap();
    site.database.run(format!("delete from cms_api_keys where id = {id}")).await;
    let ended = async {
        loop {
            match body.frame().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => return error,
                None => panic!("broken off, not ended"),
            }
        }
    };
    let error = tokio::time::timeout(std::time::Duration::from_secs(10), ended).await.unwrap();
    assert_eq!(error.code(), cms_core::Code::ApiKeyInvalid);
}
