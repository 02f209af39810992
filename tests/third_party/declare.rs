//! What a plugin may say of a table that is not its own.

use serde_json::{Value as Json, json};

use super::{Sample, item, matching, truth, walk};
use crate::support::{Site, TestDatabase, each, has};

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
    let get = async |table: &str, parameters: &[(&str, &str)]| {
        site.admin(&format!("GET {}", item(table, parameters))).expect(200).await
    };
    assert_eq!(
        get("customers", &[("id", "ALFKI")]).await.text(),
        r#"{"data":{"CustomerID":"ALFKI","CompanyName":"Alfreds Futterkiste","City":"Berlin"}}"#
    );
    assert_eq!(
        get("details", &[("id", "[10248,11]")]).await.text(),
        r#"{"data":{"OrderID":10248,"ProductID":11,"Quantity":12}}"#
    );
    // Queries may say `id` for the key, too.
    let by_id = [("filter[id][in]", "ALFKI,ANATR"), ("sort", "-id"), ("fields", "id,City")];
    let found = get("customers", &by_id).await.data();
    let berlin = json!({"CustomerID": "ALFKI", "City": "Berlin"});
    assert_eq!((found.as_array().map(Vec::len), &found[1]), (Some(2), &berlin), "{found}");
    for composite in [("sort", "id"), ("filter[id]", "1")] {
        let line = format!("GET {}", item("details", &[composite]));
        site.admin(&line).refused(400, "bad_query").await;
    }
    for hidden in [("fields", "Phone"), ("sort", "Phone"), ("filter[Phone][null]", "true")] {
        let line = format!("GET {}", item("customers", &[hidden]));
        site.admin(&line).refused(400, "bad_query").await;
    }
    let patch = site.admin(&format!("PATCH {}", item("customers", &[("id", "ALFKI")])));
    patch.json(json!({"Phone": "1"})).refused(400, "database_error").await;
    for name in ["Customers", "Order Details", "cms_pages", "sqlite_schema", "pg_class", "Products"]
    {
        site.admin(&format!("GET {}", item(name, &[]))).refused(404, "unknown_table").await;
    }
    // A reference leads to the table under its new name.
    let order = get("Orders", &[("id", "10248"), ("expand", "CustomerID")]).await.data();
    assert_eq!(order["CustomerID"]["CompanyName"], "Vins et alcools Chevalier");
    // A computed column has no type on SQLite until one is declared.
    let large = matching(&site, "amounts", ("filter[ExtendedPrice][gt]", "2000")).await;
    let is_large = |row: &Json| row["ExtendedPrice"].as_f64().unwrap() > 2000.0;
    assert!(!large.is_empty() && large.iter().all(is_large), "{large:?}");
}

#[tokio::test]
async fn mistakes_are_load_errors() {
    let customers = json!([{"name": "Customers", "adopt": true, "columns": [{"name": "Nope"}]}]);
    let about = "Customers has no column \"Nope\"";
    refused(Sample::Northwind.load().await, customers, about).await;
    let mut cases = vec![(json!({"name": "none", "adopt": true}), "no table \"none\"")];
    for source in ["cms_pages", "cms_api_keys", "CMS_API_KEYS"] {
        for table in [
            json!({"name": "x", "source": source, "adopt": true}),
            json!({"name": source, "adopt": true}),
        ] {
            cases.push((table, "cannot be adopted"));
        }
    }
    for (table, about) in cases {
        refused(TestDatabase::new().await, json!([table]), about).await;
    }
}

#[tokio::test]
async fn a_database_may_have_pages_and_users_of_its_own() {
    let sql = "create table pages (id integer primary key, headline varchar(20)); \
               create table users (id integer primary key, name varchar(20), page integer \
               references pages (id)); \
               insert into pages values (1, 'theirs'); insert into users values (1, 'Ann', 1);";
    let database = TestDatabase::new().await;
    database.run(sql).await;
    let schema = truth::schema(&database).await;
    let pages = json!([{"name": "pages", "adopt": true}]);
    refused(database, pages, "The content table pages already belongs to core").await;

    let database = TestDatabase::new().await;
    database.run(sql).await;
    let tables = json!([
        {"name": "their_pages", "source": "pages", "adopt": true}, {"name": "users", "adopt": true},
    ]);
    let site = Site::on(database).plugin(plugin(tables)).open().await;
    let user = site.admin("GET /api/backend/item?table=users&id=1&expand=page").expect(200).await;
    assert_eq!(
        user.text(),
        r#"{"data":{"id":1,"name":"Ann","page":{"id":1,"headline":"theirs"}}}"#
    );
    let ours = json!({"url_rewrite": "/x", "title": "ours"});
    site.insert("pages", ours).await;
    let theirs = json!({"id": 1, "headline": "theirs"});
    assert_eq!(matching(&site, "their_pages", ("count", "true")).await, [theirs]);
    assert_eq!(truth::schema(&site.database).await.len(), schema.len());
}

#[tokio::test]
async fn references_are_followed_and_fields_chosen() {
    let site = Sample::Northwind.open().await;
    let get = |table: &str, parameters: &[(&str, &str)]| format!("GET {}", item(table, parameters));
    let chai =
        [("id", "1"), ("fields", "ProductName,SupplierID,CategoryID"), ("expand", "SupplierID")];
    let chai = site.get(&item("Products", &chai)).await;
    let names: Vec<_> = chai.as_object().unwrap().keys().collect();
    assert_eq!(names, ["CategoryID", "ProductName", "SupplierID"]);
    let supplier = site.get(&item("Suppliers", &[("id", "1")])).await;
    has!(chai, {"SupplierID": supplier, "CategoryID": 1});

    // To itself; a null stays null.
    let chiefs =
        [("expand", "ReportsTo"), ("fields", "EmployeeID,ReportsTo"), ("sort", "LastName")];
    let everybody = walk(&site, "Employees", 2, &chiefs).await;
    let plain = matching(&site, "Employees", ("sort", "LastName")).await;
    for (json, employee) in everybody.iter().zip(&plain) {
        let found: Json = serde_json::from_str(json).unwrap();
        let chief = plain.iter().find(|chief| chief["EmployeeID"] == employee["ReportsTo"]);
        assert_eq!(found["ReportsTo"], chief.cloned().unwrap_or(Json::Null), "{employee}");
    }
    assert_eq!(everybody.len(), plain.len());

    let two = [("expand", "CustomerID,EmployeeID,ShipVia"), ("limit", "3"), ("sort", "-OrderDate")];
    for customer in each(&site.get(&item("Orders", &two)).await, "CustomerID") {
        assert!(customer["CompanyName"].is_string() || customer.is_null(), "{customer}");
    }
    site.admin(&get("Products", &[("expand", "ProductName")])).refused(400, "bad_query").await;
    site.admin(&get("Products", &[("fields", "nope")])).refused(400, "bad_query").await;
    // A key may read one table and not the next.
    let key = site.key(&["GET /api/backend/item?table=Products"]).await;
    let expanded = site.ask(&get("Products", &[("expand", "SupplierID")]));
    expanded.key(&key).refused(401, "api_key_forbidden").await;

    let site = Sample::Shopware.open().await;
    let product = &matching(&site, "product", ("count", "true")).await[0];
    assert_eq!(product.as_object().unwrap().len(), 77);
    // A reference of two columns has no single id to expand; one of one column has.
    site.admin(&get("product", &[("expand", "parent_id")])).refused(400, "bad_query").await;
    let both = [("expand", "tax_id,unit_id"), ("fields", "tax_id,unit_id")];
    let tax = walk(&site, "product", 5, &both).await;
    assert!(tax.iter().any(|json| json.contains("\"tax_rate\":19,")), "{tax:?}");
}
