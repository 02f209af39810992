//! What a plugin may say of a table that is not its own.

use serde_json::{Value as Json, json};

use super::{Sample, item, matching, truth, walk};
use crate::support::{Site, TestDatabase};

fn plugin(tables: Json) -> Json {
    json!({"id": "other", "tables": tables})
}

async fn refused(database: TestDatabase, tables: Json, about: &str) {
    let error =
        Site::on(database).plugin(plugin(tables)).try_open().await.err().expect("a load error");
    assert!(error.detail().contains(about), "{}", error.detail());
}

#[tokio::test]
async fn a_declaration_narrows_and_renames() {
    let tables = json!([
        {"name": "customers", "source": "Customers", "adopt": true,
         "columns": [{"name": "CompanyName"}, {"name": "City", "type": "select"}]},
        {"name": "details", "source": "Order Details", "adopt": true,
         "columns": [{"name": "Quantity"}]},
        {"name": "Orders", "adopt": true},
        {"name": "amounts", "source": "Order Details Extended", "adopt": true,
         "columns": [{"name": "OrderID"}, {"name": "ProductID"},
                     {"name": "ExtendedPrice", "type": "number"}]},
    ]);
    let site = Site::on(Sample::Northwind.load().await).plugin(plugin(tables)).open().await;
    let one = |table: &str, id: &str| format!("GET {}", item(table, &[("id", id)]));
    let alfki = site.admin(&one("customers", "ALFKI")).expect(200).await;
    assert_eq!(
        alfki.text(),
        r#"{"data":{"CustomerID":"ALFKI","CompanyName":"Alfreds Futterkiste","City":"Berlin"}}"#
    );
    let detail = site.admin(&one("details", "[10248,11]")).expect(200).await;
    assert_eq!(detail.text(), r#"{"data":{"OrderID":10248,"ProductID":11,"Quantity":12}}"#);
    for parameter in ["fields", "sort", "filter[Phone][null]"] {
        let value = if parameter.starts_with("filter") { "true" } else { "Phone" };
        site.admin(&format!("GET {}", item("customers", &[(parameter, value)])))
            .refused(400, "bad_query")
            .await;
    }
    let phone = json!({"Phone": "1"});
    site.admin(&format!("PATCH {}", item("customers", &[("id", "ALFKI")])))
        .json(phone)
        .refused(400, "database_error")
        .await;
    for name in ["Customers", "Order Details", "cms_pages", "sqlite_schema", "pg_class", "Products"]
    {
        site.admin(&format!("GET {}", item(name, &[]))).refused(404, "unknown_table").await;
    }
    // A reference leads to the table under its new name.
    let order = site
        .admin(&format!("GET {}", item("Orders", &[("id", "10248"), ("expand", "CustomerID")])))
        .expect(200)
        .await;
    assert_eq!(order.data()["CustomerID"]["CompanyName"], "Vins et alcools Chevalier");
    // A computed column has no type on SQLite until one is declared.
    let large = matching(&site, "amounts", ("filter[ExtendedPrice][gt]", "2000")).await;
    assert!(
        !large.is_empty()
            && large.iter().all(|row| row["ExtendedPrice"].as_f64().unwrap() > 2000.0),
        "{large:?}"
    );
}

#[tokio::test]
async fn mistakes_are_load_errors() {
    let database = Sample::Northwind.load().await;
    let customers = json!([{"name": "Customers", "adopt": true, "columns": [{"name": "Nope"}]}]);
    refused(database, customers, "Customers has no column \"Nope\"").await;
    refused(
        TestDatabase::new().await,
        json!([{"name": "none", "adopt": true}]),
        "no table \"none\"",
    )
    .await;
    for source in ["cms_pages", "cms_api_keys", "CMS_API_KEYS"] {
        refused(
            TestDatabase::new().await,
            json!([{"name": "x", "source": source, "adopt": true}]),
            "cannot be adopted",
        )
        .await;
        refused(
            TestDatabase::new().await,
            json!([{"name": source, "adopt": true}]),
            "cannot be adopted",
        )
        .await;
    }
}

#[tokio::test]
async fn a_database_may_have_pages_and_users_of_its_own() {
    let sql = "create table pages (id integer primary key, headline varchar(20)); \
               create table users (id integer primary key, name varchar(20), page integer \
               references pages (id)); \
               insert into pages values (1, 'theirs'); insert into users values (1, 'Ann', 1);";
    let database = TestDatabase::new().await;
    database.run(sql.to_owned()).await;
    let schema = truth::schema(&database).await;
    refused(
        database,
        json!([{"name": "pages", "adopt": true}]),
        "The content table pages already belongs to core",
    )
    .await;

    let database = TestDatabase::new().await;
    database.run(sql.to_owned()).await;
    let tables = json!([
        {"name": "their_pages", "source": "pages", "adopt": true}, {"name": "users", "adopt": true},
    ]);
    let site = Site::on(database).plugin(plugin(tables)).open().await;
    let user = site.admin("GET /api/backend/item?table=users&id=1&expand=page").expect(200).await;
    assert_eq!(
        user.text(),
        r#"{"data":{"id":1,"name":"Ann","page":{"id":1,"headline":"theirs"}}}"#
    );
    site.admin("POST /api/backend/item?table=pages")
        .json(json!({"url_rewrite": "/x", "title": "ours"}))
        .expect(201)
        .await;
    assert_eq!(
        matching(&site, "their_pages", ("count", "true")).await,
        [json!({"id": 1, "headline": "theirs"})]
    );
    let names = |schema: &[Vec<String>]| schema.len();
    assert_eq!(names(&truth::schema(&site.database).await), names(&schema));
}

#[tokio::test]
async fn references_are_followed_and_fields_chosen() {
    let site = Sample::Northwind.open().await;
    let get = |table: &str, parameters: &[(&str, &str)]| format!("GET {}", item(table, parameters));
    let chai =
        [("id", "1"), ("fields", "ProductName,SupplierID,CategoryID"), ("expand", "SupplierID")];
    let chai = site.admin(&get("Products", &chai)).expect(200).await.data();
    assert_eq!(
        chai.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["CategoryID", "ProductName", "SupplierID"]
    );
    let supplier = site.admin(&get("Suppliers", &[("id", "1")])).expect(200).await.data();
    assert_eq!(chai["SupplierID"], supplier);
    assert_eq!(chai["CategoryID"], 1);

    // To itself; a null stays null.
    let everybody = walk(
        &site,
        "Employees",
        2,
        &[("expand", "ReportsTo"), ("fields", "EmployeeID,ReportsTo"), ("sort", "LastName")],
    )
    .await;
    let plain = matching(&site, "Employees", ("sort", "LastName")).await;
    for (json, employee) in everybody.iter().zip(&plain) {
        let found: Json = serde_json::from_str(json).unwrap();
        let chief = plain.iter().find(|chief| chief["EmployeeID"] == employee["ReportsTo"]);
        assert_eq!(found["ReportsTo"], chief.cloned().unwrap_or(Json::Null), "{employee}");
    }
    assert_eq!(everybody.len(), plain.len());

    let two = [("expand", "CustomerID,EmployeeID,ShipVia"), ("limit", "3"), ("sort", "-OrderDate")];
    let orders = site.admin(&get("Orders", &two)).expect(200).await.data();
    for order in orders.as_array().unwrap() {
        assert!(
            order["CustomerID"]["CompanyName"].is_string() || order["CustomerID"].is_null(),
            "{order}"
        );
    }
    site.admin(&get("Products", &[("expand", "ProductName")])).refused(400, "bad_query").await;
    site.admin(&get("Products", &[("fields", "nope")])).refused(400, "bad_query").await;
    // A key may read one table and not the next.
    let key = site.key(&["GET /api/backend/item?table=Products"]).await;
    site.ask(&get("Products", &[("expand", "SupplierID")]))
        .key(&key)
        .refused(401, "api_key_forbidden")
        .await;

    let site = Sample::Shopware.open().await;
    let product = &matching(&site, "product", ("count", "true")).await[0];
    assert_eq!(product.as_object().unwrap().len(), 77);
    // A reference of two columns has no single id to expand; one of one column has.
    site.admin(&get("product", &[("expand", "parent_id")])).refused(400, "bad_query").await;
    let tax =
        walk(&site, "product", 5, &[("expand", "tax_id,unit_id"), ("fields", "tax_id,unit_id")])
            .await;
    assert!(tax.iter().any(|json| json.contains("\"tax_rate\":19,")), "{tax:?}");
}
