//! The client's typed call: what one operation takes and answers, both ways.

use cms_core::keys::NewApiKey;
use cms_http::{
    client::{Client, ClientError},
    wire::{
        self, NoBody, OneOrPage,
        item::{Columns, OneOrMany, Rows, Table, WhichItems},
        parameters::{ById, NoQuery, OneOrList},
    },
};
use serde_json::json;

use crate::support::Site;

#[tokio::test]
async fn an_operation_is_called_by_its_types() {
    let site = Site::open().await;
    let client = Client::local(site.api.clone());
    let new = NewApiKey::new("till");
    let made = client.call::<wire::keys::Create>(&NoQuery {}, &new).await.unwrap().data;
    assert!(made.key.starts_with(&made.record.prefix));

    let one = OneOrList { id: Some(made.record.id), ..OneOrList::default() };
    let read = client.call::<wire::keys::Read>(&one, &NoBody).await.unwrap();
    assert!(matches!(&read, OneOrPage::One(one) if one.data == made.record), "{read:?}");
    let all = client.call::<wire::keys::Read>(&OneOrList::default(), &NoBody).await.unwrap();
    assert!(matches!(&all, OneOrPage::Page(page) if page.data.len() == 2 && page.meta.limit == 50));

    let which = ById { id: made.record.id };
    client.call::<wire::keys::Delete>(&which, &NoBody).await.unwrap();
    let refused = client.call::<wire::keys::Delete>(&which, &NoBody).await.unwrap_err();
    assert!(matches!(refused, ClientError::Problem { ref code, .. } if code == "not_found"));
    let xml = client.call::<wire::pages::Sitemap>(&Default::default(), &NoBody).await.unwrap();
    assert!(xml.0.starts_with("<?xml"), "{}", xml.0);
}

/// The remote client sees no body then, so it must not look for JSON.
#[test]
fn operations_that_answer_204_have_an_empty_reply() {
    use wire::{Operation, ReplyKind};
    assert_eq!(<wire::keys::Delete as Operation>::REPLY, ReplyKind::Empty);
    assert_eq!(<wire::auth::Logout as Operation>::REPLY, ReplyKind::Empty);
    assert_eq!(<wire::keys::Create as Operation>::REPLY, ReplyKind::Json);
    assert_eq!(<wire::pages::Sitemap as Operation>::REPLY, ReplyKind::Text("application/xml"));
}

#[tokio::test]
async fn records_keep_the_order_of_their_columns() {
    let site = Site::open().await;
    let client = Client::local(site.api.clone());
    let table = Table { table: "settings".into(), no_events: None };
    let row = |name: &str| json!({"value": "x", "public": true, "name": name});
    let rows = Rows(Columns(Some(json!([row("a"), row("b")]))));
    let made = client.call::<wire::item::Create>(&table, &rows).await.unwrap().data;
    let OneOrMany::Many(made) = made else { panic!("{made:?}") };

    let asked = WhichItems { table: "settings".into(), ..WhichItems::default() };
    let read = client.call::<wire::item::Read>(&asked, &NoBody).await.unwrap();
    let OneOrPage::Page(page) = read else { panic!("{read:?}") };
    let texts = |records: &[wire::Record]| -> Vec<String> {
        records.iter().map(|record| record.json().to_owned()).collect()
    };
    assert_eq!(texts(&page.data), texts(&made));
    let first = made[0].json();
    let place = |name: &str| first.find(&format!("\"{name}\"")).unwrap();
    assert!(place("name") < place("value") && place("value") < place("public"), "{first}");
}
