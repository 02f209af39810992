//! Addresses: `addresses/cases.json` says which kinds take each; every place that is declared to
//! hold one is tried with all of them.

use std::collections::{BTreeMap, BTreeSet};

use cms_core::{
    Address,
    content::{ColumnDeclaration, Table},
    fields::FieldType,
    pages::widgets::address_of,
    plugins::Manifest,
};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::{
    routes::pagebuilder::{BUILDER, with_pages},
    support::{Site, visits::leads},
};

#[derive(Deserialize)]
struct Case {
    address: String,
    /// The field types that take it.
    kinds: BTreeSet<String>,
}

impl Case {
    fn fits(&self, kind: Address) -> bool {
        let (name, _) = Address::TYPES.iter().find(|(_, known)| *known == kind).unwrap();
        self.kinds.contains(*name)
    }
}

fn cases() -> Vec<Case> {
    let cases: Vec<Case> = serde_json::from_str(include_str!("addresses/cases.json")).unwrap();
    assert!(cases.len() >= 60);
    cases
}

/// A plugin with a column of each type that holds addresses.
fn plugin() -> Json {
    let column = |(name, _): &(&str, Address)| json!({"name": format!("its_{name}"), "type": name});
    let columns: Vec<_> = Address::TYPES.iter().map(column).collect();
    json!({"id": "shop", "tables": [{"name": "goods", "columns": columns}]})
}

/// Sends a value and says whether it was taken; a refusal names the field.
async fn taken(site: &Site, line: &str, body: Json, place: &str) -> bool {
    let reply = site.admin(line).json(body.clone()).send().await;
    match reply.status.as_u16() {
        200 | 201 => true,
        422 => {
            let told = reply.json()["errors"].to_string().replace("\"data.", "\"");
            assert!(told.contains(&format!("\"field\":\"{place}")), "{line} {body}: {told}");
            false
        }
        other => panic!("{line} {body}: {other} {}", reply.text()),
    }
}

fn column_kinds(table: &Table) -> Vec<(&str, Address)> {
    let kind = |c: &'_ cms_core::content::Column| Address::of_type(&c.field_type);
    table.columns.iter().filter_map(|c| Some((c.name.as_str(), kind(c)?))).collect()
}

#[tokio::test]
async fn every_column_takes_addresses_of_its_kind() {
    let site = Site::builder().await.plugin(plugin()).open().await;
    let tables = site.cms.tables();
    let mut tried = BTreeSet::new();
    for table in tables.iter() {
        let columns = column_kinds(table);
        // Files are uploaded, and no writer names their paths.
        if columns.is_empty() || table.name == "media" {
            continue;
        }
        let needed = table.columns.iter().filter(|c| c.required && !c.has_default);
        let mut record: Map<String, Json> = needed.map(|c| (c.name.clone(), c.example())).collect();
        if table.name == "forms" {
            record.insert("name".to_owned(), json!("contact"));
        }
        record.entry("language_short").or_insert(json!("en"));
        record.retain(|name, _| table.columns.iter().any(|c| c.name == *name));
        let create = format!("POST /api/backend/item?table={}", table.name);
        let made = site.admin(&create).json(record.clone().into()).expect(201).await.data();
        let update = format!("PATCH /api/backend/item?table={}&id={}", table.name, made["id"]);
        for (name, kind) in columns {
            tried.insert(format!("{}.{name}", table.name));
            for case in cases() {
                let body = json!({name: case.address});
                let outcome = taken(&site, &update, body, name).await;
                assert_eq!(outcome, case.fits(kind), "{}.{name} {:?}", table.name, case.address);
            }
            // New records and batches pass the same check.
            let mut wrong = record.clone();
            wrong.insert(name.to_owned(), json!("javascript:alert(1)"));
            site.admin(&create).json(json!([wrong])).refused(422, "validation_failed").await;
        }
    }
    for known in ["pages.url_rewrite", "menu_items.url", "forms.redirect_url", "goods.its_link"] {
        assert!(tried.contains(known), "{tried:?}");
    }
}

#[tokio::test]
async fn every_field_of_a_widget_takes_addresses_of_its_kind() {
    let site = with_pages(Site::open().await).await;
    let (_, col) = site.row(1).await;
    // Widgets share columns: each column is tried once, in a widget and in an item.
    let mut places = BTreeMap::new();
    for widget in site.cms.pages().widgets().all() {
        for (menu, of_item) in [(&widget.menu, false), (&widget.item_menu, true)] {
            for entry in menu.iter() {
                if let Some(kind) = address_of(entry) {
                    places.insert((of_item, entry.row.clone()), (widget.name.clone(), kind));
                }
            }
        }
    }
    assert!(places.len() >= 8, "{places:?}");
    for ((of_item, row), (widget, kind)) in places {
        let node = json!({"kind": "widget", "parent": {"col_id": col}, "widget": widget});
        let widget = site.add(node).await["id"].clone();
        let update = if of_item {
            let node = json!({"kind": "item", "parent": {"widget_id": widget}});
            format!("PATCH {BUILDER}?item_id={}", site.add(node).await["id"])
        } else {
            format!("PATCH {BUILDER}?widget_id={widget}")
        };
        for case in cases() {
            let body = json!({"data": {&*row: case.address}});
            let outcome = taken(&site, &update, body, &row).await;
            assert_eq!(outcome, case.fits(kind), "{row} {:?}", case.address);
        }
    }
}

#[tokio::test]
async fn forms_and_funnels_take_links_and_redirects() {
    let site = Site::open().await;
    let mut places = Vec::new();
    for field_type in FieldType::ALL {
        let schema = field_type.config_schema();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if member["format"] == "uri-reference" {
                places.push((field_type.name, name.clone()));
            }
        }
    }
    assert!(places.contains(&("consent", "document_url".to_owned())), "{places:?}");
    let form = json!({"name": "contact", "fields": []});
    site.insert("forms", form).await;
    let create = "POST /api/backend/formfunnel?action=create";
    let made = site.admin(create).json(leads()).expect(201).await.data();
    let save = "POST /api/backend/formfunnel?action=save";
    let check = |funnel: Json| json!({"id": made["id"], "funnel": funnel, "dry_run": true});
    for case in cases() {
        let address = &case.address;
        for (name, member) in &places {
            let field = json!({"id": "f", "type": name, member: address});
            let body = json!({"fields": [field]});
            let line = "PATCH /api/backend/item?table=forms&id=1";
            let outcome = taken(&site, line, body, "fields[0]").await;
            assert_eq!(outcome, case.fits(Address::Link), "form {name}.{member} {address:?}");
            let mut body = leads();
            body["nodes"][0]["config_json"]["fields"][2] = field;
            body = json!({"id": made["id"], "nodes": body["nodes"], "edges": body["edges"],
                          "funnel": {"start_node_id": -1}, "dry_run": true});
            let outcome = taken(&site, save, body, "nodes[0].config_json.fields[2]").await;
            assert_eq!(outcome, case.fits(Address::Link), "funnel {name}.{member} {address:?}");
        }
        for member in ["redirect_url", "url"] {
            let mut body = leads();
            body["nodes"][5]["config_json"] = json!({"end_kind": "redirect", member: address});
            body = json!({"id": made["id"], "nodes": body["nodes"], "edges": body["edges"],
                          "funnel": {"start_node_id": -1}, "dry_run": true});
            let place = format!("nodes[5].config_json.{member}");
            let outcome = taken(&site, save, body, &place).await;
            assert_eq!(outcome, case.fits(Address::Redirect), "{member} {address:?}");
        }
        // A token is added to the page of a funnel.
        let is_page = case.fits(Address::Redirect)
            && address.to_lowercase().starts_with("http")
            && !address.contains('#');
        let body = check(json!({"settings_json": {"page_url": address}}));
        let outcome = taken(&site, save, body, "funnel.settings_json.page_url").await;
        assert_eq!(outcome, is_page, "page_url {address:?}");
    }
}

#[test]
fn manifests_take_addresses_where_they_declare_them() {
    let refused = |manifest: Json, pointer: &str| {
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        let problems = manifest.problems();
        assert!(problems.iter().all(|problem| problem.pointer == pointer), "{problems:?}");
        !problems.is_empty()
    };
    for case in cases() {
        let address = &case.address;
        let button = json!({"button_id": "a", "type": "link", "url": address});
        let manifest = json!({"id": "shop", "header_buttons": [button]});
        let outcome = refused(manifest, "/header_buttons/0/url");
        assert_eq!(outcome, !case.fits(Address::Link), "a button {address:?}");
        for (name, kind) in Address::TYPES {
            assert!(ColumnDeclaration::TYPES.iter().any(|(known, _)| *known == name));
            for member in ["default", "enum"] {
                let value = if member == "enum" { json!([address]) } else { json!(address) };
                let column = json!({"name": "a", "type": name, member: value});
                let manifest = json!({"id": "s", "tables": [{"name": "t", "columns": [column]}]});
                let place = if member == "enum" { "enum/0" } else { member };
                let outcome = refused(manifest, &format!("/tables/0/columns/0/{place}"));
                assert_eq!(outcome, !case.fits(kind), "{member} of {name} {address:?}");
            }
        }
    }
}

#[tokio::test]
async fn broken_rows_are_read_and_listed_and_only_mended_where_they_are_broken() {
    let site = with_pages(Site::builder().await.plugin(plugin()).open().await).await;
    let (_, col) = site.row(1).await;
    let node = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "button",
                      "data": {"title": "Go", "link": "/about"}});
    let widget = site.add(node).await["id"].clone();
    site.act("publish", json!({"page_id": 1})).await;
    let menu = json!({"menu": "main", "title": "A", "url": "/a", "language_short": "en"});
    site.insert("menu_items", menu).await;
    let field = json!({"id": "ok", "type": "consent", "document_url": "/terms"});
    let form = json!({"name": "contact", "fields": [field]});
    site.insert("forms", form).await;
    let funnel = site.funnel(leads()).await;
    let good = json!({"its_link": "/a"});
    site.insert("goods", good).await;
    assert_eq!(site.cms.broken_addresses().await.unwrap(), []);

    let fields = "replace(cast(fields as text), '/terms', 'data:x')";
    let fields = match site.database.is_postgres() {
        true => format!("cast({fields} as json)"),
        false => fields.to_owned(),
    };
    for sql in [
        "update cms_menu_items set url = 'javascript:alert(1)'",
        "update cms_pages set url_rewrite = '/about us' where id = 2",
        "update goods set its_link = 'about'",
        "update cms_page_row_col_widget set link = '//evil.example'",
        "update cms_page_revisions set tree = replace(tree, '/about', '/a b')",
        &format!("update cms_forms set fields = {fields}"),
        "update cms_formfunnel_nodes set config_json = replace(config_json, \
         'https://example.org/else', '/sorry/')",
    ] {
        site.database.run(sql).await;
    }
    let node = funnel.node("sorry");
    let found = site.cms.broken_addresses().await.unwrap();
    let mut places: Vec<_> =
        found.iter().map(|one| format!("{} {} {}", one.table, one.id, one.column)).collect();
    places.sort();
    let mut expected = vec![
        "forms 1 fields[0]".to_owned(),
        format!("formfunnels {} node {node}: redirect_url", funnel.id),
        "goods 1 its_link".to_owned(),
        "menu_items 1 url".to_owned(),
        format!("pages 1 published widget {widget}: link"),
        format!("pages 1 widget {widget}: link"),
        "pages 2 url_rewrite".to_owned(),
    ];
    expected.sort();
    assert_eq!(places, expected);
    assert!(found.iter().all(|one| one.problem.contains("expected")), "{found:?}");

    // They are read as before, in either spelling, and their other columns change.
    let menu = site.ask("GET /api/menu?language=en").expect(200).await.data();
    assert_eq!(menu[0]["url"], "javascript:alert(1)");
    let page = "PATCH /api/backend/item?table=pages&id=2";
    site.admin(page).json(json!({"published": true})).expect(200).await;
    site.ask("GET /api/pages?url=/about%20us").expect(200).await;
    let item = "PATCH /api/backend/item?table=menu_items&id=1";
    site.admin(item).json(json!({"title": "B"})).expect(200).await;
    site.admin(item).json(json!({"url": "javascript:alert(2)"})).expect(422).await;
    site.admin(item).json(json!({"url": "/b"})).expect(200).await;
    site.retitle(widget.as_i64().unwrap(), "Still").await;
    let left = site.cms.broken_addresses().await.unwrap();
    assert!(left.iter().all(|one| one.table != "menu_items"), "{left:?}");

    // A path that is stored encoded is found by whoever has decoded it.
    site.admin(page).json(json!({"url_rewrite": "/%C3%BCber-uns"})).expect(200).await;
    for spelled in ["/%C3%BCber-uns", "/%25C3%25BCber-uns", "/%25c3%25bcber%2Duns"] {
        let found = site.ask(&format!("GET /api/pages?url={spelled}")).expect(200).await.data();
        assert_eq!(found["url_rewrite"], "/%C3%BCber-uns", "{spelled}");
    }

    // A page that was stored in another spelling keeps it while its other columns change.
    let old = "update cms_pages set url_rewrite = '/%c3%a4pfel' where id = 2";
    site.database.run(old).await;
    let renamed = site.admin(page).json(json!({"title": "Apples"})).expect(200).await.data();
    assert_eq!(renamed["url_rewrite"], "/%c3%a4pfel");
    let refused = site.admin(page).json(json!({"url_rewrite": "/%C3%a4pfel"}));
    let refused = refused.refused(422, "validation_failed").await;
    assert!(refused.text().contains("write /%C3%A4pfel"), "{}", refused.text());
    site.admin(page).json(json!({"url_rewrite": "/%C3%A4pfel"})).expect(200).await;
}
