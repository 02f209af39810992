//! What plugins show of tables, and to whom; what loading compares before it serves a plugin.

use serde_json::{Value as Json, json};

use crate::{
    plugin_buttons::{blog, site},
    support::{
        Site, TestDatabase, each,
        plugins::{manifest, table},
    },
};

/// A row for buttons opens no table to a key, and users make no key with such a row.
#[tokio::test]
async fn keys_reach_no_rows_through_buttons() {
    let site = site().await;
    let clerk = site.person("clerk", json!(["keys_keys_view", "keys_keys_edit"])).await;
    for path in ["plugins", "plugins/buttons", "plugins/content"] {
        let right = json!({"endpoint": format!("/api/backend/{path}"), "query": {},
                           "methods": ["GET"]});
        let new = json!({"name": "x", "rights": [right]});
        let ask = site.ask("POST /api/backend/keys").bearer(&clerk.token).json(new);
        ask.refused(403, "permission_denied").await;
    }
    let rows = ["GET /api/backend/plugins/buttons", "GET /api/backend/plugins/content"];
    let key = site.key(&rows).await;
    let content = "GET /api/backend/plugins/content?plugin=blog&button=comments&row=1";
    let buttons = "GET /api/backend/plugins/buttons?plugin=blog";
    let of_row = format!("{buttons}&row=1");
    for line in [content, &of_row] {
        site.ask(line).key(&key).refused(401, "api_key_forbidden").await;
    }
    let options = |shown: Json| shown[1]["editable_rows"][0]["options"].clone();
    assert_eq!(options(site.ask(buttons).key(&key).expect(200).await.data()), Json::Null);
    let tables = ["posts", "authors", "comments"];
    let tables = tables.map(|table| format!("GET /api/backend/item?table={table}"));
    let rows: Vec<&str> = rows.into_iter().chain(tables.iter().map(String::as_str)).collect();
    let reader = site.key(&rows).await;
    let shown = options(site.ask(&of_row).key(&reader).expect(200).await.data());
    assert_eq!(shown.as_array().map(Vec::len), Some(2));
    site.ask(content).key(&reader).expect(200).await;
}

/// A table that the caller may not read has no row for it, nor one with keys of another type.
#[tokio::test]
async fn buttons_need_a_row_in_one_of_their_tables() {
    let database = TestDatabase::new().await;
    let customers = "create table customers (code varchar(9) not null primary key);
                     insert into customers values ('ALFKI')";
    database.run(customers).await;
    let plugin = json!({
        "id": "shop",
        "tables": [{"name": "customers", "adopt": true}, table("orders", "a text")],
        "content_button": [
            {"button_id": "customer", "type": "delete"},
            {"button_id": "order", "type": "delete", "table": "orders"}],
    });
    let site = Site::on(database).plugin(plugin).open().await;
    site.insert("orders", json!({"a": "x"})).await;
    let of_row = "GET /api/backend/plugins/buttons?plugin=shop&row=";
    for (tables, row, expected) in [
        (&["customers", "orders"][..], "ALFKI", Ok("customer")),
        (&["customers", "orders"], "1", Ok("order")),
        (&["customers"], "ALFKI", Ok("customer")),
        (&["orders"], "1", Ok("order")),
        (&["customers", "orders"], "nobody", Err((404, "not_found"))),
        (&["customers"], "1", Err((404, "not_found"))),
        (&["orders"], "ALFKI", Err((400, "bad_query"))),
        (&[], "1", Err((401, "api_key_forbidden"))),
    ] {
        let reads = tables.iter().map(|table| format!("GET /api/backend/item?table={table}"));
        let rights: Vec<_> = reads.chain(["GET /api/backend/plugins/buttons".to_owned()]).collect();
        let key = site.key(&rights.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let ask = site.ask(&format!("{of_row}{row}")).key(&key);
        match expected {
            Ok(button) => {
                let shown = ask.expect(200).await.data();
                assert_eq!(each(&shown, "button_id"), [button], "{tables:?} {row}");
            }
            Err((status, code)) => drop(ask.refused(status, code).await),
        }
    }
}

/// Of two references a module list takes the one to the table that the buttons beside it write.
#[tokio::test]
async fn a_module_list_belongs_to_the_table_that_is_written() {
    let bookings = "guide integer references=guides, tour integer references=tours";
    let plugin = json!({
        "id": "tours",
        "tables": [
            table("guides", "name text"), table("tours", "name text"), table("bookings", bookings)],
        "content_button": [
            {"button_id": "bookings", "type": "show_module_list",
             "values": {"table": "bookings", "template": "Bookings"}},
            {"button_id": "edit", "type": "edit", "table": "tours",
             "editable_rows": [{"column": "name", "type": "text"}]}],
    });
    let site = Site::builder().await.plugin(plugin).open().await;
    for table in ["guides", "tours"] {
        site.insert(table, json!([{"name": "one"}, {"name": "two"}])).await;
    }
    site.insert("bookings", json!([{"guide": 1, "tour": 2}, {"guide": 2, "tour": 1}])).await;
    let line = "GET /api/backend/plugins/content?plugin=tours&button=bookings&row=1";
    let list = site.admin(line).expect(200).await.data();
    let found = list["rows"].as_array().unwrap().iter().map(|row| &row["item"]["id"]);
    assert_eq!(found.collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn rows_go_out_as_the_database_made_them() {
    let of_nowhere = json!({"table": "nowhere", "value": "id", "title": "name"});
    let plugin = json!({
        "id": "notes",
        "tables": [table("notes", "z text, a text")],
        "content_button": [
            {"button_id": "edit", "type": "edit", "editable_rows": [
                {"column": "z", "type": "select", "select_value": of_nowhere}]},
            {"button_id": "list", "type": "show_module_list",
             "values": {"table": "notes", "template": "Notes"}}],
    });
    let site = Site::builder().await.plugin(plugin).open().await;
    let note = json!({"z": "1", "a": "2"});
    site.insert("notes", note).await;
    let line = "GET /api/backend/plugins/content?plugin=notes&button=list";
    let list = site.admin(line).expect(200).await.text();
    assert!(list.contains(r#""item":{"id":1,"z":"1","a":"2"}"#), "{list}");
    // A source of options that is gone hides no button.
    let line = "GET /api/backend/plugins/buttons?plugin=notes";
    let shown = site.admin(line).expect(200).await.data();
    assert_eq!(shown[0]["editable_rows"][0]["options"], json!([]));
}

#[tokio::test]
async fn an_id_belongs_to_one_plugin() {
    let database = TestDatabase::new().await;
    database.write_plugin(&json!({"id": "blog"}));
    let site = Site::on(database).program(blog()).open().await;
    let all = site.get("/api/backend/plugins").await;
    let served = all.as_array().unwrap().iter().filter(|one| one["in_service"] == true).count();
    assert_eq!((all.as_array().unwrap().len(), served), (2, 1), "{all}");
    assert!(all.to_string().contains("is in service already"), "{all}");
}

/// A default is compared with the enum as a write would be.
#[test]
fn defaults_are_among_the_values_of_enum() {
    for (kind, allowed, default, good) in [
        ("json", json!(["a", "b"]), json!(["a"]), true),
        ("json", json!(["a", "b"]), json!([]), true),
        ("json", json!(["a", "b"]), json!(["c"]), false),
        ("decimal", json!([1.5]), json!("1.50"), true),
        ("decimal", json!([1.5]), json!("1.51"), false),
        ("text", json!(["a"]), json!("b"), false),
    ] {
        let column = json!({"name": "a", "type": kind, "enum": allowed, "default": default});
        let table = json!({"name": "orders", "columns": [column]});
        let problems = manifest(&json!({"id": "shop", "tables": [table]})).problems();
        assert_eq!(problems.is_empty(), good, "{kind} {default}: {problems:?}");
    }
}

/// PostgreSQL takes 32 columns, the key that follows those of an index included.
#[test]
fn an_index_holds_as_many_columns_as_both_engines_take() {
    for (member, columns, good) in
        [("indexes", 31, true), ("indexes", 32, false), ("unique", 32, true), ("unique", 33, false)]
    {
        let names: Vec<_> = (0..columns).map(|n| format!("c{n}")).collect();
        let words: Vec<_> = names.iter().map(|name| format!("{name} integer")).collect();
        let mut wide = table("wide", &words.join(", "));
        wide[member] = json!([names]);
        let problems = manifest(&json!({"id": "shop", "tables": [wide]})).problems();
        assert_eq!(problems.is_empty(), good, "{member} {columns}: {problems:?}");
    }
}

/// What runs a script refuses a linked folder, so loading does.
#[test]
fn scripts_of_a_linked_plugin_are_refused_at_once() {
    let root = tempfile::tempdir().unwrap();
    let (plugins, elsewhere) = (root.path().join("plugins"), root.path().join("elsewhere"));
    std::fs::create_dir_all(&plugins).unwrap();
    std::fs::create_dir_all(elsewhere.join("script")).unwrap();
    let manifest = json!({"id": "shop", "content_button": [
        {"button_id": "run", "type": "script", "script": "a.php"}]});
    std::fs::write(elsewhere.join("plugin.json"), manifest.to_string()).unwrap();
    std::fs::write(elsewhere.join("script/a.php"), "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, plugins.join("shop")).unwrap();
    let problems = |loaded: Vec<cms_core::plugins::LoadedPlugin>| {
        loaded.into_iter().next().unwrap().outcome.err().unwrap_or_default()
    };
    let found = problems(cms_core::plugins::load_folder(&plugins, &[]));
    assert_eq!(found[0].pointer, "/content_button/0/script", "{found:?}");
    assert!(found[0].remedy.contains("leads out"), "{found:?}");
    let alone = cms_core::plugins::check_folder(&plugins.join("shop"));
    assert_eq!(alone.outcome.unwrap_err(), found);
    std::fs::remove_file(plugins.join("shop")).unwrap();
    std::fs::rename(&elsewhere, plugins.join("shop")).unwrap();
    assert!(problems(cms_core::plugins::load_folder(&plugins, &[])).is_empty());
}

/// A `select` without an `enum` takes what its buttons offer together, whoever writes.
#[tokio::test]
async fn fixed_options_bind_every_writer() {
    let field =
        |options: Json| json!([{"column": "size", "type": "select", "select_options": options}]);
    let option = |value: Json| json!({"value": value, "title": "x"});
    let plugin = json!({
        "id": "notes",
        "tables": [table("notes", "size select, free select")],
        "content_button": [{"button_id": "edit", "type": "edit",
            "editable_rows": field(json!([option(json!("s")), option(json!(2))]))}],
        "action_button": [{"button_id": "add", "type": "insert",
            "editable_rows": field(json!([option(json!("l"))]))}],
    });
    let site = Site::builder().await.plugin(plugin).open().await;
    let rights = json!(["notes_edit_edit", "notes_add_edit", "notes_edit_view"]);
    let editor = site.person("editor", rights).await;
    let add = "POST /api/backend/item?table=notes";
    for size in [json!("s"), json!("l"), json!("2"), json!(2), json!(null)] {
        site.admin(add).json(json!({"size": size})).expect(201).await;
    }
    let change = "PATCH /api/backend/item?table=notes&id=1";
    for size in [json!("m"), json!("S"), json!("")] {
        let before = site.traces().await;
        let body = || json!({"size": size});
        for ask in [
            site.admin(add).json(body()),
            site.admin(change).json(body()),
            site.ask(change).bearer(&editor.token).json(body()),
            site.ask(add).bearer(&editor.token).json(body()),
            site.admin(add).json(json!([{"size": "s"}, body()])),
        ] {
            let refused = ask.refused(422, "validation_failed").await;
            assert_eq!(refused.json()["errors"][0]["code"], "enum", "{}", refused.text());
        }
        assert_eq!(site.traces().await, before);
    }
    site.admin(add).json(json!({"free": "anything"})).expect(201).await;
}
