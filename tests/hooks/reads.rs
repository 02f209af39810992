//! Hooks on reads: they shape the replies of the API, and nothing else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use cms_core::{
    Actor, Code, Error, Result,
    access::HeldPermissions,
    items::{OnRead, Query, Read},
    plugins::Handlers,
};
use futures_util::future::BoxFuture;
use serde_json::{Value as Json, json};

use super::record;
use crate::support::{
    Site, each,
    plugins::{plugin, program},
};

const STOCK: &str = "GET /api/backend/item?table=stock";

/// Writes into each record which call of the hook it was.
#[derive(Clone, Default)]
struct Counts(Arc<AtomicU64>);

impl OnRead for Counts {
    fn on_read<'r>(&'r self, read: Read<'r>) -> BoxFuture<'r, Result<()>> {
        Box::pin(async move {
            let call = self.0.fetch_add(1, Ordering::SeqCst) + 1;
            for one in read.records {
                one.insert("call".to_owned(), call.into());
            }
            Ok(())
        })
    }
}

impl Counts {
    fn calls(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Three things of stock, and orders of the first two. Both tables have an endpoint for everybody.
async fn shop(handlers: impl Fn(Handlers) -> Handlers + Send + Sync + 'static) -> Site {
    let stock = "sku text required, cost integer";
    let orders = "product integer references=stock, parent integer references=orders";
    let mut declared = plugin("shop", [("stock", stock), ("orders", orders)]);
    let endpoint = |table: &str| {
        let path = format!("shop-{table}");
        json!({"modelPath": table, "endpoint": path, "public": true})
    };
    declared["endpoints"] = json!([endpoint("stock"), endpoint("orders")]);
    declared["content_button"] = json!([
        {"button_id": "list", "type": "show_module_list",
         "values": {"table": "stock", "template": "Stock"}},
    ]);
    let site = Site::builder().await.settings(|all| all.cache.enabled = true);
    let site = site.program(program(declared, handlers)).open().await;
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let items = site.cms.items();
    for (sku, cost) in [("bell", 1), ("horn", 2), ("drum", 3)] {
        let thing = record(json!({"sku": sku, "cost": cost}));
        items.create(&mut change, "stock", &thing).await.unwrap();
    }
    for order in [json!({"product": 1}), json!({"product": 2, "parent": 1})] {
        items.create(&mut change, "orders", &record(order)).await.unwrap();
    }
    change.commit().await.unwrap();
    site
}

/// A shop whose stock has the hook that counts.
async fn counted() -> (Site, Counts) {
    let counts = Counts::default();
    let hook = counts.clone();
    (shop(move |all| all.on_read("stock", "counts", hook.clone())).await, counts)
}

#[tokio::test]
async fn one_call_sees_all_records_of_a_reply() {
    let (site, counts) = counted().await;
    // Members that a hook adds follow the table's columns.
    let bell = site.admin(&format!("{STOCK}&id=1")).expect(200).await;
    assert_eq!(bell.text(), r#"{"data":{"id":1,"sku":"bell","cost":1,"call":1}}"#);
    let page = site.items("stock&sort=id").await;
    assert_eq!(each(&page, "call"), [2, 2, 2]);
    assert_eq!(each(&page, "cost"), [1, 2, 3]);
    assert_eq!(site.items("stock&id=1&fields=sku").await, json!({"sku": "bell", "call": 3}));
    let list = site.get("/api/backend/plugins/content?plugin=shop&button=list").await;
    assert_eq!(each(&list["rows"], "/item/call"), [4, 4, 4]);
    // Filters see what is stored, and a reply without records needs no hook.
    assert_eq!(site.items("stock&filter[cost]=9").await, json!([]));
    site.admin(&format!("{STOCK}&filter[call]=1")).refused(400, "bad_query").await;
    assert_eq!(counts.calls(), 4);

    // So does code of the program.
    let stored = site.cms.items().get("stock", "1", &Query::new()).await.unwrap();
    assert_eq!(stored.json(), r#"{"id":1,"sku":"bell","cost":1}"#);
    let schemas = site.admin("GET /api/openapi.json").expect(200).await.json();
    let more = |name: &str| schemas["components"]["schemas"][name]["additionalProperties"].clone();
    assert_eq!((more("Stock"), more("Orders")), (json!(true), json!(false)));
}

#[tokio::test]
async fn an_expanded_reference_is_shaped_by_the_hook_of_its_table() {
    let (site, counts) = counted().await;
    let plain = site.items("orders&sort=id").await;
    assert_eq!(each(&plain, "product"), [1, 2]);
    assert_eq!(counts.calls(), 0);
    // The same column twice is one call.
    let expanded = site.items("orders&sort=id&expand=product,parent,product").await;
    assert_eq!(each(&expanded, "/product/call"), [1, 1]);
    assert_eq!(each(&expanded, "/product/sku"), ["bell", "horn"]);
    assert_eq!(expanded[1]["parent"], json!({"id": 1, "product": 1, "parent": null}));
    assert_eq!(counts.calls(), 1);
    let order = site.admin("GET /api/backend/item?table=orders&id=1&expand=product");
    let product = r#"{"id":1,"sku":"bell","cost":1,"call":2}"#;
    let expected = format!(r#"{{"data":{{"id":1,"product":{product},"parent":null}}}}"#);
    assert_eq!(order.expect(200).await.text(), expected);
}

#[tokio::test]
async fn a_reply_to_a_write_is_shaped_after_the_commit() {
    let (site, counts) = counted().await;
    let made = site.insert("stock", json!([{"sku": "lute"}, {"sku": "harp"}])).await;
    assert_eq!(each(&made, "call"), [1, 1]);
    assert_eq!(each(&made, "id"), [4, 5]);
    assert_eq!(site.update("stock&id=4", json!({"cost": 4})).await["call"], 2);
    let repeated = || {
        let new = site.admin("POST /api/backend/item?table=stock").json(json!({"sku": "gong"}));
        new.header("idempotency-key", "gong").expect(201)
    };
    assert_eq!(repeated().await.data()["call"], 3);
    assert_eq!((repeated().await.data(), counts.calls()), (json!({"id": 6}), 3));
}

/// The cost is for those who log in. Each record says who reads it.
async fn for_staff(read: Read<'_>) -> Result<()> {
    let caller = match read.actor() {
        Actor::Key { name, .. } | Actor::User { name, .. } => name.clone(),
        _ => format!("a visitor of {}", read.table()),
    };
    let is_admin = *read.rights() == HeldPermissions::Admin;
    for one in read.records {
        one.insert("for".to_owned(), json!([caller, is_admin]));
        if !is_admin {
            one.remove("cost");
        }
    }
    Ok(())
}

#[tokio::test]
async fn each_caller_gets_a_reply_of_their_own() {
    let site = shop(|all| all.on_read("stock", "for_staff", for_staff)).await;
    let visitor = json!({"id": 1, "sku": "bell", "for": ["a visitor of stock", false]});
    let admin = json!({"id": 1, "sku": "bell", "cost": 1, "for": ["test", true]});
    for path in ["/api/shop-stock/1", "/api/shop-stock?id=1"] {
        let by_visitor = site.ask(&format!("GET {path}")).expect(200).await.data();
        assert_eq!((by_visitor, site.get(path).await), (visitor.clone(), admin.clone()), "{path}");
    }
}

#[tokio::test]
async fn what_a_hook_has_seen_is_neither_kept_nor_unchanged() {
    let (site, _) = counted().await;
    let one = format!("{STOCK}&id=1");
    let mut last = 0;
    let mut next = |reply: &Json| {
        let call = reply["call"].as_u64().unwrap();
        assert!(std::mem::replace(&mut last, call) < call, "{reply}");
    };
    for _ in 0..3 {
        next(&site.admin(&one).expect(200).await.data());
        next(&site.admin(STOCK).expect(200).await.data()[0]);
        let by_visitor = site.ask("GET /api/shop-stock?id=1").expect(200).await;
        assert!(!by_visitor.headers.contains_key("x-cache"));
        assert_eq!(by_visitor.header("cache-control"), "no-store");
        next(&by_visitor.data());
        let page = site.ask("GET /api/shop-stock").expect(200).await;
        assert_eq!(page.header("cache-control"), "no-store");
    }
    for line in [one.as_str(), "GET /api/backend/item?table=orders&id=1&expand=product"] {
        let tag = site.admin(line).expect(200).await.header("etag").to_owned();
        let again = site.admin(line).header("if-none-match", &tag).expect(200).await;
        assert_eq!(again.header("etag"), tag);
    }
    // The tag is that of the record as it is stored.
    let tag = site.admin(&one).expect(200).await.header("etag").to_owned();
    let patch = |tag: &str| {
        let patch = site.admin("PATCH /api/backend/item?table=stock&id=1");
        patch.header("if-match", tag).json(json!({"cost": 7}))
    };
    let changed = patch(&tag).expect(200).await.header("etag").to_owned();
    assert_ne!(changed, tag);
    patch(&tag).refused(412, "stale").await;
    assert_eq!(site.admin(&one).expect(200).await.header("etag"), changed);

    // Replies of a table without hooks are as ever.
    let orders = "GET /api/shop-orders?id=1";
    let expanded = format!("{orders}&expand=parent");
    for (line, state) in [(orders, "MISS"), (orders, "HIT"), (&*expanded, "MISS")] {
        assert_eq!(site.ask(line).expect(200).await.header("x-cache"), state, "{line}");
    }
    let order = site.admin("GET /api/backend/item?table=orders&id=1").expect(200).await;
    assert_eq!(order.text(), r#"{"data":{"id":1,"product":1,"parent":null}}"#);
    let known = site.admin("GET /api/backend/item?table=orders&id=1");
    known.header("if-none-match", order.header("etag")).expect(304).await;
}

async fn refuses(_: Read<'_>) -> Result<()> {
    Err(Error::new(Code::Conflict, "The stock is being counted."))
}

async fn panics(_: Read<'_>) -> Result<()> {
    panic!("out of paper")
}

async fn sleeps(_: Read<'_>) -> Result<()> {
    tokio::time::sleep(Duration::from_secs(60)).await;
    Ok(())
}

#[tokio::test]
async fn a_bad_hook_refuses_its_reply_and_nothing_else() {
    type Case = (fn(Handlers) -> Handlers, u16, &'static str, &'static str);
    let cases: [Case; 3] = [
        (|all| all.on_read("stock", "no", refuses), 409, "conflict", "The stock is being counted."),
        (|all| all.on_read("stock", "print", panics), 500, "internal_error", ""),
        (
            |all| all.on_read("stock", "slow", sleeps),
            503,
            "unavailable",
            "The hook shop.slow did not end within 3 s.",
        ),
    ];
    for (handlers, status, code, detail) in cases {
        let site = shop(handlers).await;
        let refused = site.admin(STOCK).refused(status, code).await;
        let (told, id) = (refused.json(), refused.header("x-request-id"));
        assert_eq!(told["request_id"], id);
        assert!(told["detail"].as_str().unwrap().contains(detail), "{told}");
        site.items("orders").await;
        // A write is done when its reply is made.
        let new = site.insert("stock", json!({"sku": "lute"})).await;
        assert_eq!(new, json!({"id": 4}));
        let stored = site.cms.items().get("stock", "4", &Query::new()).await.unwrap();
        assert_eq!(stored["sku"], "lute");
    }
}

#[tokio::test]
async fn hooks_on_reads_run_in_order_and_have_names_of_their_own() {
    async fn first(read: Read<'_>) -> Result<()> {
        for one in read.records {
            one.insert("sku".to_owned(), "x".into());
        }
        Ok(())
    }
    async fn second(read: Read<'_>) -> Result<()> {
        for one in read.records {
            let sku = format!("{}y", one["sku"].as_str().unwrap());
            one.insert("sku".to_owned(), sku.into());
        }
        Ok(())
    }
    let site = shop(|all| all.on_read("stock", "z", first).on_read("stock", "a", second)).await;
    assert_eq!(each(&site.items("stock").await, "sku"), ["xy", "xy", "xy"]);

    let twice = program(plugin("shop", [("stock", "sku text")]), |all| {
        all.on_read("stock", "a", first).on_read("stock", "a", second)
    });
    let refused = Site::builder().await.program(twice).try_open().await.err().expect("refused");
    let detail = refused.detail();
    assert!(detail.contains("two hooks on reads of stock are named a"), "{detail}");
}
