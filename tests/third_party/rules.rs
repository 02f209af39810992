//! Rules of the database: a write that breaks one is refused, and leaves nothing behind.

use serde_json::{Value as Json, json};

use super::{Sample, item, matching};
use crate::support::Site;

/// A refused write: what it says, and that it leaves nothing behind.
async fn refused(site: &Site, line: &str, body: Json, status: u16, code: &str, field: &str) {
    let traces = site.traces().await;
    let reply = site.admin(line).json(body.clone()).refused(status, code).await;
    let text = reply.text();
    for word in ["insert", "update \\\"", "select", "values (", "cast(", "$1"] {
        assert!(!text.to_lowercase().contains(word), "{line}: {text}");
    }
    let detail = reply.json()["detail"].as_str().unwrap_or_default().to_owned();
    let names =
        |field: &str| detail.contains(field) || text.contains(&format!("\"field\":\"{field}\""));
    assert!(names(field), "{field}: {text}");
    assert_eq!(site.traces().await, traces, "{line} {body}");
}

#[tokio::test]
async fn rules_of_the_database_hold() {
    let site = Sample::Northwind.open().await;
    let postgres = site.database.is_postgres();
    let post = |table: &str| format!("POST {}", item(table, &[]));
    let (customers, details) = (post("Customers"), post("Order Details"));
    let product = format!("PATCH {}", item("Products", &[("id", "1")]));
    let (conflict, invalid, other) =
        ((409, "conflict"), (422, "validation_failed"), (400, "database_error"));
    let long = json!({"CustomerID": "NEWCO", "CompanyName": "ü".repeat(41)});
    for (line, body, (status, code), field) in [
        (&customers, json!({"CustomerID": "ALFKI", "CompanyName": "x"}), conflict, "CustomerID"),
        (&details, json!({"OrderID": 10248, "ProductID": 11}), conflict, "ProductID"),
        (&details, json!({"OrderID": 1, "ProductID": 11}), conflict, ""),
        (&product, json!({"SupplierID": 4711}), conflict, ""),
        (&customers, json!({"CustomerID": "NEWCO"}), invalid, "CompanyName"),
        (&product, json!({"ProductName": null}), invalid, "ProductName"),
        (&product, json!({"UnitPrice": -1}), other, ""),
        (&product, json!({"NoColumn": 1}), other, "NoColumn"),
        (&product, json!({"UnitPrice": "cheap"}), invalid, "UnitPrice"),
        (&product, json!({"Discontinued": null}), invalid, "Discontinued"),
        // A batch is written whole or not at all.
        (
            &post("Shippers"),
            json!([{"CompanyName": "One"}, {"CompanyName": null}]),
            invalid,
            "[1].CompanyName",
        ),
    ] {
        refused(&site, line, body, status, code, field).await;
    }
    let longer = json!({"CustomerID": "LONGER", "CompanyName": "x"});
    for (line, body, field) in [
        (&customers, long.clone(), "CompanyName"),
        (&customers, longer, "CustomerID"),
        (&product, json!({"UnitsInStock": 40_000}), "UnitsInStock"),
        (&product, json!({"UnitPrice": 1e9}), ""),
    ] {
        if postgres {
            refused(&site, line, body, 400, "database_error", field).await;
        }
    }
    if !postgres {
        // SQLite knows no lengths.
        site.admin(&customers).json(long).expect(201).await;
    }
    let traces = site.traces().await;
    let supplier = format!("DELETE {}", item("Suppliers", &[("id", "1")]));
    site.admin(&supplier).refused(409, "conflict").await;
    assert_eq!(site.traces().await, traces);

    // A key that no row can have is no error.
    for (table, id) in [
        ("Products", "99999999999"),
        ("Products", "-1"),
        ("Order Details", "[99999999999,1]"),
        ("Customers", "no such key"),
    ] {
        site.admin(&format!("GET {}", item(table, &[("id", id)]))).refused(404, "not_found").await;
    }
    let many = matching(&site, "Products", ("filter[UnitsInStock][gt]", "99999999999")).await;
    assert_eq!(many, Vec::<Json>::new());
}

#[tokio::test]
async fn padded_text_is_found_with_and_without_its_blanks() {
    let site = Sample::Northwind.open().await;
    let table = "CustomerDemographics";
    let one = |id: &str| item(table, &[("id", id)]);
    let new = json!({"CustomerTypeID": "ab", "CustomerDesc": "x"});
    let created = site.admin(&format!("POST {}", item(table, &[]))).json(new).expect(201).await;
    let id = created.data()["CustomerTypeID"].as_str().unwrap().to_owned();
    assert_eq!(id, if site.database.is_postgres() { "ab        " } else { "ab" });
    for id in ["ab", &id] {
        let read = site.admin(&format!("GET {}", one(id))).expect(200).await;
        assert_eq!(read.text(), created.text());
    }
    let changed = site.patch(&one("ab"), json!({"CustomerTypeID": "b"})).await;
    assert_eq!(changed["CustomerTypeID"].as_str().unwrap().trim_end(), "b");
    assert_eq!(matching(&site, table, ("filter[CustomerTypeID][eq]", "b")).await, [changed]);
    let region = format!("{:50}", "Eastern");
    let found = matching(&site, "Region", ("filter[RegionDescription][eq]", &region)).await;
    assert_eq!(found.len(), 1);
}
