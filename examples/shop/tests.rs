use std::{net::SocketAddr, time::Duration};

use axum::{Router, extract::ConnectInfo};
use cms_core::{content, settings::LimiterStore, testing::TestSite};
use cms_http::{
    Api,
    testing::{Ask, ask},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{application, orders::Order, shop};

content! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    struct Product in "products" {
        id: i64,
        name: String,
        price_cents: i64,
        stock: i64,
    }
}

const ANNA: &str = "anna@example.org";
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A shop that has ten bells.
async fn with_bells() -> (TestSite, Router) {
    let site = TestSite::builder().await.with(|site| shop(site).expect("a manifest"));
    let site = site.settings(|settings| settings.limiter.store = LimiterStore::Memory);
    let site = site.open().await;
    let bell = Product { id: 0, name: "Bell".to_owned(), price_cents: 990, stock: 10 };
    site.make(1, |_| bell.clone()).await;
    let api = Api::new(site.cms.clone()).expect("an API");
    (site, application(api))
}

/// Asks for a code, and returns it as the mail says it.
async fn code(site: &TestSite, shop: &Router, mail: &str) -> String {
    ask(shop, "POST /api/checkout/code").json(json!({"mail": mail})).expect(202).await;
    site.step_until_idle().await;
    let sent = site.mails().pop().expect("a mail");
    assert_eq!(sent.to, mail.to_lowercase());
    sent.text.trim().rsplit(' ').next().expect("a code").to_owned()
}

/// Logs in, and returns the cookie.
async fn cookie(site: &TestSite, shop: &Router, mail: &str) -> String {
    let code = code(site, shop, mail).await;
    let proof = || ask(shop, "POST /api/checkout/login").json(json!({"code": code}));
    let begun = proof().expect(204).await;
    proof().refused(401, "invalid_code").await;
    begun.header("set-cookie").split(';').next().expect("a cookie").to_owned()
}

/// A request that a page of the shop sends.
fn page(shop: &Router, cookie: &str, line: &str) -> Ask<Router> {
    ask(shop, line).header("cookie", cookie).header("origin", "https://cms.test")
}

fn order(shop: &Router, cookie: &str, amount: i64) -> Ask<Router> {
    let order = json!({"product_id": 1, "amount": amount});
    page(shop, cookie, "POST /api/shop/order").json(order)
}

async fn stock(site: &TestSite) -> i64 {
    site.cms.items().of::<Product>().get(1).await.expect("a product").stock
}

#[tokio::test]
async fn an_order_is_placed_and_cancelled() {
    let (site, shop) = with_bells().await;
    let anna = cookie(&site, &shop, "Anna@Example.org").await;
    site.fired().await;

    let placed = order(&shop, &anna, 4).expect(200).await.data();
    assert_eq!((&placed["customer"], &placed["price_cents"]), (&json!(ANNA), &json!(990)));
    assert_eq!(site.fired().await, ["item.orders.created", "shop.ordered"]);
    site.step_until_idle().await;
    let mail = site.mails().pop().expect("a mail");
    assert_eq!((mail.to.as_str(), mail.text.trim()), (ANNA, "Order 1: 39.60 in all."));
    assert_eq!(stock(&site).await, 6);

    let list = async |cookie: &str| {
        let list = ask(&shop, "GET /api/shop/orders").header("cookie", cookie);
        list.expect(200).await.data()
    };
    assert_eq!(list(&anna).await, json!([placed]));
    let bert = cookie(&site, &shop, "bert@example.org").await;
    assert_eq!(list(&bert).await, json!([]));
    let cancel = |cookie| page(&shop, cookie, "DELETE /api/shop/order/1");
    cancel(&bert).refused(404, "not_found").await;
    for _ in 0..2 {
        assert_eq!(cancel(&anna).expect(200).await.data()["cancelled"], true);
        assert_eq!(stock(&site).await, 10);
    }
    site.close().await;
}

#[tokio::test]
async fn what_is_refused_leaves_nothing() {
    let (site, shop) = with_bells().await;
    let anna = cookie(&site, &shop, ANNA).await;
    let mails = site.mails().len();
    site.fired().await;
    let told = order(&shop, &anna, 11).refused(409, "conflict").await.json();
    assert_eq!(told["detail"], "10 of Bell are left.");
    let send = || page(&shop, &anna, "POST /api/shop/order");
    let other = send().json(json!({"product_id": 2, "amount": 1}));
    for (refused, field) in [(order(&shop, &anna, 0), "amount"), (other, "product_id")] {
        let told = refused.refused(422, "validation_failed").await.json();
        assert_eq!(told["errors"][0]["field"], field);
    }
    order(&shop, "__Host-customer=guessed", 1).refused(401, "login_required").await;
    send().body("{").refused(400, "bad_json").await;
    let wanted = json!({"product_id": 1, "amount": 1}).to_string();
    // The form of a page can send text, but not JSON.
    let form = send().header("content-type", "text/plain").body(wanted.clone());
    form.refused(422, "validation_failed").await;
    let elsewhere = || ask(&shop, "POST /api/shop/order").header("cookie", &anna);
    elsewhere().body(wanted.clone()).refused(403, "csrf").await;
    let elsewhere = elsewhere().header("origin", "https://evil.test").body(wanted);
    elsewhere.refused(403, "origin_not_allowed").await;
    site.step_until_idle().await;
    assert_eq!((site.fired().await, site.mails().len()), (Vec::new(), mails));
    assert_eq!(stock(&site).await, 10);
    site.close().await;
}

#[tokio::test]
async fn two_do_not_get_the_last_one_both() {
    let (site, shop) = with_bells().await;
    let anna = cookie(&site, &shop, ANNA).await;
    let bert = cookie(&site, &shop, "bert@example.org").await;
    let both = tokio::join!(order(&shop, &anna, 6).send(), order(&shop, &bert, 6).send());
    let mut both = [both.0.status.as_u16(), both.1.status.as_u16()];
    both.sort_unstable();
    assert_eq!((both, stock(&site).await), ([200, 409], 4));
    site.close().await;
}

/// Editors write through the API, where the same hooks run.
#[tokio::test]
async fn the_stock_is_right_whoever_writes() {
    let (site, shop) = with_bells().await;
    let key = site.key(&["*"]).await;
    let send = |line: &str, body| ask(&shop, line).key(&key).json(body);
    let new = json!({"customer": ANNA, "product_id": 1, "amount": "3", "cancelled": true});
    send("POST /api/backend/item?table=orders", new).expect(201).await;
    assert_eq!(stock(&site).await, 10);
    let ordered = async || {
        let bell = ask(&shop, "GET /api/backend/item?table=products&id=1").key(&key);
        bell.expect(200).await.data()["ordered"].take()
    };
    assert_eq!(ordered().await, 0);
    let one = "PATCH /api/backend/item?table=orders&id=1";
    for (patch, left) in [
        (json!({"cancelled": false}), 7),
        (json!({"amount": 9}), 1),
        (json!({"customer": "bert@example.org"}), 1),
        (json!({"amount": 2}), 8),
    ] {
        send(one, patch).expect(200).await;
        assert_eq!(stock(&site).await, left);
    }
    assert_eq!(ordered().await, 2);
    send(one, json!({"amount": 11})).refused(409, "conflict").await;
    send(one, json!({"product_id": 2})).refused(422, "validation_failed").await;
    let product = "PATCH /api/backend/item?table=products&id=1";
    send(product, json!({"stock": -1})).refused(422, "validation_failed").await;
    ask(&shop, "DELETE /api/backend/item?table=orders&id=1").key(&key).expect(204).await;
    assert_eq!(stock(&site).await, 10);

    // The login of the shop opens nothing of the site, and takes nothing from its staff.
    let anna = cookie(&site, &shop, ANNA).await;
    let orders = || ask(&shop, "GET /api/backend/item?table=orders").header("cookie", &anna);
    orders().refused(401, "login_required").await;
    orders().key(&key).expect(200).await;
    site.close().await;
}

#[tokio::test]
async fn codes_and_sessions_end() {
    let (site, shop) = with_bells().await;
    let anna = cookie(&site, &shop, ANNA).await;
    let late = code(&site, &shop, ANNA).await;
    let kept = "select count(*) from logins";
    let kept = async || site.cms.db().sql(kept).rows::<(i64,)>().await.expect("a count");
    order(&shop, &format!("__Host-customer={late}"), 1).refused(401, "login_required").await;
    // The task has not removed the code yet.
    site.clock.advance(15 * 60_000);
    assert_eq!(kept().await, [(2,)]);
    let proof = ask(&shop, "POST /api/checkout/login").json(json!({"code": late}));
    proof.refused(401, "invalid_code").await;
    site.forward(60 * MINUTE).await;
    assert_eq!(kept().await, [(1,)]);
    order(&shop, &anna, 1).expect(200).await;

    site.clock.advance(30 * 24 * 3_600_000);
    assert_eq!(kept().await, [(1,)]);
    order(&shop, &anna, 1).refused(401, "login_required").await;
    site.forward(DAY).await;
    assert_eq!(kept().await, [(0,)]);
    let order_of_anna = site.cms.items().of::<Order>().get(1).await.expect("an order");
    assert_eq!(order_of_anna.customer, ANNA);

    let anna = cookie(&site, &shop, ANNA).await;
    page(&shop, &anna, "POST /api/shop/logout").expect(204).await;
    order(&shop, &anna, 1).refused(401, "login_required").await;
    site.close().await;
}

#[tokio::test]
async fn nobody_asks_for_codes_without_end() {
    let (site, shop) = with_bells().await;
    let from = |last: u8| ConnectInfo(SocketAddr::from(([192, 0, 2, last], 50_000)));
    let login = |last, mail: &str| {
        let login = ask(&shop, "POST /api/checkout/code").extension(from(last));
        login.json(json!({"mail": mail}))
    };
    for _ in 0..10 {
        login(1, ANNA).expect(202).await;
    }
    let refused = login(1, ANNA).refused(429, "rate_limited").await;
    assert!(refused.header("retry-after").parse::<u64>().expect("seconds") > 0);
    // The limit holds for this mail from another address, and for this address at another endpoint.
    login(2, ANNA).refused(429, "rate_limited").await;
    let guess = |last| {
        let guess = ask(&shop, "POST /api/checkout/login").extension(from(last));
        guess.json(json!({"code": "1"}))
    };
    guess(1).refused(429, "rate_limited").await;
    guess(3).refused(401, "invalid_code").await;
    let wrong = login(3, "anna");
    assert_eq!(wrong.refused(422, "validation_failed").await.json()["errors"][0]["field"], "mail");
    site.close().await;
}
