//! Writing to tables made by others: their rules hold, their form stays as it is.

use serde_json::{Value as Json, json};

use super::{Sample, item, matching, read, truth};
use crate::support::Site;

/// A table, a row that is posted, what is shown of it, how it is changed, and conditions that then
/// find it.
type Life<'a> = (&'a str, Json, Json, Json, &'a [(&'a str, &'a str)]);

/// Posts a row, reads it, changes it, finds it by each condition, removes it.
async fn lives(site: &Site, (name, new, shown, patch, found_by): Life<'_>) {
    let traces = site.traces().await;
    let table = truth::table(&site.database, name).await;
    let created = site.admin(&format!("POST {}", item(name, &[]))).json(new).expect(201).await;
    let row = created.data();
    for (column, value) in shown.as_object().unwrap() {
        assert_eq!(&row[column], value, "{name}.{column}");
    }
    let id = read::id_of(&table, &row);
    let one = item(name, &[("id", &id)]);
    let get = site.admin(&format!("GET {one}")).expect(200).await;
    assert_eq!(get.text(), created.text());

    let changed = site.admin(&format!("PATCH {one}")).json(patch.clone()).expect(200).await;
    let id = read::id_of(&table, &changed.data());
    let one = item(name, &[("id", &id)]);
    for (column, value) in row.as_object().unwrap() {
        assert_eq!(&changed.data()[column], patch.get(column).unwrap_or(value), "{name}.{column}");
    }
    let reply = site.admin(&format!("GET {one}")).expect(200).await;
    assert_eq!(reply.text(), changed.text());
    assert_eq!(reply.header("etag"), changed.header("etag"));
    for (condition, value) in found_by {
        let found = matching(site, name, (condition, value)).await;
        let others = found.len();
        assert!(found.contains(&changed.data()), "{name} {condition}={value}: {others} others");
    }
    // The database says the same.
    let rows = truth::rows(&site.database, name, &table).await;
    let record = reply.text();
    let record = record.strip_prefix("{\"data\":").unwrap().strip_suffix('}').unwrap();
    let spelled = truth::record(&table, record);
    assert!(rows.contains(&spelled), "{name}: {spelled:?}");

    site.delete(&one).await;
    site.admin(&format!("GET {one}")).refused(404, "not_found").await;
    site.admin(&format!("PATCH {one}")).json(json!({})).refused(404, "not_found").await;
    site.admin(&format!("DELETE {one}")).refused(404, "not_found").await;
    // Three events, three audit rows, an epoch three times further.
    let after = site.traces().await;
    for trace in [0, 1, 6] {
        assert_eq!(after[trace] - traces[trace], 3, "{name} {trace}");
    }
    let quoted = name.replace('\'', "''");
    for (what, action) in [("created", "create"), ("updated", "update"), ("deleted", "delete")] {
        let events = format!("select count(*) from cms_events where name = 'item.{quoted}.{what}'");
        assert_eq!(site.database.count(&events).await, 1, "{name} {what}");
        let audit = format!(
            "select count(*) from cms_audit where table_name = '{quoted}' and action = '{action}'"
        );
        assert_eq!(site.database.count(&audit).await, 1, "{name} {action}");
    }
}

#[tokio::test]
async fn northwind_is_written() {
    let site = Sample::Northwind.open().await;
    let before = truth::schema(&site.database).await;
    let all: [Life<'_>; 5] = [
        (
            "Customers",
            json!({
                "CustomerID": "Ü/ 'X", "CompanyName": "Ünion & Söhne, \"A/B\"", "City": "Köln",
            }),
            json!({"CustomerID": "Ü/ 'X", "Fax": null}),
            json!({"CustomerID": "AZ 9%", "Region": "NRW", "City": null}),
            &[
                ("filter[CustomerID][eq]", "AZ 9%"),
                ("filter[CustomerID][in]", "x,AZ 9%"),
                ("filter[CompanyName][contains]", "söhne, \"a"),
                ("filter[CompanyName][starts_with]", "Ünion"),
                ("filter[CompanyName][ends_with]", "B\""),
                ("filter[CustomerID][gt]", "ANTON"),
                ("filter[City][null]", "true"),
                ("filter[City][ne]", "Köln"),
                ("search", "&"),
            ],
        ),
        (
            "Order Details",
            json!({"OrderID": 10248, "ProductID": 1, "UnitPrice": "12.3450", "Discount": 0.1}),
            json!({"UnitPrice": 12.345, "Quantity": 1, "Discount": 0.1}),
            json!({
                "ProductID": 2, "UnitPrice": 0.0001, "Discount": 0.30000000000000004,
                "Quantity": 32767,
            }),
            &[
                ("filter[UnitPrice][eq]", "0.0001000"),
                ("filter[UnitPrice][lt]", "0.00011"),
                ("filter[Discount][eq]", "0.30000000000000004"),
                ("filter[Discount][in]", "1,3.0000000000000004e-1"),
                ("filter[Quantity][gte]", "32767"),
                ("filter[ProductID][nin]", "1,3"),
            ],
        ),
        (
            "Orders",
            json!({
                "CustomerID": "ALFKI", "EmployeeID": 1, "OrderDate": "1998-05-06T12:30:00+02:00",
                "Freight": 1.5,
            }),
            json!({"OrderDate": "1998-05-06T10:30:00Z", "Freight": 1.5, "ShippedDate": null}),
            json!({
                "OrderDate": null, "ShippedDate": "2024-02-29T23:59:59.123456Z", "Freight": null,
            }),
            &[
                ("filter[ShippedDate][eq]", "2024-02-29T23:59:59.123456Z"),
                ("filter[ShippedDate][gt]", "2024-02-29T23:59:59.123Z"),
                ("filter[ShippedDate][lte]", "2024-03-01T01:00:00+01:00"),
                ("filter[OrderDate][null]", "1"),
                ("filter[Freight][null]", "true"),
                ("filter[ShippedDate][in]", "2024-02-29T23:59:59.123456Z"),
            ],
        ),
        (
            "Products",
            json!({
                "ProductName": "Crème", "UnitPrice": 19.99, "Discontinued": true, "SupplierID": 1,
            }),
            json!({"UnitPrice": 19.99, "Discontinued": true, "UnitsInStock": 0}),
            json!({
                "Discontinued": false, "UnitPrice": null, "SupplierID": null,
                "ProductName": "crème brûlée",
            }),
            &[
                ("filter[Discontinued][eq]", "false"),
                ("filter[Discontinued][in]", "false"),
                ("filter[UnitPrice][null]", "true"),
                ("filter[ProductName][contains]", "BRûLé"),
                ("filter[ProductID][gt]", "76"),
            ],
        ),
        (
            "Employees",
            json!({
                "LastName": "O'Neil", "FirstName": "A", "BirthDate": "1970-01-01",
                "Photo": "AAEC/w==",
                "ReportsTo": 2,
            }),
            json!({"BirthDate": "1970-01-01", "Photo": "AAEC/w==", "ReportsTo": 2}),
            json!({
                "Photo": "", "BirthDate": "2024-02-29", "HireDate": "9999-12-31", "ReportsTo": null,
            }),
            &[
                ("filter[BirthDate][eq]", "2024-02-29"),
                ("filter[HireDate][gt]", "9999-12-30"),
                ("filter[Photo][null]", "false"),
                ("filter[BirthDate][in]", "2024-02-29,2024-03-01"),
            ],
        ),
    ];
    for life in all {
        lives(&site, life).await;
    }
    assert_eq!(truth::schema(&site.database).await, before);
}

#[tokio::test]
async fn shopware_is_written() {
    let site = Sample::Shopware.open().await;
    let before = truth::schema(&site.database).await;
    let (id, version) =
        ("00000000-0000-4000-8000-0000000000aa", "0fa91ce3-e96a-4bc2-be4b-d9ce752c3425");
    let (other, user) =
        ("11111111-0000-4000-8000-0000000000aa", "55b1e14f-a834-7ef6-a1fe-c6737555ab20");
    let at = "2024-05-06T07:08:09.01Z";
    let all: [Life<'_>; 5] = [
        (
            "order",
            json!({
                "id": id, "version_id": version, "auto_increment": i64::MAX - 7,
                "state_id": other, "billing_address_id": other,
                "billing_address_version_id": version,
                "currency_id": "b7d2554b-0ce8-47cd-82f3-ac9bd1c0dfca",
                "language_id": "2fbb5fe2-e29a-4d70-aa58-54ce7ce3e20b", "sales_channel_id": other,
                "order_date_time": at, "order_date": "2024-05-06",
                "amount_total": 123456789.12345679, "price": {"b": 1, "a": [1.5, null]},
                "created_at": at,
            }),
            json!({
                "auto_increment": i64::MAX - 7, "amount_total": 123456789.12345679,
                "order_date_time": at,
            }),
            json!({
                "amount_total": 5e-324, "price": null, "customer_comment": "line\n\u{1}😀",
                "order_date": null, "auto_increment": i64::MIN + 8,
            }),
            &[
                ("filter[amount_total][gt]", "0"),
                ("filter[amount_total][lt]", "1e-300"),
                ("filter[auto_increment][eq]", "-9223372036854775800"),
                ("filter[customer_comment][contains]", "\n\u{1}😀"),
                ("filter[id][eq]", id),
                ("filter[order_date][null]", "true"),
            ],
        ),
        (
            "product",
            json!({
                "id": id, "version_id": version, "stock": 5, "auto_increment": 5000,
                "weight": "0.000001", "release_date": "9999-12-31T23:59:59.999Z",
            }),
            json!({
                "type": "physical", "weight": 0.000001, "sales": 0, "available": false,
                "release_date": "9999-12-31T23:59:59.999Z",
            }),
            json!({
                "tag_ids": ["a", {"b": null}], "weight": -12.5, "active": 1,
                "product_number": "Ä \"1\"",
            }),
            &[
                ("filter[tag_ids][eq]", "[\"a\",{\"b\":null}]"),
                ("filter[tag_ids][null]", "false"),
                ("filter[weight][lt]", "-12.49999"),
                ("filter[release_date][eq]", "9999-12-31T23:59:59.999Z"),
                ("filter[release_date][gte]", "9999-12-31"),
                ("filter[is_closeout][null]", "true"),
                ("filter[active][eq]", "1"),
                ("filter[active][lt]", "99999"),
            ],
        ),
        (
            "user_config",
            json!({
                "id": id, "user_id": user, "key": "a b", "value": {"x": [1, "two", null]},
                "created_at": at,
            }),
            json!({"value": {"x": [1, "two", null]}, "key": "a b"}),
            json!({"value": ["set"], "updated_at": at}),
            &[
                ("filter[value][eq]", "[\"set\"]"),
                ("filter[value][contains]", "SET"),
                ("filter[value][in]", "[\"set\"]"),
                ("filter[key][eq]", "a b"),
            ],
        ),
        (
            "cart",
            json!({
                "token": "new cart/1", "payload": "AAECAwQFBgcICQo=", "rule_ids": [],
                "created_at": at,
            }),
            json!({"payload": "AAECAwQFBgcICQo=", "compressed": false}),
            json!({"payload": null, "token": "новый 🛒", "compressed": true}),
            &[
                ("filter[payload][null]", "true"),
                ("filter[token][gt]", "z"),
                ("filter[compressed][eq]", "1"),
            ],
        ),
        (
            "promotion_discount",
            json!({
                "id": id, "promotion_id": "859a13e0-4abd-7fc3-af91-38e781d8b494", "scope": "cart",
                "type": "x", "value": 1e-7, "created_at": at,
            }),
            json!({"value": 1e-7, "max_value": null}),
            json!({"value": -0.1, "max_value": 1.7976931348623157e308, "sorter_key": ""}),
            &[
                ("filter[value][eq]", "-1e-1"),
                ("filter[max_value][gt]", "1e308"),
                ("filter[max_value][eq]", "1.7976931348623157e308"),
                ("filter[sorter_key][eq]", ""),
            ],
        ),
    ];
    for life in all {
        lives(&site, life).await;
    }
    assert_eq!(truth::schema(&site.database).await, before);
}
