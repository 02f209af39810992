//! Backups: written while others write, restored elsewhere, and the command line around them.

mod hostile;
mod kept;
mod killed;
mod limits;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use cms_core::{
    Actor, Cms, Code,
    backup::{self, Identities, OnProgress, Restored, Saving, To},
    items::{Query, asc},
    settings::Settings,
};
use serde_json::json;

use crate::support::{
    Site, TestDatabase,
    media::{files_below, png},
    process::{self, Served},
};

fn nobody() -> OnProgress {
    Arc::new(|_| {})
}

async fn save(settings: &Settings, path: &Path) -> cms_core::Result<backup::SavedBackup> {
    backup::save(settings, To::File(path.to_owned()), Saving::default(), nobody()).await
}

/// As [`save`], and tries whether it can be restored.
async fn save_tried(settings: &Settings, path: &Path) -> cms_core::Result<backup::SavedBackup> {
    let mut how = Saving::default();
    how.verify = true;
    backup::save(settings, To::File(path.to_owned()), how, nobody()).await
}

async fn restore(settings: &Settings, path: &Path, yes: bool) -> cms_core::Result<Restored> {
    let judged = backup::judge(path, settings, &Identities::default(), nobody()).await?;
    judged.restore(settings, yes, nobody()).await
}

async fn write(cms: &Cms, name: &str) {
    let mut change = cms.change(Actor::Operator).await.unwrap();
    let body = json!({"name": name, "value": "x\ty\\n\n", "public": true});
    cms.items().create(&mut change, "settings", body.as_object().unwrap()).await.unwrap();
    change.commit().await.unwrap();
}

/// The names that [`write`] has written.
async fn written(cms: &Cms) -> Vec<String> {
    let query = Query::new().sort(asc("name")).limit(200);
    let list = cms.items().list("settings", &query).await.unwrap();
    let records = list.records().unwrap();
    records.iter().map(|record| record["name"].as_str().unwrap().to_owned()).collect()
}

/// The names that are written in a site that nobody has open.
async fn written_at(settings: &Settings) -> Vec<String> {
    let cms = Cms::open(settings.clone()).await.unwrap();
    let names = written(&cms).await;
    cms.close().await;
    names
}

/// A site with two settings, two pictures and a plugin.
async fn site() -> Site {
    let site = Site::open().await;
    write(&site.cms, "a").await;
    write(&site.cms, "b").await;
    for seed in [1, 2] {
        site.upload("a.png", &png(8, 5, seed)).await;
    }
    let plugin = site.cms.settings().dirs.plugins.join("hello");
    fs::create_dir_all(&plugin).unwrap();
    fs::write(plugin.join("plugin.json"), r#"{"id": "hello"}"#).unwrap();
    site
}

/// Closes a site, and lets go of it: nobody has its database open.
async fn closed(site: Site) -> TestDatabase {
    site.cms.close().await;
    site.database
}

/// A saved site, which is closed; its archive lies in its folder.
async fn saved() -> (TestDatabase, PathBuf) {
    let site = site().await;
    let path = site.database.folder().join("site.cms");
    save(site.cms.settings(), &path).await.unwrap();
    (closed(site).await, path)
}

#[tokio::test]
async fn a_site_comes_back_whole_in_another_place() {
    let (old, archive) = saved().await;
    let new = TestDatabase::new().await;
    let settings = new.settings();
    let restored = restore(&settings, &archive, false).await.unwrap();
    assert_eq!((restored.media, restored.kept.len()), (2, 0), "{restored:?}");
    let [revoked] = &restored.warnings[..] else { panic!("{restored:?}") };
    assert!(revoked.ends_with("revoke again what was revoked since"), "{revoked}");
    assert!(revoked.contains(&restored.made_at), "{revoked}");
    for table in ["cms_settings", "cms_media", "cms_audit", "cms_events", "cms_groups"] {
        assert_eq!(old.dump(table).await, new.dump(table).await, "{table}");
    }
    for folder in ["media", "plugins"] {
        let files = |of: &TestDatabase| files_below(&of.folder().join(folder));
        assert_eq!(files(&old), files(&new));
    }
    let checked = backup::check(&settings, true, nobody()).await.unwrap();
    assert_eq!((checked.files, checked.problems.len()), (2, 0), "{checked:?}");
    let cms = Cms::open(settings.clone()).await.unwrap();
    assert_eq!(written(&cms).await, ["a", "b"]);
    // Numbers go on, triggers work.
    write(&cms, "c").await;
    assert_eq!(written(&cms).await, ["a", "b", "c"]);
    cms.close().await;
    // Once more, from the copy.
    let again = new.folder().join("again.cms");
    let saved = save_tried(&settings, &again).await.unwrap();
    assert!(saved.verified);
    assert_eq!(backup::last(&settings).unwrap().made_at, saved.made_at);
    assert_eq!(left_beside(&new), Vec::<String>::new());
}

#[tokio::test]
async fn nobody_is_logged_in_after_a_restore() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    assert!(site.pending("ana").await.is_string());
    site.delete("/api/backend/cache").await;
    let archive = site.database.folder().join("site.cms");
    save_tried(site.cms.settings(), &archive).await.unwrap();
    // Two clears more than the backup knows of.
    for _ in 0..2 {
        site.delete("/api/backend/cache").await;
    }
    let replaced = site.cms.cache().rules().await.unwrap().last_clear();
    let settings = site.cms.settings().clone();
    let database = closed(site).await;
    for table in ["cms_sessions", "cms_pending_logins"] {
        assert_eq!(database.rows(table).await, 1, "{table}");
    }
    restore(&settings, &archive, true).await.unwrap();
    for table in ["cms_sessions", "cms_pending_logins"] {
        assert_eq!(database.rows(table).await, 0, "{table}");
    }
    let site = Site::on(database).open().await;
    let me = site.ask("GET /api/backend/auth/me").bearer(&ana.token);
    me.refused(401, "login_required").await;
    // The cache is cleared, with a number that no process has seen. Later clears count on.
    let last = async || site.cms.cache().rules().await.unwrap().last_clear();
    let restored = last().await;
    assert!(restored > replaced + (1_i64 << 32) - 10, "{replaced} {restored}");
    site.delete("/api/backend/cache").await;
    assert_eq!(last().await, restored + 1);
    site.cms.close().await;
}

/// What a backup or a restore should have removed.
fn left_beside(database: &TestDatabase) -> Vec<String> {
    let of_ours = |name: &String| {
        [".backup-", ".partial", ".restoring", "restore.json"].iter().any(|end| name.contains(end))
    };
    let mut left: Vec<_> = files_below(database.folder()).into_iter().filter(of_ours).collect();
    left.sort();
    left
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_before_is_in_it_while_others_write() {
    let site = Site::open().await;
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (cms, stop, count) = (site.cms.clone(), stop.clone(), count.clone());
            tokio::spawn(async move {
                let (mut n, mut longest) = (0, Duration::ZERO);
                while !stop.load(Ordering::SeqCst) {
                    let began = Instant::now();
                    write(&cms, &format!("w{writer}-{n}")).await;
                    longest = longest.max(began.elapsed());
                    count.fetch_add(1, Ordering::SeqCst);
                    n += 1;
                }
                longest
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let archive = site.database.folder().join("site.cms");
    let before = count.load(Ordering::SeqCst);
    save(site.cms.settings(), &archive).await.unwrap();
    let after = count.load(Ordering::SeqCst);
    stop.store(true, Ordering::SeqCst);
    let mut longest = Duration::ZERO;
    for writer in writers {
        longest = longest.max(writer.await.unwrap());
    }
    site.cms.close().await;
    println!("{before} writes before, {} meanwhile; longest {longest:?}", after - before);
    let new = TestDatabase::new().await;
    restore(&new.settings(), &archive, false).await.unwrap();
    let checked = backup::check(&new.settings(), true, nobody()).await.unwrap();
    assert_eq!(checked.problems, Vec::<String>::new());
    let kept = new.rows("cms_settings").await;
    // Those that were written when the archive was made may be in it.
    assert!(kept >= before && kept <= after + 4, "{before} {kept} {after}");
    let gaps = "select count(*) from cms_settings s where s.name like 'w0-%' and s.name <> 'w0-0' \
                and not exists (select 1 from cms_settings p where p.name = 'w0-' || \
                cast(cast(substr(s.name, 4) as integer) - 1 as text))";
    assert_eq!(new.count(gaps).await, 0, "one moment: none without the one before");
}

#[tokio::test]
async fn a_site_that_is_not_empty_or_in_use_stays_as_it_is() {
    let (_old, archive) = saved().await;
    let site = Site::open().await;
    write(&site.cms, "mine").await;
    let settings = site.cms.settings().clone();
    for (yes, said) in [(false, "not empty"), (true, "end `cms serve`")] {
        let refused = restore(&settings, &archive, yes).await.unwrap_err();
        assert_eq!(refused.code(), Code::Conflict, "{refused}");
        assert!(refused.detail().contains(said), "{refused}");
    }
    assert_eq!(written(&site.cms).await, ["mine"]);
    let database = closed(site).await;
    let restored = restore(&settings, &archive, true).await.unwrap();
    let kept = restored.kept.join(" ");
    assert!(kept.contains("replaced"), "{restored:?}");
    assert_eq!(written_at(&settings).await, ["a", "b"]);
    // What was replaced can be looked at.
    if database.is_postgres() {
        let schema = restored.kept.iter().find_map(|kept| kept.strip_prefix("schema ")).unwrap();
        let rows = format!("select count(*) from {schema}.cms_settings where name = 'mine'");
        assert_eq!(database.count(&rows).await, 1);
    } else {
        let kept = restored.kept.iter().find(|kept| kept.ends_with("cms.db")).unwrap();
        assert!(fs::metadata(kept).unwrap().len() > 0);
    }
    assert_eq!(left_beside(&database), Vec::<String>::new());
}

#[tokio::test]
async fn one_that_cannot_be_restored_takes_nobodys_place() {
    let site = site().await;
    if site.database.is_postgres() {
        // There nothing is amiss that its rules forbid.
        site.cms.close().await;
        return;
    }
    let settings = site.cms.settings().clone();
    let archive = site.database.folder().join("site.cms");
    save_tried(&settings, &archive).await.unwrap();
    let before = fs::read(&archive).unwrap();
    let amiss = "pragma foreign_keys = off; \
                 insert into cms_page_rows (page_id, sort_order) values (99, 1)";
    site.database.run(amiss).await;
    let refused = save_tried(&settings, &archive).await.unwrap_err();
    assert!(refused.detail().contains("its database is damaged"), "{refused}");
    assert_eq!(fs::read(&archive).unwrap(), before);
    assert_eq!(left_beside(&site.database), Vec::<String>::new());
    site.cms.close().await;
}

/// A backup refuses what no restore would make again.
#[tokio::test]
async fn objects_of_others_come_back_or_are_refused() {
    let site = site().await;
    if !site.database.is_postgres() {
        site.cms.close().await;
        return;
    }
    let (settings, database) = (site.cms.settings().clone(), &site.database);
    let archive = database.folder().join("site.cms");
    let objects = "create table parts (id int primary key, n int); \
                   alter table parts replica identity full; \
                   create function stamp() returns trigger language plpgsql as \
                   'begin return new; end'; \
                   create trigger quiet before insert on parts for each row execute function \
                   stamp(); \
                   alter table parts disable trigger quiet; \
                   create view some_parts with (security_barrier) as select id from parts where \
                   n > 1 with check option";
    database.run(objects).await;
    save_tried(&settings, &archive).await.unwrap();
    let new = TestDatabase::new().await;
    restore(&new.settings(), &archive, false).await.unwrap();
    let kept = "select concat(g.tgenabled, ' ', t.relreplident, ' ', array_to_string(v.reloptions, \
                ' ')) from pg_trigger g join pg_class t on t.oid = g.tgrelid, pg_class v where \
                g.tgname = 'quiet' and t.oid = to_regclass('parts') and v.oid = \
                to_regclass('some_parts')";
    assert_eq!(new.text(kept).await, "D f security_barrier=true check_option=cascaded");
    let schema = database.text("select cast(current_schema() as text)").await;
    let other = format!("{schema}_o");
    let theirs = format!("create schema {other}; create table {other}.t (id int primary key)");
    let far = format!(
        "{theirs}; alter table parts add constraint far foreign key (n) references {other}.t"
    );
    let mood = format!(
        "create schema {other}; create type {other}.mood as enum ('sad'); \
         alter table parts add mood {other}.mood"
    );
    let gone = format!("drop schema {other} cascade");
    for (made, named, undone) in [
        ("create type addr as (street text)", "type addr", "drop type addr"),
        ("create type span as range (subtype = float8)", "type span", "drop type span"),
        (
            "create aggregate total(int) (sfunc = int4pl, stype = int)",
            "aggregate total(integer)",
            "drop aggregate total(int)",
        ),
        (r#"create collation plain from "C""#, "collation plain", "drop collation plain"),
        (
            "create rule never as on update to parts do instead nothing",
            "rule never on table parts",
            "drop rule never on parts",
        ),
        (
            "create statistics both_ways on id, n from parts",
            "statistics object both_ways",
            "drop statistics both_ways",
        ),
        (far.as_str(), "constraint far on table parts refers to", gone.as_str()),
        (mood.as_str(), "column mood of table parts refers to", gone.as_str()),
    ] {
        database.run(made).await;
        let refused = save_tried(&settings, &archive).await.unwrap_err();
        assert_eq!(refused.code(), Code::Conflict, "{made}: {refused:?}");
        let says = refused.detail();
        assert!(says.contains("cannot carry") && says.contains(named), "{made}: {says}");
        database.run(undone).await;
    }
    // A restore makes the domain before the function.
    let early = "create function word() returns text language sql as 'select ''x'''; \
                 create domain greeting as text default word()";
    database.run(early).await;
    let refused = save_tried(&settings, &archive).await.unwrap_err();
    assert_eq!(refused.code(), Code::Conflict, "{refused:?}");
    let says = refused.detail();
    assert!(says.contains("could not restore") && says.contains("type greeting refers"), "{says}");
    database.run("drop domain greeting; drop function word()").await;
    save_tried(&settings, &archive).await.unwrap();
    site.cms.close().await;
}

#[tokio::test]
async fn what_killed_trials_have_left_goes_after_a_day() {
    let site = site().await;
    if !site.database.is_postgres() {
        site.cms.close().await;
        return;
    }
    let now = cms_core::Clock::system().now();
    let (mine, old) = (format!("cms_verifying_7_{now}"), "cms_verifying_7_1000".to_owned());
    for name in [&mine, &old] {
        site.database.run(format!("create schema {name}")).await;
    }
    let archive = site.database.folder().join("site.cms");
    save_tried(site.cms.settings(), &archive).await.unwrap();
    let is_there = async |name: &str| {
        let schema = format!("select count(*) from pg_namespace where nspname = '{name}'");
        site.database.count(&schema).await == 1
    };
    // Another process may be at work in the one.
    assert!(is_there(&mine).await && !is_there(&old).await);
    site.database.run(format!("drop schema {mine}")).await;
    site.cms.close().await;
}

#[tokio::test]
async fn a_check_names_what_is_missing_or_changed() {
    let site = site().await;
    let settings = site.cms.settings().clone();
    let media = site.media_files();
    fs::remove_file(settings.dirs.media.join(&media[0])).unwrap();
    let other = settings.dirs.media.join(&media[1]);
    let mut bytes = fs::read(&other).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&other, bytes).unwrap();
    let found = backup::check(&settings, false, nobody()).await.unwrap().problems;
    assert!(found.len() == 1 && found[0].ends_with("is missing"), "{found:?}");
    let found = backup::check(&settings, true, nobody()).await.unwrap().problems;
    assert!(found.len() == 2 && found.iter().any(|f| f.contains("another content")), "{found:?}");
    // A backup says so too, and goes on.
    let archive = site.database.folder().join("site.cms");
    let saved = save(&settings, &archive).await.unwrap();
    assert_eq!(saved.warnings.len(), 2, "{saved:?}");
    site.cms.close().await;
}

#[tokio::test]
async fn lost_files_leave_room_for_other_warnings() {
    let site = Site::open().await;
    let rows = "insert into cms_media (path, file_name, media_type, size, sha256, uploaded_at) \
                select 'gone/' || i, 'a.png', 'image/png', 1, cast(i as text), ''";
    site.database.fill(rows, 1001).await;
    let mut settings = site.cms.settings().clone();
    let folder = site.database.folder().join("own");
    fs::create_dir_all(folder.join("cms.toml")).unwrap();
    settings.folder = Some(folder);
    let saved = save(&settings, &site.database.folder().join("site.cms")).await.unwrap();
    assert_eq!(saved.warnings.len(), 1001);
    let lost = saved.warnings.iter().filter(|what| what.starts_with("gone/"));
    assert_eq!(lost.count(), 1000);
    assert_eq!(saved.warnings[1000], "settings/cms.toml: left out, it is not a plain file");
    site.cms.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_saves_a_site_that_is_served() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let served = Served::start(&database, "warn");
    let archive = database.folder().join("site.cms");
    let file = archive.to_str().unwrap();
    let saved = process::json(&database, &["db", "backup", file, "--verify"]);
    assert_eq!(saved["data"]["verified"], true, "{saved}");
    let refused = |code: i32, arguments: &[&str], said: &[&str]| {
        let output = process::output(&database, arguments);
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {why}");
        assert!(said.iter().all(|said| why.contains(said)), "{said:?}: {why}");
    };
    refused(6, &["db", "backup", file], &["there already"]);
    process::run(&database, &["db", "backup", file, "--yes"]);
    // The same to standard output.
    let output = process::output(&database, &["db", "backup", "-"]);
    assert!(output.status.success());
    let stream = database.folder().join("stream.cms");
    fs::write(&stream, output.stdout).unwrap();
    process::run(&database, &["db", "check", "--deep"]);
    refused(2, &["db", "restore", file], &["not empty", "--yes"]);
    refused(6, &["db", "restore", file, "--yes"], &["end `cms serve`"]);
    assert_eq!(served.terminate().0, Some(0));
    process::run(&database, &["db", "restore", stream.to_str().unwrap(), "--yes"]);
    process::run(&database, &["db", "check"]);
    process::run(&database, &["db", "shrink"]);
    refused(5, &["db", "restore", "/no/such/file"], &[]);
    fs::write(&archive, "no archive").unwrap();
    refused(1, &["db", "restore", file, "--yes"], &["no backup of cms"]);
    process::run(&database, &["db", "check"]);
}

#[tokio::test]
async fn a_backup_replaces_no_file_of_the_site() {
    let site = site().await;
    let mut settings = site.cms.settings().clone();
    let folder = site.database.folder().to_owned();
    settings.folder = Some(folder.clone());
    let link = folder.join("link");
    std::os::unix::fs::symlink(&settings.dirs.plugins, &link).unwrap();
    let (plugins, media) = (&settings.dirs.plugins, &settings.dirs.media);
    let mut files = vec![
        folder.join("cms.toml"),
        plugins.join("../cms.local.toml"),
        plugins.join("x.cms"),
        plugins.join("hello/x.cms"),
        link.join("x.cms"),
        media.join("x.cms"),
    ];
    if !site.database.is_postgres() {
        files.extend(["", "-wal", "-shm"].map(|end| folder.join(format!("data/cms.db{end}"))));
    }
    for file in files {
        let refused = save(&settings, &file).await.unwrap_err();
        assert_eq!(refused.code(), Code::ValidationFailed, "{refused}");
        let said = ["is a file of the site itself", "is part of the backup"];
        assert!(said.iter().any(|said| refused.detail().contains(said)), "{refused}");
    }
    assert!(!plugins.join("x.cms").exists() && !folder.join("cms.toml").exists());
    assert_eq!(written(&site.cms).await, ["a", "b"]);
    assert_eq!(left_beside(&site.database), Vec::<String>::new());
    save(&settings, &folder.join("site.cms")).await.unwrap();
    fs::remove_file(link).unwrap();
    site.cms.close().await;
}

#[tokio::test]
async fn a_check_reports_a_file_that_cannot_be_opened() {
    let (database, _) = saved().await;
    if database.is_postgres() {
        return;
    }
    let path = database.folder().join("data/cms.db");
    let whole = fs::read(&path).unwrap();
    let (mut head, mut pages) = (whole.clone(), whole.clone());
    head[..100].fill(0xa5);
    pages[4096..].fill(0xa5);
    let half = whole[..whole.len() / 2].to_vec();
    for (how, bytes) in [("half", half), ("no head", head), ("only a head", pages)] {
        fs::write(&path, bytes).unwrap();
        let found = backup::check(&database.settings(), false, nobody()).await.unwrap();
        let first = found.problems.first();
        assert!(first.is_some_and(|what| what.starts_with("database: ")), "{how}: {found:?}");
    }
    fs::write(&path, whole).unwrap();
    let found = backup::check(&database.settings(), false, nobody()).await.unwrap();
    assert_eq!(found.problems, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_folder_never_replaces_the_site_that_was_saved() {
    let (old, other) = (TestDatabase::new().await, TestDatabase::new().await);
    process::run(&old, &["init"]);
    // The settings in the archive name the database of the saved site.
    let local = old.folder().join("cms.local.toml");
    let database = old.folder().join("data/cms.db").display().to_string();
    let url = old.url.clone().unwrap_or_else(|| format!("sqlite://{database}"));
    let secrets = fs::read_to_string(&local).unwrap();
    fs::write(&local, format!("database_url = {url:?}\n{secrets}")).unwrap();
    let archive = old.folder().join("site.cms");
    let file = archive.to_str().unwrap();
    process::run(&old, &["db", "backup", file, "--with-secrets"]);
    old.run("create table later (id integer)").await;
    let drill = other.folder().join("new/drill");
    let restore = |more: &[&str], variable: (&str, &str)| {
        let mut command = process::program();
        command.arg("--dir").arg(&drill).args(["db", "restore", file]).args(more);
        command.stdin(std::process::Stdio::null()).env(variable.0, variable.1);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let place = if old.is_postgres() { "PostgreSQL at " } else { &*database };
    for more in [&[][..], &["--yes"]] {
        let (code, why) = restore(more, ("CMS_LISEN", "x"));
        assert_eq!(code, Some(6), "{why}");
        for said in ["not empty", place, "cms.local.toml with another database_url"] {
            assert!(why.contains(said), "{said}: {why}");
        }
        assert!(!why.contains("--yes"), "{why}");
        assert_eq!(why.matches("CMS_LISEN").count(), 1, "a warning comes once: {why}");
        assert!(!other.folder().join("new").exists(), "nothing is left behind");
    }
    // An engine that is another is no question of --yes.
    let wrong = if old.is_postgres() { "sqlite://x.db" } else { "postgres://127.0.0.1:1/x" };
    let (code, why) = restore(&[], ("CMS_DATABASE_URL", wrong));
    assert!(code == Some(6) && why.contains("database_url of"), "{why}");
    assert!(!why.contains("--yes"), "{why}");
    // As the message says.
    fs::create_dir_all(&drill).unwrap();
    let url = other.url.clone().unwrap_or_else(|| "sqlite://other.db".to_owned());
    fs::write(drill.join("cms.local.toml"), format!("database_url = {url:?}\n")).unwrap();
    let (code, why) = restore(&[], ("CMS_LIMITER__STORE", "off"));
    assert_eq!(code, Some(0), "{why}");
    assert_eq!(drill.join("other.db").exists(), !old.is_postgres());
    assert_eq!(old.rows("later").await, 0, "it was not replaced");
}
