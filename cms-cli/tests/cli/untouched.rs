//! Only `init`, `migrate up`, `plugins apply` and `serve` make a database or change a schema.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use sqlx::{ConnectOptions, Executor, sqlite::SqliteConnectOptions};

use crate::{
    leaves::{ORDINARY, OTHERS, tree},
    support::{cms, cms_with, site},
};

/// `plugins new` writes files that are a plugin only when they are applied.
const MAY_CHANGE: &str = "db backup, db restore, db shrink, init, migrate up, plugins apply, \
    plugins new, serve";

/// Commands that need no tables of plugins, or show plugins whose tables are not up to date.
const SHOW_PLUGINS: [&str; 5] =
    ["db check", "migrate status", "plugins diff", "plugins list", "plugins show"];

/// Commands that open no database, or whose answer is its state.
const OPEN_NOTHING: &str = "completions, config get, config path, config show, config validate, \
    context add, context list, context remove, context show, context use, doctor, exit-codes, \
    login, logout, mail sink, plugins check, plugins schema, status, theme safelist, tui, \
    update apply, update check, update download, update rollback, update serve, version, \
    webhooks listen, webhooks verify, whoami";

fn among(list: &str, leaf: &str) -> bool {
    list.split(", ").any(|one| one == leaf)
}

/// Every file with its content, every folder without. The command line's own files are no part of
/// the site. SQLite's index of its log is not read: closing it would end locks on it. Its log is
/// empty when nothing was written.
pub(crate) fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("entry")) {
            let path = entry.path();
            if path == dir.join("config") {
                continue;
            }
            if path.is_dir() {
                found.insert(path.clone(), Vec::new());
                open.push(path);
            } else if !path.to_string_lossy().ends_with("-shm") {
                let bytes = fs::read(&path).unwrap_or_default();
                if !(bytes.is_empty() && path.to_string_lossy().ends_with("-wal")) {
                    found.insert(path, bytes);
                }
            }
        }
    }
    found
}

/// Runs every command but those that may change the site. Each must end with `code` and name the
/// command that helps, and none may change anything.
fn nothing_changes(dir: &Path, code: i32, answers: &[&str]) {
    let before = content(dir);
    for leaf in tree(dir).iter().filter(|leaf| !among(MAY_CHANGE, leaf)) {
        let (_, args, input) = ORDINARY
            .iter()
            .chain(OTHERS)
            .find(|(name, ..)| name == leaf)
            .unwrap_or_else(|| panic!("cms {leaf} has no arguments in leaves.rs"));
        let args: Vec<&str> = leaf.split(' ').chain(args.iter().copied()).collect();
        let run = cms_with(dir, &args, input);
        assert!(content(dir) == before, "cms {leaf} changed the site: {run:?}");
        if among(OPEN_NOTHING, leaf) || answers.contains(&leaf.as_str()) {
            continue;
        }
        let run = run.fails(code);
        assert!(run.err.contains("cms migrate up"), "cms {leaf}: {run:?}");
    }
}

pub(crate) fn sql(dir: &Path, statement: &'static str) {
    let options = SqliteConnectOptions::new().filename(dir.join("data/cms.db"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut connection = options.connect().await.expect("a database");
        connection.execute(statement).await.expect(statement);
        sqlx::Connection::close(connection).await.expect("closed");
    });
}

#[test]
fn a_missing_file_is_not_made() {
    let dir = site();
    fs::write(dir.path().join("cms.toml"), "database_url = \"sqlite://data/mistyped.db\"\n")
        .expect("written");
    nothing_changes(dir.path(), 7, &[]);
    cms(dir.path(), "keys list").fails(7).tells("data/mistyped.db");
}

#[test]
fn an_old_schema_is_not_changed() {
    let dir = site();
    sql(
        dir.path(),
        "delete from cms_migrations where version = (select max(version) from cms_migrations)",
    );
    nothing_changes(dir.path(), 6, &["migrate status"]);
    cms(dir.path(), "keys list").fails(6).tells("1 step of the schema is missing");
}

#[test]
fn tables_of_a_plugin_are_not_made_by_the_way() {
    let dir = site();
    let plugin = dir.path().join("plugins/shop");
    fs::create_dir_all(&plugin).expect("a folder");
    let manifest = |columns: &str| {
        let table = format!("{{\"name\": \"orders\", \"columns\": [{columns}]}}");
        let text = format!("{{\"id\": \"shop\", \"tables\": [{table}]}}");
        fs::write(plugin.join("plugin.json"), text).expect("written");
    };
    let (total, note) =
        (r#"{"name": "total", "type": "decimal"}"#, r#"{"name": "note", "type": "text"}"#);
    manifest(total);
    nothing_changes(dir.path(), 6, &SHOW_PLUGINS);
    cms(dir.path(), "keys list").fails(6).tells("tables of the plugin shop");
    cms(dir.path(), "migrate up").ok();
    cms(dir.path(), "items list orders").ok();

    manifest(&format!("{total}, {note}"));
    cms(dir.path(), "items list orders").fails(6);
    cms(dir.path(), "migrate up").ok();
    // A plugin that would lose data keeps its declaration before, and the others stay in service.
    manifest(note);
    cms(dir.path(), "items list notes").ok();
    cms(dir.path(), "items list orders --fields total").ok();
    let shown = cms(dir.path(), "plugins diff shop");
    assert!(shown.err.contains("column total would be dropped"), "{shown:?}");
    cms(dir.path(), "plugins apply shop").fails(6);
    manifest(&format!("{total}, {note}, {{\"name\": \"more\", \"type\": \"text\"}}"));
    cms(dir.path(), "plugins diff shop").shows("shop\tpending\tadd_column\torders\tmore");
    cms(dir.path(), "plugins apply").ok();
    cms(dir.path(), "items list orders --fields more").ok();
}

#[test]
fn tables_of_a_plugin_of_the_program_are_made_by_apply() {
    let dir = site();
    let shop = dir.path().join("plugins/bikeshop");
    fs::create_dir_all(&shop).expect("a folder");
    fs::write(shop.join("demo.txt"), "").expect("written");
    cms(dir.path(), "keys list").fails(6).tells("tables of the plugin bikeshop");
    let pending = "bikeshop\tpending\tcreate_table\tproducts";
    cms(dir.path(), "plugins diff").shows(pending);
    cms(dir.path(), "plugins apply bikeshop").shows("bikeshop\tapplied\tcreate_table");
    cms(dir.path(), "items list products").ok();
    cms(dir.path(), "plugins diff").shows("bikeshop\tcurrent");
}
