//! Hooks of plugins: each write of a table passes them, and all of it stands or falls together.

mod killed;
mod reads;

use std::time::Duration;

use cms_core::{
    Actor, Code, Error, Result,
    items::{BeforeWrite, IfMatch, Query, Write, WriteKind},
    plugins::{Handlers, Plugin},
};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json, json};

use crate::support::{
    Site, each,
    mail::mail,
    plugins::{plugin, program},
};

const ORDER: &str = "POST /api/backend/item?table=orders";

/// Orders take from the stock, and their sum is made by a hook.
fn orders(handlers: fn(Handlers) -> Handlers) -> impl Plugin {
    let stock = "sku text required unique, left integer required, price decimal required";
    let orders = "sku text required, amount integer required, total decimal required";
    program(plugin("shop", [("stock", stock), ("orders", orders)]), handlers)
}

async fn total(mut write: Write<'_>) -> Result<()> {
    if write.kind() == WriteKind::Delete {
        return Ok(());
    }
    let amount = write.value("amount").as_i64().unwrap_or_default();
    if amount < 1 {
        return Err(write.refuse("amount", "order at least one"));
    }
    if write.value("total").as_f64().is_some_and(|total| total < 0.0) {
        return Err(write.refuse("total", "is not negative"));
    }
    let query = Query::parse([("filter[sku]", write.value("sku").as_str().unwrap_or_default())])?;
    let found = write.items.list_in(write.change, "stock", &query).await?;
    let Some(stock) = found.records()?.pop() else {
        return Err(write.refuse("sku", "is not sold"));
    };
    // In cents: 9.9 * 6 is no decimal number of two digits.
    let cents = (stock["price"].as_f64().unwrap_or_default() * 100.0).round() as i64 * amount;
    write.set("total", format!("{}.{:02}", cents / 100, cents % 100));
    Ok(())
}

async fn take(write: Write<'_>) -> Result<()> {
    let before = write.old().map_or(0, |old| old["amount"].as_i64().unwrap_or_default());
    let after = match write.kind() {
        WriteKind::Delete => 0,
        _ => write.value("amount").as_i64().unwrap_or_default(),
    };
    let sku = write.value("sku").as_str().unwrap_or_default().to_owned();
    let sql = "update stock set \"left\" = \"left\" - $1 where sku = $2 and \"left\" >= $1";
    let taken =
        write.items.sql(write.change, sql).touches(["stock"]).bind(after - before).bind(&sku);
    match taken.run().await? {
        1 => Ok(()),
        _ => Err(Error::new(Code::Conflict, "Too few are left.")),
    }
}

async fn shop(handlers: fn(Handlers) -> Handlers) -> Site {
    let site = Site::builder().await.program(orders(handlers)).open().await;
    site.insert("stock", json!({"sku": "bell", "left": 10, "price": "9.90"})).await;
    site
}

async fn left(site: &Site) -> i64 {
    site.items("stock&id=1").await["left"].as_i64().unwrap()
}

#[tokio::test]
async fn values_are_made_checked_and_refused_before_they_are_written() {
    let site =
        shop(|all| all.before("orders", "total", total).before("orders", "take", take)).await;
    let made = site.insert("orders", json!({"sku": "bell", "amount": 2})).await;
    // No value was sent for a required column: the hook made it.
    assert_eq!((made["total"].as_f64(), left(&site).await), (Some(19.8), 8));
    for (order, field) in [
        (json!({"sku": "bell", "amount": 0}), "amount"),
        // Forms and CSV send numbers as text.
        (json!({"sku": "bell", "amount": "0"}), "amount"),
        (json!({"sku": "bell", "amount": "-5"}), "amount"),
        (json!({"sku": "bell", "amount": " 0 "}), "amount"),
        // Zeros at the end do not hide a number from a hook.
        (json!({"sku": "bell", "amount": 2, "total": "-1.5"}), "total"),
        (json!({"sku": "bell", "amount": 2, "total": "-1.0000000000000000"}), "total"),
        (json!({"sku": "bell", "amount": 2, "total": "-001.50"}), "total"),
        (json!({"sku": "horn", "amount": 1}), "sku"),
        // What a hook leaves wrong is refused as if it had been sent.
        (json!({"sku": "bell", "amount": "two"}), "amount"),
    ] {
        let refused = site.admin(ORDER).json(order.clone()).refused(422, "validation_failed");
        assert_eq!(refused.await.json()["errors"][0]["field"], field, "{order}");
    }
    site.admin(ORDER).json(json!({"sku": "bell", "amount": 9})).refused(409, "conflict").await;
    assert_eq!(left(&site).await, 8, "nothing is left of what was refused");

    let made = site.update("orders&id=1", json!({"amount": 5})).await;
    assert_eq!((made["total"].as_f64(), left(&site).await), (Some(49.5), 5));
    site.remove("orders&id=1").await;
    assert_eq!(left(&site).await, 10);
    // Each door: a list of records at once is one change.
    let both = json!([{"sku": "bell", "amount": 6}, {"sku": "bell", "amount": 5}]);
    site.admin(ORDER).json(both).refused(409, "conflict").await;
    assert_eq!(left(&site).await, 10);
    let trail = site.get("/api/backend/audit?table=orders").await;
    assert_eq!(trail.as_array().map(Vec::len), Some(4), "with its table: {trail}");
}

async fn sorted(mut write: Write<'_>) -> Result<()> {
    if let Some(tags) = write.value("tags").as_array().cloned() {
        let mut tags: Vec<_> = tags.iter().filter_map(Json::as_str).collect();
        tags.sort_unstable();
        write.set("tags", json!(tags));
    }
    Ok(())
}

/// Each post notes what was done, through its own change.
async fn noted(write: Write<'_>) -> Result<()> {
    let note = record(json!({"text": format!("{:?} {}", write.kind(), write.id().unwrap_or("-"))}));
    write.items.create(write.change, "notes", &note).await.map(drop)
}

async fn signed(mut write: Write<'_>) -> Result<()> {
    let text = write.value("text").as_str().unwrap_or_default().to_owned();
    write.set("text", format!("{text}, signed"));
    Ok(())
}

fn blog() -> impl Plugin {
    let tables = [("posts", "tags json"), ("notes", "text text required")];
    program(plugin("blog", tables), |handlers| {
        let handlers = handlers.before("posts", "sorted", sorted);
        handlers.before("posts", "noted", noted).before("notes", "signed", signed)
    })
}

#[tokio::test]
async fn a_hook_writes_more_records_and_a_checklist_passes_it_too() {
    let site = Site::builder().await.program(blog()).open().await;
    let made = site.insert("posts", json!({"tags": ["b", "a"]})).await;
    assert_eq!(made["tags"], json!(["a", "b"]));
    let more = json!({"table": "posts", "column": "tags", "id": 1, "add": ["0"]});
    let values = site.post("/api/backend/actions/checklist", more).await;
    assert_eq!(values, json!(["0", "a", "b"]));
    site.remove("posts&id=1").await;
    let notes = site.items("notes&sort=id").await;
    let expected = ["Create -, signed", "Update 1, signed", "Delete 1, signed"];
    assert_eq!(each(&notes, "text"), expected);
}

/// A plugin whose hooks sign the notes of another.
fn signer(id: &str, names: [&'static str; 2]) -> impl Plugin {
    program(json!({"id": id}), move |handlers| {
        let [first, second] = names.map(Signs);
        handlers.before("notes", "z", first).before("notes", "a", second)
    })
}

struct Signs(&'static str);

impl BeforeWrite for Signs {
    fn before<'w>(&'w self, mut write: Write<'w>) -> BoxFuture<'w, Result<()>> {
        Box::pin(async move {
            let text = write.value("text").as_str().unwrap_or_default().to_owned();
            write.set("text", format!("{text}, {}", self.0));
            Ok(())
        })
    }
}

#[tokio::test]
async fn hooks_run_as_their_plugins_load_and_then_as_they_were_added() {
    let builder = Site::builder().await.program(signer("zoo", ["one", "two"])).program(blog());
    let site = builder.program(signer("art", ["three", "four"])).open().await;
    let made = site.insert("notes", json!({"text": "a"})).await;
    assert_eq!(made["text"], "a, one, two, signed, three, four");
}

fn record(value: Json) -> Map<String, Json> {
    value.as_object().cloned().unwrap()
}

/// Runs `create` with a hook that fails, and returns the text of its error. The change is dead.
async fn failed(handlers: fn(Handlers) -> Handlers) -> String {
    let site = shop(handlers).await;
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let order = record(json!({"sku": "bell", "amount": 1, "total": 1}));
    let items = site.cms.items();
    let error = items.create(&mut change, "orders", &order).await.unwrap_err();
    let dead = items.get_in(&mut change, "stock", "1", &Query::new()).await.unwrap_err();
    assert_eq!(dead.code(), Code::Internal);
    assert_eq!(change.commit().await.unwrap_err().code(), Code::Internal);
    // The site goes on, and nothing was written.
    site.admin("GET /api/backend/item?table=orders&id=1").refused(404, "not_found").await;
    assert_eq!(left(&site).await, 10);
    site.cms.close().await;
    format!("{error:?}")
}

async fn panics(_: Write<'_>) -> Result<()> {
    panic!("out of paper")
}

async fn sleeps(_: Write<'_>) -> Result<()> {
    tokio::time::sleep(Duration::from_secs(60)).await;
    Ok(())
}

async fn orders_again(write: Write<'_>) -> Result<()> {
    let order = record(json!({"sku": "bell", "amount": 1, "total": 1}));
    write.items.create(write.change, "orders", &order).await.map(drop)
}

/// Empties the stock, and leaves a value that its column refuses.
async fn writes_and_spoils(mut write: Write<'_>) -> Result<()> {
    let patch = record(json!({"left": 0}));
    let any = IfMatch::Any;
    write.items.update(write.change, "stock", "1", None, &any, &patch).await?;
    write.set("amount", "none");
    Ok(())
}

/// Reads what is committed, and so misses what its change has written.
async fn reads_beside(write: Write<'_>) -> Result<()> {
    write.items.get("stock", "1", &Query::new()).await.map(drop)
}

async fn writes_and_refuses(write: Write<'_>) -> Result<()> {
    let patch = record(json!({"left": 0}));
    let any = IfMatch::Any;
    write.items.update(write.change, "stock", "1", None, &any, &patch).await?;
    Err(Error::new(Code::Conflict, "No."))
}

#[tokio::test]
async fn a_bad_hook_refuses_its_write_and_nothing_else() {
    type Case = (fn(Handlers) -> Handlers, &'static str);
    let mut cases: Vec<Case> = vec![
        (|all| all.before("orders", "print", panics), "the hook shop.print panicked: out of paper"),
        (
            |all| all.before("orders", "again", orders_again),
            "within each other without end: shop.again → shop.again",
        ),
        (|all| all.before("orders", "half", writes_and_refuses), "conflict: No."),
        (|all| all.before("orders", "slow", sleeps), "The hook shop.slow did not end within 3 s"),
        (|all| all.before("orders", "spoils", writes_and_spoils), "correct: amount. (amount: "),
    ];
    if cfg!(debug_assertions) {
        let why = "is read through the pool while";
        cases.push((|all| all.before("orders", "beside", reads_beside), why));
    }
    for (handlers, why) in cases {
        let told = failed(handlers).await;
        assert!(told.contains(why), "{why}: {told}");
    }
}

/// Thanks for a new order.
async fn thanks(write: Write<'_>) -> Result<()> {
    if write.kind() == WriteKind::Create {
        write.cms()?.mail().queue(write.change, &mail("ada@example.org")).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_mail_of_a_hook_is_queued_with_its_record_or_not_at_all() {
    let site =
        shop(|all| all.before("orders", "thanks", thanks).before("orders", "take", take)).await;
    let order = |amount| json!({"sku": "bell", "amount": amount, "total": 1});
    site.admin(ORDER).json(order(11)).refused(409, "conflict").await;
    assert_eq!(site.database.rows("cms_mails").await, 0);
    site.insert("orders", order(2)).await;
    assert_eq!((site.database.rows("cms_mails").await, left(&site).await), (1, 8));
}

/// Empties the stock, and takes the record away under its write.
async fn undermines(write: Write<'_>) -> Result<()> {
    if write.kind() == WriteKind::Create {
        return Ok(());
    }
    let patch = record(json!({"left": 0}));
    let any = IfMatch::Any;
    write.items.update(write.change, "stock", "1", None, &any, &patch).await?;
    let id: i64 = write.id().unwrap_or_default().parse().unwrap();
    let gone = write.items.sql(write.change, "delete from orders where id = $1");
    gone.touches(["orders"]).bind(id).run().await.map(drop)
}

/// Whatever refuses the record after them, its column or a fault.
#[tokio::test]
async fn what_hooks_wrote_goes_with_their_record() {
    let site = shop(|all| all.before("orders", "undermines", undermines)).await;
    let order = json!({"sku": "bell", "amount": 1, "total": 1});
    site.admin(ORDER).json(order).expect(201).await;
    let items = site.cms.items();
    for (amount, code) in [
        (Some(json!("none")), Code::ValidationFailed),
        (Some(json!(2)), Code::Internal),
        (None, Code::Internal),
    ] {
        let mut change = site.cms.change(Actor::Operator).await.unwrap();
        let refused = match &amount {
            Some(amount) => {
                let patch = record(json!({"amount": amount}));
                let any = IfMatch::Any;
                items.update(&mut change, "orders", "1", None, &any, &patch).await.map(drop)
            }
            None => items.delete(&mut change, "orders", "1", None, &IfMatch::Any).await,
        };
        assert_eq!(refused.unwrap_err().code(), code, "{amount:?}");
        assert_eq!(change.commit().await.unwrap_err().code(), Code::Internal, "{amount:?}");
    }
    let kept = site.admin("GET /api/backend/item?table=orders&id=1").expect(200).await.data();
    assert_eq!((&kept["amount"], left(&site).await), (&json!(1), 10));
}

/// A hook with state: it has the site, and could begin a change beside the one that is open.
struct Outside(std::sync::OnceLock<cms_core::Cms>);

impl BeforeWrite for &'static Outside {
    fn before<'w>(&'w self, _: Write<'w>) -> BoxFuture<'w, Result<()>> {
        Box::pin(async {
            let Some(cms) = self.0.get() else { return Ok(()) };
            cms.change(Actor::System).await?.commit().await
        })
    }
}

#[tokio::test]
async fn a_change_within_a_hook_is_an_error_at_once() {
    static OUTSIDE: Outside = Outside(std::sync::OnceLock::new());
    let site = shop(|all| all.before("orders", "outside", &OUTSIDE)).await;
    OUTSIDE.0.set(site.cms.clone()).ok().unwrap();
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let order = record(json!({"sku": "bell", "amount": 1, "total": 1}));
    let refused = site.cms.items().create(&mut change, "orders", &order).await.unwrap_err();
    // Another error would tell that the hook waited for its 3 s.
    assert!(format!("{refused:?}").contains("a hook began a change"), "{refused:?}");
    drop(change);
    site.admin(ORDER).json(Json::Object(order)).refused(500, "internal_error").await;
}

#[tokio::test]
async fn hooks_of_one_name_are_refused_at_the_start() {
    let twice = orders(|all| all.before("orders", "total", total).before("orders", "total", take));
    let refused = Site::builder().await.program(twice).try_open().await.err().expect("refused");
    let detail = refused.detail();
    assert!(detail.contains("two hooks before writes of orders are named total"), "{detail}");
}
