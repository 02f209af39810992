//! What a declared table promises beside its columns: indexes, rules over columns, values.

use cms_core::items::Query;
use serde_json::{Value as Json, json};

use crate::support::{
    Site, SiteBuilder, TestDatabase,
    plugins::{columns, manifest, table},
    with,
};

/// A plugin with one table: `status` and `at` are required, `due` is not.
fn tasks(more: Json) -> Json {
    let words = "status text required, at datetime required, due date, title text";
    json!({"id": "work", "tables": [with(table("tasks", words), more)]})
}

/// The same with an enum at a column, which may be one more.
fn with_enum(column: &str, list: Json) -> Json {
    let mut declared = tasks(json!({}));
    let columns = declared["tables"][0]["columns"].as_array_mut().unwrap();
    match columns.iter_mut().find(|one| one["name"] == column) {
        Some(known) => known["enum"] = list,
        None => columns.push(json!({"name": column, "type": "json", "enum": list})),
    }
    declared
}

async fn reopen(site: Site, declared: Json) -> Site {
    site.cms.close().await;
    Site::on(site.database).plugin(declared).open().await
}

async fn refused(site: &Site, declared: Json) -> String {
    site.cms.close().await;
    let builder = cms_core::Cms::builder(site.database.settings());
    let opened = builder.plugin(manifest(&declared)).open().await;
    opened.err().expect("a refusal").detail().to_owned()
}

async fn add(site: &Site, rows: Json) {
    site.insert("tasks", rows).await;
}

async fn indexes(site: &Site) -> Json {
    site.get("/api/backend/tables?name=tasks").await["indexes"].clone()
}

/// Rows whose order differs by each column.
fn rows(count: u32) -> Json {
    let row = |i: u32| {
        json!({
            "status": (["open", "done", "held"][i as usize % 3]),
            "at": format!("2026-01-{:02}T00:00:00Z", i * 7 % 28 + 1),
            "due": (!i.is_multiple_of(5)).then(|| format!("2026-02-{:02}", i * 11 % 28 + 1)),
            "title": format!("Task {i}"),
        })
    };
    (0..count).map(row).collect()
}

#[tokio::test]
async fn indexes_are_made_with_the_table_and_later_and_dropped_with_their_declaration() {
    let site =
        Site::builder().await.plugin(tasks(json!({"indexes": [["status", "-at"]]}))).open().await;
    assert_eq!(indexes(&site).await, json!([["status", "-at"]]));
    add(&site, rows(20)).await;
    let more = json!({"indexes": [["status", "-at"], ["due"], ["title", "id"]]});
    let site = reopen(site, tasks(more.clone())).await;
    assert_eq!(indexes(&site).await, json!([["due"], ["status", "-at"], ["title"]]));
    // One that somebody dropped comes back; one of somebody else stays.
    assert_eq!(site.database.rows("cms_content_tables where name = 'tasks'").await, 1);
    let site = reopen(site, tasks(json!({"indexes": [["due"]]}))).await;
    let all = json!([["due"], ["status", "-at"], ["title"]]);
    assert_eq!(indexes(&site).await, all, "a start drops none");
    let site = reopen(site, tasks(json!({"indexes": [["due"]]}))).await;
    assert_eq!(indexes(&site).await, all);
    site.cms.apply_plugins(None).await.unwrap();
    site.database.run("create index by_hand on tasks (at)").await;
    assert_eq!(indexes(&site).await, json!([["at"], ["due"]]));
    let site = reopen(site, tasks(json!({}))).await;
    site.cms.apply_plugins(None).await.unwrap();
    assert_eq!(indexes(&site).await, json!([["at"]]));
    let site = reopen(site, tasks(more)).await;
    assert_eq!(indexes(&site).await, json!([["at"], ["due"], ["status", "-at"], ["title"]]));
}

#[tokio::test]
async fn rules_over_several_columns_hold_for_every_writer() {
    let site = Site::builder().await.plugin(tasks(json!({}))).open().await;
    add(&site, rows(30)).await;
    let told = refused(&site, tasks(json!({"unique": [["at", "due"]]}))).await;
    assert!(told.contains("work: tasks.at+due cannot become unique: 2 rows share"), "{told}");
    let site =
        Site::on(site.database).plugin(tasks(json!({"unique": [["title", "at"]]}))).open().await;
    let twice = json!({"title": "Task 1", "at": "2026-01-08T00:00:00Z", "status": "new"});
    site.admin("POST /api/backend/item?table=tasks").json(twice).refused(409, "conflict").await;
    let beside = json!({"title": "Task 1", "at": "2026-01-09T00:00:00Z", "status": "new"});
    site.insert("tasks", beside).await;
    // A new column whose default all rows share cannot be unique, one without a default can.
    let column = |words: &str| {
        let mut declared = tasks(json!({"unique": [["title", "at"]]}));
        declared["tables"][0]["columns"].as_array_mut().unwrap().push(columns(words)[0].clone());
        declared
    };
    let told = refused(&site, column("code text unique default=x")).await;
    assert!(told.contains("tasks.code cannot become unique: 31 rows share"), "{told}");
    let site = Site::on(site.database).plugin(column("code text unique")).open().await;
    for (id, status) in [(1, 200), (2, 409)] {
        let patch = site.admin(&format!("PATCH /api/backend/item?table=tasks&id={id}"));
        patch.json(json!({"code": "a"})).expect(status).await;
    }
}

#[tokio::test]
async fn an_enum_binds_every_writer() {
    let mut declared = with_enum("labels", json!(["red", "blue", 7]));
    declared["tables"][0]["columns"][0]["enum"] = json!(["open", "done"]);
    let site = Site::builder().await.plugin(declared).open().await;
    let row = |status: &str| json!({"status": status, "at": "2026-01-01"});
    add(&site, row("open")).await;
    let both =
        site.admin("POST /api/backend/item?table=tasks").json(json!([row("done"), row("Open")]));
    let reply = both.refused(422, "validation_failed").await;
    let told = reply.json()["errors"][0].clone();
    assert_eq!(told["code"], "enum", "{told}");
    assert!(told["message"].as_str().unwrap().contains("\"open\", \"done\""), "{told}");
    assert_eq!(site.database.rows("tasks").await, 1);
    let patch = |body: Json| site.admin("PATCH /api/backend/item?table=tasks&id=1").json(body);
    for wrong in
        [json!({"status": "closed"}), json!({"status": null}), json!({"labels": ["red", "green"]})]
    {
        patch(wrong).refused(422, "validation_failed").await;
    }
    patch(json!({"status": "done", "labels": ["red", 7]})).expect(200).await;
    let check = |add: Json| {
        let body = json!({"table": "tasks", "column": "labels", "id": 1, "add": add});
        site.admin("POST /api/backend/actions/checklist").json(body)
    };
    check(json!(["green"])).refused(422, "validation_failed").await;
    assert_eq!(check(json!(["blue"])).expect(200).await.data(), json!(["red", 7, "blue"]));
    // Nobody has such a value: that is an answer, no fault.
    let none = site.admin("GET /api/backend/item?table=tasks&filter[status]=closed").expect(200);
    assert_eq!(none.await.data(), json!([]));
}

#[tokio::test]
async fn an_enum_that_rows_break_is_refused() {
    let site = Site::builder().await.plugin(tasks(json!({}))).open().await;
    add(&site, rows(9)).await;
    let manifest = |list: Json| with_enum("status", list);
    let told = refused(&site, manifest(json!(["open", "done"]))).await;
    assert!(told.contains("tasks.status cannot have this enum: 3 values are not in it"), "{told}");
    assert!(told.contains("\"held\""), "{told}");
    let site =
        Site::on(site.database).plugin(manifest(json!(["open", "done", "held"]))).open().await;
    let row = json!({"status": "new", "at": "2026-01-01"});
    let post = || site.admin("POST /api/backend/item?table=tasks").json(row.clone());
    post().refused(422, "validation_failed").await;
    // Wider, then none: nothing is in the way.
    let site = reopen(site, manifest(json!(["open", "done", "held", "new"]))).await;
    add(&site, row).await;
    let site = reopen(site, tasks(json!({}))).await;
    add(&site, json!({"status": "anything", "at": "2026-01-01"})).await;
    // Entries of a JSON column count one by one.
    let labelled = |list: Json| with_enum("labels", list);
    let mut plain = labelled(json!([]));
    plain["tables"][0]["columns"][4].as_object_mut().unwrap().remove("enum");
    let site = reopen(site, plain).await;
    for (id, labels) in [(1, json!(["red", "blue"])), (2, json!("red")), (3, json!([1]))] {
        site.update(&format!("tasks&id={id}"), json!({"labels": labels})).await;
    }
    let told = refused(&site, labelled(json!(["red", "green"]))).await;
    assert!(told.contains("labels cannot have this enum: 2 values are not in it"), "{told}");
    Site::on(site.database).plugin(labelled(json!(["red", "blue", 1]))).open().await;
}

#[tokio::test]
async fn indexed_text_has_a_length_that_both_engines_hold() {
    let site = Site::builder().await.plugin(tasks(json!({}))).open().await;
    let row = |title: String| json!({"status": "open", "at": "2026-01-01", "title": title});
    // Random enough that no engine compresses it.
    let long: String =
        (0..1000u32).map(|i| char::from_u32(0x4e00 + i * 7919 % 20000).unwrap()).collect();
    add(&site, row(long.clone())).await;
    let manifest = || tasks(json!({"indexes": [["title"]]}));
    let told = refused(&site, manifest()).await;
    assert!(told.contains("title cannot be indexed: 1 of its texts"), "{told}");
    site.database.run("delete from tasks").await;
    let site = Site::on(site.database).plugin(manifest()).open().await;
    let post = |title: String| site.admin("POST /api/backend/item?table=tasks").json(row(title));
    post(long.clone()).refused(400, "database_error").await;
    post(long.chars().take(600).collect()).expect(201).await;
}

/// The plan of a list: the engine's words in one text.
async fn plan(site: &Site, query: &str) -> String {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
    let query = Query::parse(pairs).unwrap();
    site.cms.items().plan("tasks", &query).await.unwrap().join("\n")
}

/// A site with rows enough that no engine prefers to read them all.
async fn large(builder: SiteBuilder, manifest: Json) -> Site {
    let site = builder.plugin(manifest).open().await;
    let (instant, day) = match site.database.is_postgres() {
        true => (
            "timestamptz '2026-01-01Z' + (i * 7919 % 400000) * interval '1 minute'",
            "date '2026-01-01' + cast(i % 300 as integer)",
        ),
        false => (
            "strftime('%Y-%m-%dT%H:%M:00.000Z', 1767225600 + (i * 7919 % 400000) * 60, \
             'unixepoch')",
            "date(1767225600 + (i % 300) * 86400, 'unixepoch')",
        ),
    };
    let sql = format!(
        "insert into tasks (status, at, due, title) select case i % 3 when 0 then 'open' else \
         'done' end, {instant}, case when i % 5 > 0 then {day} end, 'Task ' || i"
    );
    site.database.fill(&sql, 20_000).await;
    site
}

#[tokio::test]
async fn one_index_serves_filter_order_and_cursor_in_both_directions() {
    let manifest = tasks(json!({"indexes": [["status", "-at"], ["status", "due"], ["title"]]}));
    let site = large(Site::builder().await, manifest).await;
    for query in [
        "filter[status]=open&sort=-at",
        "filter[status]=open&sort=at",
        "filter[status]=open&sort=-due",
        "filter[status]=open&sort=due",
        "sort=status,-at",
        "sort=-status,at",
        "sort=title",
        "sort=-title",
        "filter[title]=Task 77",
        "filter[status]=open&filter[at][gte]=2026-03-01&filter[at][lt]=2026-04-01&sort=at",
    ] {
        let (mut at, mut seen) = (String::new(), 0);
        for page in 0..3 {
            let plan = plan(&site, &format!("{query}&limit=20{at}")).await;
            let (scans, sorts) = if site.database.is_postgres() {
                (plan.contains("Seq Scan"), plan.contains("Sort"))
            } else {
                // The page itself is called t as well.
                let scans = plan.lines().filter(|line| *line == "SCAN t").count();
                (scans > 1 || !plan.contains("USING INDEX"), plan.contains("TEMP B-TREE"))
            };
            assert!(!scans && !sorts, "{query}, page {page}:\n{plan}");
            // Many rows share a day: the page is sought among them, not counted through.
            let seeks = page == 0 || !query.ends_with("due") || site.database.is_postgres();
            assert!(seeks || plan.contains("due=? AND id"), "{query}, page {page}:\n{plan}");
            // Deep: the second page begins far behind the first.
            let skip = if page == 0 { "&offset=300" } else { "" };
            let list = format!("{query}&limit=20{at}{skip}").replace(' ', "%20");
            let ask = site.admin(&format!("GET /api/backend/item?table=tasks&{list}"));
            let reply = ask.expect(200).await;
            seen += reply.data().as_array().unwrap().len();
            match reply.json()["meta"]["next"].as_str() {
                Some(next) => at = format!("&cursor={next}"),
                None => break,
            }
        }
        assert!(seen > 0 || query.contains("77"), "{query}");
    }
}

#[tokio::test]
async fn an_invalid_index_is_made_again() {
    let database = TestDatabase::new().await;
    if !database.is_postgres() {
        return;
    }
    let manifest = tasks(json!({"indexes": [["due"]]}));
    let site = large(Site::on(database), manifest.clone()).await;
    let invalid = "update pg_index set indisvalid = false where indexrelid = (select \
                   c.oid from pg_class c where c.relname like 'tasks_due_%' and c.relnamespace = \
                   to_regnamespace(current_schema()))";
    site.database.run(invalid).await;
    assert_eq!(indexes(&site).await, json!([]));
    let site = reopen(site, manifest).await;
    assert_eq!(indexes(&site).await, json!([["due"]]));
}

/// Reads and writes go on while an index is made, and two processes make it once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_index_is_made_beside_readers_by_one_of_two_processes() {
    let site = large(Site::builder().await, tasks(json!({}))).await;
    let open = || {
        let plugin = manifest(&tasks(json!({"indexes": [["status", "-at"]]})));
        cms_core::Cms::builder(site.database.settings()).plugin(plugin).open()
    };
    let work = async {
        for i in 0..20 {
            site.admin("GET /api/backend/item?table=tasks&limit=1").expect(200).await;
            let row = json!({"status": "new", "at": "2026-01-01", "title": format!("n{i}")});
            add(&site, row).await;
        }
    };
    let (one, two, ()) = tokio::join!(open(), open(), work);
    for cms in [one, two] {
        cms.unwrap().indexes_made().await.expect("made");
    }
    assert_eq!(indexes(&site).await, json!([["status", "-at"]]));
}

/// A version is found by the index of versions, and a record without versions by its key.
#[tokio::test]
async fn a_version_is_read_by_indexes() {
    let manifest = json!({"id": "work", "tables": [{"name": "texts", "multilanguage": true,
        "columns": columns("title text")}]});
    let site = Site::builder().await.plugin(manifest).open().await;
    // Every second one is the German version of the one before; some say nothing of their record.
    let rows = "insert into texts (base_id, language_short, title) select case when i % 10 = 1 \
                then null else i - (i + 1) % 2 end, case i % 2 when 1 then 'en' else 'de' end, \
                'Text ' || i";
    site.database.fill(rows, 20_000).await;
    for (id, language, title) in
        [(3, "de", 4), (4, "en", 3), (4, "de", 4), (11, "en", 11), (11, "de", 12), (12, "en", 11)]
    {
        let found = site.items(&format!("texts&id={id}&language={language}")).await;
        assert_eq!(found["title"], format!("Text {title}"), "{id} {language}");
    }
    let query = Query::parse([("language", "de")]).unwrap();
    let plan = site.cms.items().plan_of("texts", "3", &query).await.unwrap().join("\n");
    let scans = plan.lines().any(|line| line.contains("Seq Scan") || line.trim() == "SCAN t");
    assert!(!scans && plan.contains("texts_base_id_language_short_"), "{plan}");
}
