//! A program on top of a site: records as Rust values, a hook, and SQL of its own in one change.
//!
//! `cargo run -p cms-examples --example extend`

use cms_core::{
    Actor, Builder, Cms, Code, Error, OwnTables, Result, Work, content,
    db::read_error,
    items::{Query, Write, WriteKind, column, desc, eq, gte},
    plugins::{Act, EventCall, Handlers, Manifest, Plugin, TaskRun},
    settings::Settings,
    sqlx,
    webhooks::Consumer,
};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::json;

content! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    struct Stock in "stock" {
        id: i64,
        sku: String,
        amount: i64,
        price: f64,
    }
}

content! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    struct Order in "orders" {
        id: i64,
        sku: String,
        amount: i64,
        total: Option<f64>,
    }
}

content! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    struct Parcel in "parcels" {
        id: i64,
        of: i64,
    }
}

const LEDGER: OwnTables = OwnTables::new(
    "ledger",
    &["ledger"],
    &[
        "create table ledger (id {{id}}, of BIGINT not null, cents BIGINT not null) {{strict}}",
        "create index ledger_by_order on ledger (of)",
    ],
);

struct Shop(Manifest);

impl Shop {
    fn new() -> Result<Self> {
        let manifest = json!({"id": "shop", "tables": [
            {"name": "stock", "columns": [
                {"name": "sku", "type": "text", "required": true, "unique": true},
                {"name": "amount", "type": "integer", "required": true},
                {"name": "price", "type": "decimal", "required": true},
            ]},
            {"name": "orders", "columns": [
                {"name": "sku", "type": "text", "required": true},
                {"name": "amount", "type": "integer", "required": true},
                {"name": "total", "type": "decimal"},
            ]},
            {"name": "parcels", "columns": [{"name": "of", "type": "integer", "required": true}]},
        ], "webhook_events": [{"name": "shop.ordered", "description": "An order was made."}],
        "tasks": [{"name": "restock", "interval_s": 86_400, "handler": "restock"}]});
        Ok(Self(serde_json::from_value(manifest).map_err(Error::internal)?))
    }
}

impl Plugin for Shop {
    fn manifest(&self) -> Manifest {
        self.0.clone()
    }

    fn handlers(&self) -> Handlers {
        Handlers::default()
            .before("orders", "take", take)
            .guard("shop.ordered", "trust", trust)
            .on("shop.ordered", "pack", pack)
            .task("restock", restock)
    }
}

/// Takes each new order's amount from the stock. The hook also runs for requests and imports.
async fn take(mut write: Write<'_>) -> Result<()> {
    if write.kind() != WriteKind::Create {
        return Ok(());
    }
    let Some(amount @ 1..=100) = write.value("amount").as_i64() else {
        return Err(write.refuse("amount", "order 1 to 100"));
    };
    let sku = write.value("sku").as_str().unwrap_or_default().to_owned();
    let sql = "update stock set amount = amount - $1 where sku = $2 and amount >= $1 \
               returning cast(price * $1 as double precision)";
    let left = write.items.sql(write.change, sql).touches(["stock"]).bind(amount).bind(&sku);
    let Some((total,)) = left.optional::<(f64,)>().await? else {
        return Err(Error::new(Code::Conflict, format!("Too few of {sku} are left.")));
    };
    write.set("total", (total * 100.0).round() / 100.0);
    Ok(())
}

/// Refuses an order for more than the shop trusts anybody with.
async fn trust(act: Act<'_>) -> Result<()> {
    match act.data()["total"].as_f64() {
        Some(total) if total > 50.0 => Err(act.refuse("total", "at most 50")),
        _ => Ok(()),
    }
}

/// Fills up what has run low, once a day.
async fn restock(run: TaskRun) -> Result<()> {
    let mut change = run.change().await?;
    let low = run.items().sql(&mut change, "update stock set amount = 10 where amount < 3");
    low.touches(["stock"]).run().await?;
    change.commit().await
}

/// Makes a parcel for each order after the order was committed.
async fn pack(call: EventCall) -> Result<()> {
    #[derive(Deserialize)]
    struct Ordered {
        order: i64,
    }
    let ordered: Ordered = call.event().data_as()?;
    let mut change = call.change().await?;
    let parcel = Parcel { id: 0, of: ordered.order };
    call.items().of::<Parcel>().create(&mut change, &parcel).await?;
    change.commit().await
}

/// Adds the program's tables, plugin and types to a site. Each type is compared with its table.
fn shop(builder: Builder) -> Result<Builder> {
    let builder = builder.own_tables(LEDGER).plugin(Shop::new()?);
    Ok(builder.content::<Stock>().content::<Order>().content::<Parcel>())
}

async fn open(folder: &std::path::Path) -> Result<Cms> {
    let mut settings = Settings::default();
    settings.dirs.data = folder.to_owned();
    shop(Cms::builder(settings))?.open().await
}

/// Writes order, stock, ledger and event: all of them or none.
async fn order(cms: &Cms, sku: &str, amount: i64) -> Result<Order> {
    let orders = cms.items().of::<Order>();
    let mut change = cms.change(Actor::Operator).await?;
    let wanted = Order { id: 0, sku: sku.to_owned(), amount, total: None };
    let made = orders.create(&mut change, &wanted).await?;
    let cents = (made.total.unwrap_or_default() * 100.0).round() as i64;
    let booked = "insert into ledger (of, cents) values ($1, $2)";
    let booked = cms.items().sql(&mut change, booked).touches(["ledger"]);
    booked.bind(made.id).bind(cents).run().await?;
    change.emit("shop.ordered", json!({"order": made.id, "total": made.total})).await?;
    change.commit().await?;
    Ok(made)
}

/// The orders that brought in at least `cents`, read outside of any change.
async fn booked(cms: &Cms, cents: i64) -> Result<Vec<(i64, i64)>> {
    let query = "select of, cents from ledger where cents >= $1 order by id";
    cms.db().sql(query).bind(cents).rows().await
}

/// Sums the ledger with sqlx itself, row by row.
async fn sum(cms: &Cms) -> Result<i64> {
    let Some(pool) = cms.db().sqlite() else { return Ok(0) };
    let query = sqlx::query_as::<_, (i64, i64)>("select of, cents from ledger");
    let (mut rows, mut sum) = (query.fetch(pool), 0);
    while let Some((_, cents)) = rows.try_next().await.map_err(read_error)? {
        sum += cents;
    }
    Ok(sum)
}

/// Follows new parcels, from where the last run of the program stopped.
async fn send(mut parcels: Consumer) {
    while let Some(event) = parcels.next().await {
        println!("{}: {}", event.event, event.data);
        // After an error the same event comes again.
        if let Err(error) = parcels.finish().await {
            eprintln!("{error}");
        }
    }
}

async fn tour(folder: &std::path::Path) -> Result<Vec<String>> {
    let cms = open(folder).await?;
    let mut change = cms.change(Actor::Operator).await?;
    cms.items().of::<Stock>().create(&mut change, &bells(10)).await?;
    change.commit().await?;

    // Of the background work, this program needs only the handlers of events. A program that also
    // sends mails and webhooks and runs tasks keeps `cms.background()`.
    let background = cms.background_of(&[Work::Events]);
    let mut packed = cms.events().subscribe("item.parcels.created").live().await?;
    let parcels = cms.events().subscribe("item.parcels.created").named("sender").await?;
    let sending = tokio::spawn(send(parcels));

    let made = order(&cms, "bell", 4).await?;
    let mut told = vec![format!("order {} for {:?}", made.id, made.total.unwrap_or_default())];

    let large = Query::new().filter("total", gte(10)).sort(desc("id")).limit(20);
    let large = cms.items().of::<Order>().list(&large).await?.records;
    told.push(format!("{} large order", large.len()));
    let watched = Query::new().any([column("total", gte(10)), column("sku", eq("gift"))]);
    let watched = cms.items().of::<Order>().list(&watched).await?.records;
    told.push(format!("{} order to watch", watched.len()));
    for (order, cents) in booked(&cms, 1000).await? {
        told.push(format!("{cents} of {} cents by order {order}", sum(&cms).await?));
    }
    packed.next().await;
    let parcels = cms.items().of::<Parcel>().list(&Query::new()).await?.records;
    told.extend(parcels.iter().map(|parcel| format!("a parcel for order {}", parcel.of)));
    background.stop().await;
    cms.close().await;
    // The consumer ends when the site is closed.
    drop(sending.await);
    Ok(told)
}

fn bells(amount: i64) -> Stock {
    Stock { id: 0, sku: "bell".to_owned(), amount, price: 9.9 }
}

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    for line in tour(folder.path()).await? {
        println!("{line}");
    }
    Ok(())
}

#[tokio::test]
async fn the_tour_ends_with_a_parcel() -> Result<()> {
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    let told = ["order 1 for 39.6", "1 large order", "1 order to watch"];
    let more = ["3960 of 3960 cents by order 1", "a parcel for order 1"];
    let told = [&told[..], &more].concat();
    assert_eq!(tour(folder.path()).await?, told);
    Ok(())
}

#[cfg(test)]
use cms_core::testing::TestSite;

#[tokio::test]
async fn an_order_takes_from_the_stock_and_is_packed() -> Result<()> {
    let site = TestSite::builder().await.with(|site| shop(site).expect("a manifest")).open().await;
    let stock = site.make(1, |_| bells(10)).await;
    let warehouse = site.receiver(&["shop.ordered"]).await;
    site.fired().await;

    let made = order(&site.cms, "bell", 4).await?;
    assert_eq!(site.fired().await, ["item.orders.created", "shop.ordered"]);
    // Runs handlers and sends webhooks now, not some time later.
    site.step_until_idle().await;
    assert_eq!(site.fired().await, ["item.parcels.created"]);
    let sent = warehouse.deliveries();
    assert_eq!(sent[0].json()["data"], json!({"order": made.id, "total": 39.6}));

    // A refused order writes nothing, whether the hook refuses it or the guard.
    let refused = order(&site.cms, "bell", 7).await.expect_err("6 are left");
    assert_eq!(refused.to_string(), "conflict: Too few of bell are left.");
    let refused = order(&site.cms, "bell", 6).await.expect_err("59.4 is too much");
    assert_eq!(refused.fields()[0].message, "at most 50");
    assert_eq!(site.fired().await, [""; 0]);
    let left = async || site.cms.items().of::<Stock>().get(stock[0].id).await;
    assert_eq!(left().await?.amount, 6);

    order(&site.cms, "bell", 4).await?;
    site.forward(std::time::Duration::from_secs(86_400)).await;
    assert_eq!(left().await?.amount, 10, "the task has run");
    site.close().await;
    Ok(())
}
