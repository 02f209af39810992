//! Rules of the database: a write that breaks one is refused, and leaves nothing behind.

use serde_json::{Value as Json, json};

use super::{Sample, item, matching};
use crate::support::Site;

/// A refused write: what it says, and that it leaves nothing behind.
async fn refused(
    site: &Site,
    line: &str,
    body: Json,
    status: u16,
    code: &str,
    field: Option<&str>,
) {
    let traces = site.traces().await;
    let reply = site.admin(line).json(body.clone()).refused(status, code).await;
    let text = reply.text();
    for word in ["insert", "update \\\"", "select", "values (", "cast(", "$1"] {
        assert!(!text.to_lowercase().contains(word), "{line}: {text}");
    }
    if let Some(field) = field {
        assert!(
            reply.json()["detail"].as_str().unwrap().contains(field)
                || text.contains(&format!("\"field\":\"{field}\"")),
            "{text}"
        );
    }
    assert_eq!(site.traces().await, traces, "{line} {body}");
}

#[tokio::test]
async fn rules_of_the_database_hold() {
    let site = Sample::Northwind.open().await;
    let postgres = site.database.is_postgres();
    let (customers, details, products) =
        (item("Customers", &[]), item("Order Details", &[]), item("Products", &[]));
    let conflict = "conflict";
    refused(
        &site,
        &format!("POST {customers}"),
        json!({"CustomerID": "ALFKI", "CompanyName": "x"}),
        409,
        conflict,
        Some("CustomerID"),
    )
    .await;
    refused(
        &site,
        &format!("POST {details}"),
        json!({"OrderID": 10248, "ProductID": 11}),
        409,
        conflict,
        Some("ProductID"),
    )
    .await;
    refused(
        &site,
        &format!("POST {details}"),
        json!({"OrderID": 1, "ProductID": 11}),
        409,
        conflict,
        None,
    )
    .await;
    refused(
        &site,
        &format!("PATCH {products}&id=1"),
        json!({"SupplierID": 4711}),
        409,
        conflict,
        None,
    )
    .await;
    refused(
        &site,
        &format!("POST {customers}"),
        json!({"CustomerID": "NEWCO"}),
        422,
        "validation_failed",
        Some("CompanyName"),
    )
    .await;
    refused(
        &site,
        &format!("PATCH {products}&id=1"),
        json!({"ProductName": null}),
        422,
        "validation_failed",
        Some("ProductName"),
    )
    .await;
    refused(
        &site,
        &format!("PATCH {products}&id=1"),
        json!({"UnitPrice": -1}),
        400,
        "database_error",
        None,
    )
    .await;
    refused(
        &site,
        &format!("PATCH {products}&id=1"),
        json!({"NoColumn": 1}),
        400,
        "database_error",
        Some("NoColumn"),
    )
    .await;
    refused(
        &site,
        &format!("PATCH {products}&id=1"),
        json!({"UnitPrice": "cheap"}),
        422,
        "validation_failed",
        Some("UnitPrice"),
    )
    .await;
    refused(
        &site,
        &format!("PATCH {products}&id=1"),
        json!({"Discontinued": null}),
        422,
        "validation_failed",
        Some("Discontinued"),
    )
    .await;
    let traces = site.traces().await;
    site.admin(&format!("DELETE {}", item("Suppliers", &[("id", "1")])))
        .refused(409, conflict)
        .await;
    assert_eq!(site.traces().await, traces);
    let long = json!({"CustomerID": "NEWCO", "CompanyName": "ü".repeat(41)});
    if postgres {
        refused(
            &site,
            &format!("POST {customers}"),
            long,
            400,
            "database_error",
            Some("CompanyName"),
        )
        .await;
        let long = json!({"CustomerID": "LONGER", "CompanyName": "x"});
        refused(
            &site,
            &format!("POST {customers}"),
            long,
            400,
            "database_error",
            Some("CustomerID"),
        )
        .await;
        refused(
            &site,
            &format!("PATCH {products}&id=1"),
            json!({"UnitsInStock": 40_000}),
            400,
            "database_error",
            None,
        )
        .await;
        refused(
            &site,
            &format!("PATCH {products}&id=1"),
            json!({"UnitPrice": 1e9}),
            400,
            "database_error",
            None,
        )
        .await;
    } else {
        // SQLite knows no lengths.
        site.admin(&format!("POST {customers}")).json(long).expect(201).await;
    }
    // A batch is written whole or not at all.
    let batch = json!([{"CompanyName": "One"}, {"CompanyName": null}]);
    refused(
        &site,
        &format!("POST {}", item("Shippers", &[])),
        batch,
        422,
        "validation_failed",
        Some("[1].CompanyName"),
    )
    .await;

    // A key that no row can have is no error.
    for (table, id) in [
        ("Products", "99999999999"),
        ("Products", "-1"),
        ("Order Details", "[99999999999,1]"),
        ("Customers", "no such key"),
    ] {
        site.admin(&format!("GET {}", item(table, &[("id", id)]))).refused(404, "not_found").await;
    }
    assert_eq!(
        matching(&site, "Products", ("filter[UnitsInStock][gt]", "99999999999")).await,
        Vec::<Json>::new()
    );
}

#[tokio::test]
async fn padded_text_is_found_with_and_without_its_blanks() {
    let site = Sample::Northwind.open().await;
    let path = item("CustomerDemographics", &[]);
    let created = site
        .admin(&format!("POST {path}"))
        .json(json!({"CustomerTypeID": "ab", "CustomerDesc": "x"}))
        .expect(201)
        .await;
    let id = created.data()["CustomerTypeID"].as_str().unwrap().to_owned();
    assert_eq!(id, if site.database.is_postgres() { "ab        " } else { "ab" });
    for id in ["ab", &id] {
        let read = site
            .admin(&format!("GET {}", item("CustomerDemographics", &[("id", id)])))
            .expect(200)
            .await;
        assert_eq!(read.text(), created.text());
    }
    let changed = json!({"CustomerTypeID": "b"});
    let changed = site
        .admin(&format!("PATCH {}", item("CustomerDemographics", &[("id", "ab")])))
        .json(changed)
        .expect(200)
        .await;
    assert_eq!(changed.data()["CustomerTypeID"].as_str().unwrap().trim_end(), "b");
    assert_eq!(
        matching(&site, "CustomerDemographics", ("filter[CustomerTypeID][eq]", "b")).await,
        [changed.data()]
    );
    let region = format!("{:50}", "Eastern");
    assert_eq!(
        matching(&site, "Region", ("filter[RegionDescription][eq]", &region)).await.len(),
        1
    );
}
