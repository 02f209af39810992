//! Products and orders: how customers place, cancel and list orders, and the rules of the stock for
//! everybody who writes, such as an editor or an import over the API.

use std::collections::BTreeMap;

use cms_core::{
    Code, Error, Result, content,
    items::{Query, Read, Write, WriteKind, desc, eq},
    mail::{Mail, MailAddress, Subject},
    plugins::{EndpointCall, EndpointReply},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::customers::customer;

content! {
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Order in "orders" {
        pub id: i64,
        pub customer: String,
        pub product_id: i64,
        pub amount: i64,
        pub price_cents: Option<i64>,
        pub cancelled: bool,
    }
}

#[derive(Deserialize)]
struct Wanted {
    product_id: i64,
    amount: i64,
}

/// `POST /api/shop/order {"product_id", "amount"}`: writes order, stock, event, mail and audit
/// rows, or nothing.
pub async fn place(call: EndpointCall) -> Result<EndpointReply> {
    let customer = customer(&call)?.to_owned();
    let to = MailAddress::parse(&customer)?;
    let Wanted { product_id, amount } = call.body_as()?;
    let order = Order { customer, product_id, amount, ..Order::default() };
    let mut change = call.change().await?;
    let order = call.items().of::<Order>().create(&mut change, &order).await?;
    change.emit("shop.ordered", json!({"order": order.id})).await?;
    let cents = order.price_cents.unwrap_or_default() * order.amount;
    let text = format!("Order {}: {}.{:02} in all.", order.id, cents / 100, cents % 100);
    let mail = Mail::new("shop.ordered", to, Subject::of("Your order"), text);
    call.cms()?.mail().queue(&mut change, &mail).await?;
    change.commit().await?;
    Ok(EndpointReply::data(&order))
}

/// `DELETE /api/shop/order/7`: cancels an order. The hook `take` puts its amount back into the
/// stock.
pub async fn cancel(call: EndpointCall) -> Result<EndpointReply> {
    let (customer, id) = (customer(&call)?, call.parameter("id").unwrap_or_default());
    let mut change = call.change().await?;
    let orders = call.items().of::<Order>();
    let own = Query::new().filter("id", eq(id)).filter("customer", eq(customer));
    let order = orders.list_in(&mut change, &own).await?.records.pop();
    let order = order.ok_or_else(|| Error::new(Code::NotFound, "You have no such order."))?;
    let order = orders.update(&mut change, order.id, |order| order.cancelled = true).await?;
    change.commit().await?;
    Ok(EndpointReply::data(&order))
}

/// `GET /api/shop/orders`: the newest 50 orders of the customer.
pub async fn list(call: EndpointCall) -> Result<EndpointReply> {
    let own = Query::new().filter("customer", eq(customer(&call)?)).sort(desc("id")).limit(50);
    Ok(EndpointReply::data(&call.items().of::<Order>().list(&own).await?.records))
}

/// Refuses a price or a stock below 0 or above 100 million.
pub async fn check(write: Write<'_>) -> Result<()> {
    for column in ["price_cents", "stock"] {
        if write.value(column).as_i64().is_some_and(|number| !(0..=100_000_000).contains(&number)) {
            return Err(write.refuse(column, "is from 0 to 100 million"));
        }
    }
    Ok(())
}

/// Takes the amount of an order from the stock. A cancelled or deleted order puts it back.
pub async fn take(mut write: Write<'_>) -> Result<()> {
    let before = write.old().map_or(0, |old| held(&old["amount"], &old["cancelled"]));
    let after = match (write.kind(), write.value("amount").as_i64()) {
        (WriteKind::Delete, _) => 0,
        (_, Some(1..=100)) => held(write.value("amount"), write.value("cancelled")),
        _ => return Err(write.refuse("amount", "order 1 to 100")),
    };
    let product = write.value("product_id").clone();
    if write.old().is_some_and(|old| old["product_id"] != product) {
        return Err(write.refuse("product_id", "an order keeps its product"));
    }
    // Locks the row until the end of the change, so that the last piece is never sold twice.
    let sql = "update products set stock = stock - $1 where id = $2 \
               returning name, price_cents, stock";
    let taken = write.items.sql(write.change, sql).touches(["products"]).bind(after - before);
    let taken = taken.bind(product.as_i64().unwrap_or_default());
    let Some((name, price_cents, left)) = taken.optional::<(String, i64, i64)>().await? else {
        return Err(write.refuse("product_id", "there is no such product"));
    };
    if left < 0 {
        // The error undoes the update.
        let stock = left + after - before;
        return Err(Error::new(Code::Conflict, format!("{stock} of {name} are left.")));
    }
    if write.kind() == WriteKind::Create {
        write.set("price_cents", price_cents);
    }
    Ok(())
}

/// Adds to each product that the API shows how many of it are ordered. One query serves all
/// products of a reply.
pub async fn ordered(read: Read<'_>) -> Result<()> {
    let ids = read.records.iter().filter_map(|product| product.get("id")?.as_i64());
    let Some((first, last)) = ids.clone().min().zip(ids.max()) else { return Ok(()) };
    let sql = "select product_id, cast(sum(amount) as bigint) from orders \
               where product_id between $1 and $2 and not cancelled group by product_id";
    let sums = read.cms()?.db().sql(sql).bind(first).bind(last).rows::<(i64, i64)>().await?;
    let sums: BTreeMap<i64, i64> = sums.into_iter().collect();
    for product in read.records {
        let sum = product.get("id").and_then(Json::as_i64).and_then(|id| sums.get(&id));
        product.insert("ordered".to_owned(), sum.copied().unwrap_or_default().into());
    }
    Ok(())
}

fn held(amount: &Json, cancelled: &Json) -> i64 {
    if cancelled == true { 0 } else { amount.as_i64().unwrap_or_default() }
}
