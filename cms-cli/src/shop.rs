//! A plugin in Rust: tables, buttons, a script, endpoints, an event, a task, a widget.
//!
//! The sites of `cms serve --demo` contain it, and so does the example `shop`. `shop.json`
//! declares; this file acts.

use cms_core::{
    Code, Error, Result,
    items::{IfMatch, Items, Query},
    parse_rfc3339,
    plugins::{
        ContentCall, EndpointCall, Handlers, Manifest, PlacedWidget, Plugin, ScriptCall,
        ScriptReply, TaskRun, WidgetContent,
    },
    rfc3339,
};
use futures_util::{StreamExt as _, future::BoxFuture, stream};
use serde_json::{Map, Value as Json, json};

/// Purchases that nobody paid for this long are cancelled.
const PATIENCE_MS: i64 = 24 * 3_600_000;
/// The value of `purchases.status`; 0 is open, 1 is paid.
const CANCELLED: i64 = 2;

pub(crate) struct Shop(Manifest);

impl Shop {
    pub(crate) fn new() -> Result<Self> {
        let manifest = serde_json::from_str(include_str!("../demo/shop.json"));
        Ok(Self(manifest.map_err(Error::internal)?))
    }
}

impl Plugin for Shop {
    fn manifest(&self) -> Manifest {
        self.0.clone()
    }

    fn handlers(&self) -> Handlers {
        Handlers::default()
            .endpoint("offers", &["products"], offers)
            .endpoint("purchase", &[], purchase)
            .script("purchases/export.php", export)
            .content("Turnover", turnover)
            .task("cancel", cancel)
            .icon("product.svg", include_bytes!("../demo/product.svg"))
            .widget(NewestPosts)
    }
}

/// `blogpreview`: the newest posts of the blog in the language of the page; nothing without a blog.
struct NewestPosts;

impl WidgetContent for NewestPosts {
    fn name(&self) -> &str {
        "blogpreview"
    }

    fn version(&self) -> &str {
        "1.0.0"
    }

    fn tables(&self) -> Option<Vec<String>> {
        Some(vec!["blog".to_owned()])
    }

    fn content<'a>(&'a self, widget: &'a PlacedWidget, _: bool) -> BoxFuture<'a, Result<Json>> {
        Box::pin(async move {
            let limit = widget.amount("amount", 3, 20).to_string();
            let wanted = [
                ("language", widget.language.as_str()),
                ("filter[published]", "true"),
                ("sort", "-published_at"),
                ("fields", "id,title,slug,teaser,published_at,reading_minutes"),
                ("limit", limit.as_str()),
            ];
            match rows(widget.records(), "blog", &wanted).await {
                Ok(posts) => Ok(json!({"posts": posts})),
                Err(error) if error.code() == Code::UnknownTable => Ok(Json::Null),
                Err(error) => Err(error),
            }
        })
    }
}

/// `GET /api/bikeshop_products?kind=`: what can be bought, kept in the cache until
/// a product changes.
async fn offers(call: EndpointCall) -> Result<Json> {
    let mut wanted = vec![("filter[on_sale]", "true"), ("sort", "name"), ("limit", "500")];
    wanted.extend(call.parameter("kind").map(|kind| ("filter[kind]", kind)));
    rows(&call.items, "products", &wanted).await
}

/// `POST /api/bikeshop_purchase {"product_id", "mail", "amount"}`: row, event and audit row are
/// written together, or not at all.
async fn purchase(call: EndpointCall) -> Result<Json> {
    let product = call.body["product_id"].to_string();
    let product: Json = read(&call.items.get("products", &product, &Query::default()).await?)?;
    if product["on_sale"] != true {
        let detail = format!("{} is not on sale.", product["name"]);
        return Err(Error::new(Code::Conflict, detail));
    }
    if !call.body["amount"].as_i64().is_some_and(|amount| (1..=100).contains(&amount)) {
        let message = "a whole number from 1 to 100 is expected";
        return Err(Error::invalid_field("amount", "out_of_range", message));
    }
    let mut change = call.change().await?;
    let purchase = json!({
        "product_id": call.body["product_id"],
        "mail": call.body["mail"],
        "amount": call.body["amount"],
        "purchased_at": rfc3339(change.now()),
    });
    let made = call.items.create(&mut change, "purchases", &members(purchase)).await?;
    change
        .emit("bikeshop.purchased", json!({"purchase": made.key, "product": product["name"]}))
        .await?;
    change.commit().await?;
    Ok(json!({"purchase": made.key}))
}

/// The button `export`: the last 500 purchases, safe to open in a spreadsheet.
async fn export(call: ScriptCall) -> Result<ScriptReply> {
    let purchases = rows(call.items(), "purchases", &[("sort", "-id"), ("limit", "500")]).await?;
    let names = ["id", "purchased_at", "mail", "amount", "status"];
    let line = move |purchase: &Json| {
        let cell = |name: &&str| match &purchase[*name] {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        Ok(names.iter().map(cell).collect::<Vec<_>>())
    };
    let lines: Vec<_> = purchases.as_array().into_iter().flatten().map(line).collect();
    Ok(ScriptReply::Csv {
        save_as: "purchases.csv".to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        rows: stream::iter(lines).boxed(),
    })
}

/// The button `turnover` of a product: how many of it were bought.
async fn turnover(call: ContentCall) -> Result<Json> {
    let product = call.row().unwrap_or_default();
    let wanted = [("filter[product_id]", product), ("limit", "500")];
    let purchases = rows(call.items(), "purchases", &wanted).await?;
    let amounts = purchases.as_array().into_iter().flatten();
    Ok(json!({"bought": amounts.filter_map(|purchase| purchase["amount"].as_i64()).sum::<i64>()}))
}

/// The task `cancel`, once an hour. A purchase that is paid meanwhile has another tag, so it stays
/// as it is.
async fn cancel(run: TaskRun) -> Result<()> {
    let items = run.items();
    let wanted = [("filter[status]", "0"), ("sort", "purchased_at"), ("limit", "500")];
    let cancelled = members(json!({"status": CANCELLED}));
    for listed in rows(items, "purchases", &wanted).await?.as_array().into_iter().flatten() {
        let id = listed["id"].to_string();
        // Read before the change: what a change holds, others wait for.
        let record = items.get("purchases", &id, &Query::default()).await?;
        let purchase = read(&record)?;
        if purchase["status"] != 0 {
            continue;
        }
        let mut change = run.change().await?;
        let purchased_at = purchase["purchased_at"].as_str().and_then(parse_rfc3339);
        if purchased_at.is_none_or(|at| change.now() - at < PATIENCE_MS) {
            break;
        }
        let unchanged = IfMatch::Tags(vec![items.etag("purchases", &record)]);
        match items.update(&mut change, "purchases", &id, None, &unchanged, &cancelled).await {
            Ok(_) => change.commit().await?,
            Err(error) if error.code() == Code::Stale => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn rows(items: &Items, table: &str, wanted: &[(&str, &str)]) -> Result<Json> {
    let list = items.list(table, &Query::parse(wanted.iter().copied())?).await?;
    read(&format!("[{}]", list.records))
}

fn read(json: &str) -> Result<Json> {
    serde_json::from_str(json).map_err(Error::internal)
}

fn members(object: Json) -> Map<String, Json> {
    object.as_object().cloned().unwrap_or_default()
}
