//! SQL of the embedding program: in the same change as records, and nothing that it may not do.

use cms_core::{Actor, Code, items::Query};
use serde_json::{Map, Value as Json, json};

use crate::support::{Site, plugins::plugin};

async fn site() -> Site {
    let manifest = plugin("shop", [("stock", "sku text required unique, amount integer required")]);
    Site::builder().await.plugin(manifest).open().await
}

fn bell() -> Map<String, Json> {
    json!({"sku": "bell", "amount": 5}).as_object().cloned().unwrap()
}

const TAKE: &str = "update stock set amount = amount - $1 where sku = $2 and amount >= $1";

#[tokio::test]
async fn it_sees_what_the_change_wrote_and_goes_with_it() {
    let site = site().await;
    let items = site.cms.items();
    let shown = async || site.items("stock&filter[sku]=bell").await;
    for is_kept in [false, true] {
        let mut change = site.cms.change(Actor::Operator).await.unwrap();
        items.create(&mut change, "stock", &bell()).await.unwrap();
        let taken = items.sql(&mut change, TAKE).touches(["stock"]).bind(2).bind("bell");
        assert_eq!(taken.run().await.unwrap(), 1);
        let rows = items.sql(&mut change, "select sku, amount from stock where amount < $1");
        let rows: Vec<(String, i64)> = rows.bind(4).rows().await.unwrap();
        assert_eq!(rows, [("bell".to_owned(), 3)]);
        // Through the change as it stands, and beside it as it was.
        let found = items.list_in(&mut change, "stock", &Query::new().count()).await.unwrap();
        assert_eq!(found.total, Some(1));
        match is_kept {
            true => change.commit().await.unwrap(),
            false => drop(change),
        }
        let list = shown().await;
        assert_eq!(list.as_array().map(Vec::len), Some(usize::from(is_kept)), "{list}");
    }
    // The reply was kept, and is not served any more.
    let amount = async || shown().await[0]["amount"].as_i64();
    assert_eq!(amount().await, Some(3));
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    items.sql(&mut change, TAKE).touches(["stock"]).bind(1).bind("bell").run().await.unwrap();
    change.commit().await.unwrap();
    assert_eq!(amount().await, Some(2));
}

#[tokio::test]
async fn what_it_may_not_do_is_refused_before_the_database_sees_it() {
    let site = site().await;
    let items = site.cms.items();
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    for (sql, why) in [
        ("commit", "begins with one of"),
        ("  drop table stock", "begins with one of"),
        ("pragma user_version", "begins with one of"),
        ("update stock set amount = 0; commit", "bind texts"),
        ("select 1 /* ' */, (select key_hash from cms_api_keys) /* ' */", "bind texts"),
        ("with x as (select 1) replace into stock select 1", "name the tables"),
        ("insert or rollback into stock (sku) values ($1)", "on conflict"),
        ("select key_hash from cms_api_keys", "belong to the service"),
        ("select 1 from \"CMS_users\"", "belong to the service"),
        ("update settings set value = $1", "through their rooms"),
        ("update stock set amount = 0", "name the tables"),
        ("with x as (select 1) delete from stock", "name the tables"),
        ("delete from stock where sku = $1 or $1 is null", "bind exactly"),
        ("update stock set amount = $2", "bind exactly"),
        ("update stock set amount = $a", "'$' begins a value"),
        ("update sqlite_sequence set seq = (select 0 from stock)", "it changes sqlite_sequence"),
        ("with x as (delete from orders) select * from stock", "it changes orders"),
        ("delete from public.stock", "without its schema"),
    ] {
        let touched = if sql.contains("settings") { ["settings"] } else { ["stock"] };
        let statement = items.sql(&mut change, sql);
        let statement =
            if why == "name the tables" { statement } else { statement.touches(touched) };
        let error = statement.run().await.unwrap_err();
        assert!(format!("{error:?}").contains(why), "{sql}: {error:?}");
    }
    let error = items.sql(&mut change, TAKE).touches(["stok"]).run().await.unwrap_err();
    assert_eq!(error.code(), Code::UnknownTable);
    let surplus = items.sql(&mut change, TAKE).touches(["stock"]).bind(1).bind("bell").bind(2);
    let error = surplus.rows::<(i64,)>().await.unwrap_err();
    assert!(format!("{error:?}").contains("has $1, $2, and 3 were bound"), "{error:?}");
    // PostgreSQL refuses these by itself, or has operators of these names.
    for sql in ["delete from stock where sku = ?", "delete from stock where sku = ?1"] {
        if !site.database.is_postgres() {
            let error = items.sql(&mut change, sql).touches(["stock"]).bind("bell").run().await;
            assert!(format!("{error:?}").contains("values are written as $1"), "{error:?}");
        }
    }
    // None of them reached the database: the change is alive.
    items.create(&mut change, "stock", &bell()).await.unwrap();
    change.commit().await.unwrap();
}

#[tokio::test]
async fn after_a_statement_that_failed_the_change_is_dead_on_both_engines() {
    let site = site().await;
    let items = site.cms.items();
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    items.create(&mut change, "stock", &bell()).await.unwrap();
    let again = "insert into stock (sku, amount) values ($1, $2)";
    let again = items.sql(&mut change, again).touches(["stock"]).bind("bell").bind(1);
    assert_eq!(again.run().await.unwrap_err().code(), Code::Conflict);
    let read = items.get_in(&mut change, "stock", "1", &Query::new()).await.unwrap_err();
    assert!(format!("{read:?}").contains("failed: drop the change"), "{read:?}");
    assert_eq!(change.commit().await.unwrap_err().code(), Code::Internal);
    assert_eq!(site.cms.items().first("stock", &Query::new()).await.unwrap(), None);
}
