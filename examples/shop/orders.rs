//! Orders as customers place, cancel and list them.

use axum::extract::{Path, State};
use cms_core::{
    Cms, Code, Error,
    items::{Query, desc, eq},
    mail::{Mail, MailAddress, Subject},
};
use serde::Deserialize;

use crate::{
    answer::{Answer, Sent, json_of},
    customers::Customer,
    stock::{Order, Ordered},
};

#[derive(Deserialize)]
pub struct Wanted {
    product: i64,
    amount: i64,
}

/// `POST /orders {"product", "amount"}`: writes order, stock, event, mail and audit
/// row, or nothing.
pub async fn place(
    State(cms): State<Cms>,
    customer: Customer,
    Sent(wanted): Sent<Wanted>,
) -> Answer {
    let to = MailAddress::parse(customer.mail())?;
    let mut change = customer.change(&cms).await?;
    let order = Order {
        id: 0,
        customer: customer.mail().to_owned(),
        product_id: wanted.product,
        amount: wanted.amount,
        price_cents: None,
        cancelled: false,
    };
    let order = cms.items().of::<Order>().create(&mut change, &order).await?;
    // `emit` takes JSON. `raise` takes a type, and also writes a row of the audit log.
    change.raise(&Ordered { order: order.id }).await?;
    let cents = order.price_cents.unwrap_or_default() * order.amount;
    let text = format!("Order {}: {}.{:02} in all.", order.id, cents / 100, cents % 100);
    let mail = Mail::new("shop.ordered", to, Subject::of("Your order"), text);
    cms.mail().queue(&mut change, &mail).await?;
    change.commit().await?;
    json_of(&order)
}

/// `DELETE /orders/7`: cancels an order. The hook `take` puts its amount back into the stock.
pub async fn cancel(State(cms): State<Cms>, customer: Customer, Path(id): Path<i64>) -> Answer {
    let mut change = customer.change(&cms).await?;
    let orders = cms.items().of::<Order>();
    let own = Query::new().filter("id", eq(id)).filter("customer", eq(customer.mail()));
    if orders.list_in(&mut change, &own).await?.records.is_empty() {
        return Err(Error::new(Code::NotFound, "You have no such order.").into());
    }
    let order = orders.update(&mut change, id, |order| order.cancelled = true).await?;
    change.commit().await?;
    json_of(&order)
}

/// `GET /orders`: the newest 50 orders of the customer.
pub async fn list(State(cms): State<Cms>, customer: Customer) -> Answer {
    let own = Query::new().filter("customer", eq(customer.mail())).sort(desc("id")).limit(50);
    json_of(&cms.items().of::<Order>().list(&own).await?.records)
}
