//! The schema is the same on both engines, and every statement fits it.

use cms_core::{Clock, Cms, Code, Level, Random, Secret, settings::Settings};
use serde_json::{Value as Json, json};
use sqlx::Executor;

use crate::support::{
    Site, TestDatabase,
    log::Log,
    plugins::{self, plugin},
    visits::with_leads,
    with,
};

#[tokio::test]
async fn every_statement_prepares() {
    let site = Site::open().await;
    let refused = site.cms.refused_statements().await.unwrap();
    assert_eq!(refused, []);
}

/// Tables and columns as lines of text, the same golden file for both engines.
#[tokio::test]
async fn both_schemas_are_alike() {
    let site = Site::open().await;
    let mut lines = Vec::new();
    for table in site.cms.db().table_names().await.unwrap() {
        for column in site.cms.db().columns_of(&table).await.unwrap() {
            lines.push(format!("{table}.{column}"));
        }
    }
    // SQLite has this column by itself, and PostgreSQL this index.
    let apart =
        |line: &String| line == "cms_events.rowid" || line.starts_with("cms_formfunnel_search");
    lines.retain(|line| !apart(line));
    insta::assert_snapshot!(lines.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_may_start_together() {
    let database = TestDatabase::new().await;
    let open = |seed| {
        Cms::builder(database.settings()).clock(Clock::fixed(0)).random(Random::seeded(seed)).open()
    };
    let opened = futures_util::future::join_all((0..4).map(open)).await;
    for cms in opened {
        cms.unwrap().ready().await.unwrap();
    }
}

#[tokio::test]
async fn an_edited_or_newer_schema_is_noticed() {
    let site = Site::open().await;
    let database = &site.database;
    database.run("update cms_migrations set checksum = 'x' where version = 1").await;
    let refused = Cms::open(database.settings()).await.err().unwrap();
    assert!(refused.is_outdated() && format!("{refused:?}").contains("edited"), "{refused:?}");
    database.run("delete from cms_migrations").await;
    database.run("insert into cms_migrations values (99, 'future', 'x', 0)").await;
    site.ask("GET /readyz").refused(503, "unavailable").await;
}

/// Step 36, where users were deleted before it.
#[tokio::test]
async fn submissions_of_users_deleted_before_are_assigned_to_nobody() {
    let site = with_leads().await;
    let ana = site.person("ana", json!(["formfunnel_inbox_view"])).await;
    let [gone, kept] = [site.visit("leads").await, site.visit("leads").await];
    gone.set("assigned_to = 1000").await;
    kept.set(&format!("assigned_to = {}", ana.id)).await;
    let revisions = [gone.column("inbox_rev").await, kept.column("inbox_rev").await];
    site.database.run("delete from cms_migrations where version = 36").await;
    Cms::open(site.database.settings()).await.unwrap().close().await;
    assert!(gone.is("assigned_to is null").await && !kept.is("assigned_to is null").await);
    let now = [gone.column("inbox_rev").await, kept.column("inbox_rev").await];
    assert_eq!(now, [revisions[0] + 1, revisions[1]]);
}

/// What the server, the database or the role has set changes neither values nor locks.
#[tokio::test]
async fn a_session_begins_with_settings_of_its_own() {
    let database = TestDatabase::new().await;
    let Some(url) = &database.url else { return };
    let changed = [
        ("default_transaction_isolation", "serializable", "read committed"),
        ("standard_conforming_strings", "off", "on"),
        ("quote_all_identifiers", "on", "off"),
        ("bytea_output", "escape", "hex"),
        ("array_nulls", "off", "on"),
    ];
    let mut settings = database.settings();
    let options = changed.map(|(name, other, _)| format!("&options[{name}]={other}")).concat();
    settings.database_url = Some(Secret::new(format!("{url}{options}")));
    let cms = Cms::open(settings).await.unwrap();
    for (name, _, own) in changed {
        let read = cms.db().sql("select current_setting($1)").bind(name);
        assert_eq!(read.rows::<(String,)>().await.unwrap(), [(own.to_owned(),)], "{name}");
    }
    cms.close().await;
}

#[tokio::test]
async fn the_pool_has_as_many_connections_as_it_may() {
    let builder = Site::builder().await.settings(|all| all.database.max_connections = 2);
    let site = builder.open().await;
    if !site.database.is_postgres() {
        return;
    }
    let list = "GET /api/backend/item?table=settings";
    futures_util::future::join_all((0..32).map(|_| site.admin(list).expect(200))).await;
    let sessions = "pg_stat_activity where pid <> pg_backend_pid() and application_name = \
                    current_setting('application_name')";
    // One more hears of other processes.
    assert!(site.database.rows(sessions).await <= 3);
}

/// Settings whose `search_path` has the schema of `own`, then that of `other`, which comes second.
/// None: there are no schemas.
fn behind(own: &TestDatabase, other: &TestDatabase) -> Option<(Settings, String)> {
    let (url, theirs) = (own.url.as_ref()?, other.url.as_ref()?);
    let schema = |url: &str| url.rsplit('=').next().unwrap().to_owned();
    let (here, there) = (schema(url), schema(theirs));
    let path = |names: &str| format!("[search_path]={names}");
    let both = url.replace(&path(&here), &path(&format!("{here},{there}")));
    let mut settings = own.settings();
    settings.database_url = Some(Secret::new(both));
    Some((settings, there))
}

/// Of a schema that follows in `search_path`, a plugin gets only tables that it adopts.
#[tokio::test]
async fn a_table_of_another_schema_is_not_one_of_the_site() {
    let (own, elsewhere) = (TestDatabase::new().await, TestDatabase::new().await);
    let Some((settings, _)) = behind(&own, &elsewhere) else { return };
    for table in ["orders", "legacy"] {
        elsewhere.run(format!("create table {table} (id integer primary key, a text)")).await;
    }
    let mut shop = plugin("shop", [("orders", "a text")]);
    shop["tables"].as_array_mut().unwrap().push(json!({"name": "legacy", "adopt": true}));
    own.write_plugin(&shop);
    let cms = Cms::open(settings).await.unwrap();
    let states = cms.plugins().states();
    assert!(states[0].problems.is_empty(), "{states:?}");
    let names = cms.db().table_names().await.unwrap();
    assert!(names.contains(&"orders".to_owned()), "{names:?}");
    assert!(cms.tables().find("legacy").is_some());
    cms.close().await;
    own.run("insert into orders (a) values ('x')").await;
    assert_eq!(elsewhere.rows("orders").await, 0);
}

/// A site behind the own schema in `search_path` is another one: none of its tables is used.
#[tokio::test]
async fn a_site_of_another_schema_is_refused() {
    let (site, own) = (Site::open().await, TestDatabase::new().await);
    let Some((settings, there)) = behind(&own, &site.database) else { return };
    let refused = Cms::open(settings.clone()).await.err().unwrap();
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(refused.detail().contains(&format!("The schema {there} holds a site")), "{refused}");
    assert_eq!(own.rows("pg_tables where schemaname = current_schema()").await, 0);
    Cms::open(own.settings()).await.unwrap().close().await;
    Cms::open(settings).await.unwrap().close().await;
}

#[tokio::test]
async fn without_migrate_nothing_is_created() {
    let database = TestDatabase::new().await;
    let mut settings = database.settings();
    settings.migrate = false;
    let refused = async |outdated: bool| {
        let refused = Cms::open(settings.clone()).await.err().unwrap();
        assert!(refused.detail().contains("cms migrate up"), "{refused}");
        assert_eq!((refused.code(), refused.is_outdated()), (Code::Unavailable, outdated));
    };
    refused(database.is_postgres()).await;
    Cms::builder(database.settings()).migrations(true).await.unwrap();
    Cms::open(settings.clone()).await.unwrap().close().await;

    let declare = |words: &str| database.write_plugin(&plugin("shop", [("orders", words)]));
    declare("a text");
    refused(true).await;
    Cms::open(database.settings()).await.unwrap().close().await;
    let cms = Cms::open(settings.clone()).await.unwrap();
    assert!(cms.tables().find("orders").is_some());
    cms.close().await;
    declare("a text, b text");
    refused(true).await;

    let log = Log::begin();
    let cms = Cms::builder(settings.clone()).inspect().await.unwrap();
    let told = log.end();
    assert!(!told.contains("plugin not loaded"), "{told}");
    let states = cms.plugins().states();
    assert!(states[0].problems[0].remedy.contains("cms migrate up"), "{states:?}");
    // The declaration before stays in service.
    let orders = cms.tables().find("orders").unwrap();
    assert!(states[0].is_earlier() && !orders.columns.iter().any(|column| column.name == "b"));
    // A server that follows others has only its log.
    let log = Log::begin();
    cms.refresh_plugins().await.unwrap();
    let told = log.end();
    assert!(told.contains("ERROR") && told.contains("its earlier declaration stays"), "{told}");
    cms.close().await;
}

/// Settings under which nothing can be written: PostgreSQL refuses, SQLite's writer is held.
async fn read_only(site: &Site) -> (Settings, Option<sqlx::SqliteConnection>) {
    let mut settings = site.database.settings();
    let Some(url) = &site.database.url else {
        let mut connection = site.database.sqlite_connection().await;
        connection.execute("begin immediate").await.unwrap();
        return (settings, Some(connection));
    };
    settings.database_url =
        Some(Secret::new(format!("{url}&options[default_transaction_read_only]=on")));
    (settings, None)
}

/// Looking needs neither a lock nor the right to write, and nor does starting with every step
/// applied.
#[tokio::test]
async fn looking_at_the_schema_does_not_write() {
    let site = Site::open().await;
    let (mut settings, held) = read_only(&site).await;
    let steps = site.cms.migrations(false).await.unwrap();
    assert!(steps.iter().all(|step| step.applied));
    for migrate in [false, true] {
        settings.migrate = migrate;
        let ready = Cms::open(settings.clone()).await.unwrap().ready().await;
        assert_eq!(ready.is_ok(), !site.database.is_postgres(), "only a writer is ready");
    }
    drop(held);

    let empty = TestDatabase::new().await;
    let looked = Cms::builder(empty.settings()).migrations(false).await;
    if empty.is_postgres() {
        assert!(looked.unwrap().iter().all(|step| !step.applied));
        let names = "pg_tables where schemaname = current_schema()";
        assert_eq!(empty.rows(names).await, 0);
    } else {
        assert!(looked.unwrap_err().detail().contains("There is no database file"));
        assert_eq!(std::fs::read_dir(empty.folder()).unwrap().count(), 0);
    }
}

/// Nor does it with a plugin that has changed: its tables are not tried out.
#[tokio::test]
async fn looking_at_a_changed_plugin_does_not_write() {
    let shop = |words: &str, events: &[&str]| {
        let events: Vec<_> =
            events.iter().map(|e| json!({"name": e, "description": "."})).collect();
        with(plugin("shop", [("orders", words)]), json!({"webhook_events": events}))
    };
    let site = Site::builder().await.plugin(shop("a text", &["shop.paid"])).open().await;
    let (mut settings, held) = read_only(&site).await;
    settings.migrate = false;
    let open = async |manifest: Json| {
        Cms::builder(settings.clone()).plugin(plugins::manifest(&manifest)).open().await
    };
    let grown = open(shop("a text, b text", &[])).await.err().unwrap();
    assert!(grown.is_outdated(), "{grown:?}");
    let lost = open(shop("b text", &[])).await.err().unwrap();
    assert!(lost.detail().contains("data would be lost"), "{lost:?}");
    open(shop("a text", &["shop.paid", "shop.sent"])).await.unwrap().close().await;
    drop(held);
    assert_eq!(site.database.rows("cms_webhook_events where event_name = 'shop.sent'").await, 0);
}

/// The questions of `cms doctor` change nothing, and find what is wrong.
#[tokio::test]
async fn a_site_is_checked_without_writing() {
    let site = Site::open().await;
    site.cms.try_write().await.unwrap();
    let tried = "cms_table_epochs where name = 'doctor'";
    assert_eq!(site.database.rows(tried).await, 0);
    let findings = site.cms.status().await;
    for check in
        ["database", "migrations", "database_writable", "database_server", "database_clock"]
    {
        let mut found = findings.iter().filter(|finding| finding.check == check);
        assert!(found.all(|finding| finding.level == Level::Ok), "{findings:?}");
    }
    assert_eq!(site.database.rows(tried).await, 0);

    if let Some(url) = &site.database.url {
        let mut settings = site.database.settings();
        let only_reads = format!("{url}&options[default_transaction_read_only]=on");
        settings.database_url = Some(Secret::new(only_reads));
        let cms = Cms::builder(settings).inspect().await.unwrap();
        assert_eq!(cms.try_write().await.unwrap_err().code(), Code::Unavailable);
        cms.close().await;
    }
}

/// A key that is gone shows at every kind of value that it has sealed.
#[tokio::test]
async fn sealed_values_of_each_kind_are_tried() {
    let shop = plugin("shop", [("doors", "pin password")]);
    let site = Site::builder().await.plugin(shop.clone()).open().await;
    let hook = json!({"name": "w", "url": "https://hooks.example.org/x", "events": ["item.*"],
                      "custom_headers": {"authorization": "Bearer sesame"}});
    let made = site.create("/api/backend/webhooks", hook).await;
    let rotate = format!("/api/backend/webhooks/rotate-secret?id={}", made["id"]);
    site.post(&rotate, json!({"grace_s": 3600})).await;
    site.insert("doors", json!({"pin": "1234"})).await;
    site.database.run("insert into doors (pin) values ('never sealed')").await;
    let sealed = site.cms.sealed_values().await.unwrap();
    assert_eq!((sealed.opened, sealed.lost), (4, 0));
    let mut settings = site.database.settings();
    settings.encryption_key = Some(Secret::new("HxwdHhscGRoXGBUWExQREg8QDQ4LDAkKBwgFBgMEAQI="));
    let cms = Cms::builder(settings).plugin(plugins::manifest(&shop)).inspect().await.unwrap();
    let sealed = cms.sealed_values().await.unwrap();
    assert_eq!((sealed.opened, sealed.lost), (0, 4));
    cms.close().await;
}
