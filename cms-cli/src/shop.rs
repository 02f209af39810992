//! A plugin in Rust: tables, buttons, a script, endpoints, an event, a task, a widget.
//!
//! The sites of `cms serve --demo` contain this plugin. `shop.json` declares it; this file
//! holds its code.

use cms_core::{
    Code, Error, Result, content,
    items::{Query, Write, WriteKind, asc, desc, eq},
    parse_rfc3339,
    plugins::{
        ContentCall, EndpointCall, Handlers, Manifest, PlacedWidget, Plugin, ScriptCall,
        ScriptReply, TaskRun, WidgetContent,
    },
    rfc3339,
};
use futures_util::{StreamExt as _, TryStreamExt as _, future::BoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Unpaid purchases are cancelled after this time.
const PATIENCE_MS: i64 = 24 * 3_600_000;
/// Values of `purchases.status`; 1 is paid.
const OPEN: i64 = 0;
const CANCELLED: i64 = 2;

content! {
    #[derive(Serialize, Deserialize)]
    struct Product in "products" {
        id: i64,
        name: String,
        price: f64,
        kind: String,
        on_sale: bool,
    }
}

content! {
    #[derive(Serialize, Deserialize)]
    struct Purchase in "purchases" {
        id: i64,
        product_id: i64,
        mail: String,
        amount: i64,
        status: i64,
        purchased_at: String,
    }
}

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
            .before("purchases", "check", check)
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
            let fields = ["id", "title", "slug", "teaser", "published_at", "reading_minutes"];
            let wanted = Query::new()
                .language(&widget.language)
                .filter("published", eq(true))
                .sort(desc("published_at"))
                .fields(fields)
                .limit(widget.amount("amount", 3, 20));
            match widget.records().list("blog", &wanted).await {
                Ok(posts) => Ok(json!({"posts": posts.records()?})),
                Err(error) if error.code() == Code::UnknownTable => Ok(Json::Null),
                Err(error) => Err(error),
            }
        })
    }
}

/// Checks a purchase, whoever makes it: a visitor, an editor, an import.
async fn check(mut write: Write<'_>) -> Result<()> {
    if write.kind() != WriteKind::Create {
        return Ok(());
    }
    if !write.value("amount").as_i64().is_some_and(|amount| (1..=100).contains(&amount)) {
        let message = "a whole number from 1 to 100 is expected";
        return Err(Error::invalid_field("amount", "out_of_range", message));
    }
    let Some(product) = write.value("product_id").as_i64() else {
        return Err(write.refuse("product_id", "a product is expected"));
    };
    let product = write.items.of::<Product>().get_in(write.change, product).await?;
    if !product.on_sale {
        return Err(Error::new(Code::Conflict, format!("{} is not on sale.", product.name)));
    }
    if write.value("purchased_at").is_null() {
        write.set("purchased_at", rfc3339(write.change.now()));
    }
    Ok(())
}

/// `GET /api/bikeshop_products?kind=`: products for sale. The cache keeps the reply until a
/// product changes.
async fn offers(call: EndpointCall) -> Result<Json> {
    let mut wanted = Query::new().filter("on_sale", eq(true)).sort(asc("name")).limit(500);
    if let Some(kind) = call.parameter("kind") {
        wanted = wanted.filter("kind", eq(kind));
    }
    Ok(json!(call.items().of::<Product>().list(&wanted).await?.records))
}

/// `POST /api/bikeshop_purchase {"product_id", "mail", "amount"}`: row, event and audit row are
/// written together, or not at all.
async fn purchase(call: EndpointCall) -> Result<Json> {
    let members = call.body().as_object().cloned().unwrap_or_default();
    let sent = ["product_id", "mail", "amount"];
    let members = members.into_iter().filter(|(name, _)| sent.contains(&name.as_str())).collect();
    let mut change = call.change().await?;
    let made = call.items().create(&mut change, "purchases", &members).await?;
    let made: Purchase = made.record.values_as()?;
    let product = call.items().of::<Product>().get_in(&mut change, made.product_id).await?.name;
    change.emit("bikeshop.purchased", json!({"purchase": made.id, "product": product})).await?;
    change.commit().await?;
    Ok(json!({"purchase": made.id}))
}

/// The button `export`: all purchases, the newest first, safe to open in a spreadsheet.
async fn export(call: ScriptCall) -> Result<ScriptReply> {
    let line = |one: Purchase| {
        let (id, amount, status) = (one.id, one.amount, one.status);
        vec![id.to_string(), one.purchased_at, one.mail, amount.to_string(), status.to_string()]
    };
    let purchases = call.items().of::<Purchase>().stream(Query::new().sort(desc("id")));
    Ok(ScriptReply::Csv {
        save_as: "purchases.csv".to_owned(),
        names: ["id", "purchased_at", "mail", "amount", "status"].map(str::to_owned).to_vec(),
        rows: purchases.map_ok(line).boxed(),
    })
}

/// The button `turnover` of a product: how many of it were bought.
async fn turnover(call: ContentCall) -> Result<Json> {
    let product = call.row().unwrap_or_default();
    let purchases = call.items().of::<Purchase>();
    let amounts = purchases.stream(Query::new().filter("product_id", eq(product)));
    let bought = amounts.try_fold(0, async |sum, purchase| Ok(sum + purchase.amount)).await?;
    Ok(json!({"bought": bought}))
}

/// The task `cancel`, run once an hour. It reads each purchase again under a lock, so that one
/// paid meanwhile stays.
async fn cancel(run: TaskRun) -> Result<()> {
    let purchases = run.items().of::<Purchase>();
    let open = Query::new().filter("status", eq(OPEN)).sort(asc("purchased_at")).limit(500);
    for listed in purchases.list(&open).await?.records {
        let mut change = run.change().await?;
        let is_old = |purchase: &Purchase, now: i64| {
            parse_rfc3339(&purchase.purchased_at).is_some_and(|at| now - at >= PATIENCE_MS)
        };
        if !is_old(&listed, change.now()) {
            break;
        }
        let cancelled = purchases.update(&mut change, listed.id, |purchase| {
            if purchase.status == OPEN {
                purchase.status = CANCELLED;
            }
        });
        match cancelled.await {
            Ok(_) => change.commit().await?,
            Err(error) if error.code() == Code::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
