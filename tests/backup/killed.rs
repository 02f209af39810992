//! A process that restores and ends at one step, without a chance to finish anything. The site is
//! then the old one or the new one, once the next command has ended what was broken off.

use std::path::Path;

use cms_core::{
    Cms, Code, Secret,
    backup::{self, Ended, Identities},
    settings::Settings,
};
use tokio::process::Command;

use super::{nobody, saved, write, written_at};
use crate::support::{Site, TestDatabase, database::lock_of_schema, media::files_below, process};

/// Names the step of the child, and its site.
const CHILD: &str = "CMS_TEST_RESTORE_CHILD";

fn settings(folder: &Path, url: &str) -> Settings {
    let mut settings = Settings::default();
    settings.dirs.data = folder.join("data");
    settings.dirs.plugins = folder.join("plugins");
    settings.dirs.media = folder.join("media");
    settings.database_url = (!url.is_empty()).then(|| Secret::new(url));
    settings
}

/// Runs in a process of its own: see [`restore_until`].
#[tokio::test]
#[ignore = "a part of the tests below"]
async fn the_process_that_restores() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let [step, times, folder, url, archive]: [&str; 5] =
        told.splitn(5, '\n').collect::<Vec<_>>().try_into().unwrap();
    let left = std::sync::atomic::AtomicI64::new(times.parse().unwrap());
    let step = step.to_owned();
    let hook = move |progress: backup::Progress| {
        let counts = progress.step == step;
        if counts && left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst) == 1 {
            std::process::abort();
        }
    };
    let settings = settings(Path::new(folder), url);
    let judged = backup::judge(Path::new(archive), &settings, &Identities::default(), nobody())
        .await
        .unwrap();
    judged.restore(&settings, true, std::sync::Arc::new(hook)).await.unwrap();
}

/// Restores in another process, which ends when it has come to a step so many times. Returns
/// whether it did.
async fn restore_until(database: &TestDatabase, archive: &Path, step: &str, times: usize) -> bool {
    let url = database.url.clone().unwrap_or_default();
    let told =
        format!("{step}\n{times}\n{}\n{url}\n{}", database.folder().display(), archive.display());
    // Tasks of the site that was closed go on meanwhile: they end its connections.
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "backup::killed::the_process_that_restores", "--ignored"])
        .env(CHILD, told)
        .output()
        .await
        .unwrap();
    use std::os::unix::process::ExitStatusExt as _;
    let was_killed = output.status.signal().is_some();
    assert!(was_killed || output.status.success(), "{step}: {output:?}");
    was_killed
}

#[tokio::test]
#[ignore = "takes minutes: .ci/full runs it"]
async fn a_kill_at_any_step_leaves_the_old_site_or_the_new_one() {
    let (_source, archive) = saved().await;
    let steps = [
        ("planned", 1),
        ("restore", 1),
        ("restore", 4),
        ("staged", 1),
        ("decided", 1),
        ("exchanged", 1),
        ("cleared", 1),
        ("cleared", 2),
        ("placed", 1),
        ("placed", 2),
        ("placed", 3),
        ("done", 1),
    ];
    let mut killed = 0;
    for (step, times) in steps {
        let site = Site::open().await;
        write(&site.cms, "old").await;
        site.upload("old.png", &crate::support::media::png(9, 9, 9)).await;
        let settings = site.cms.settings().clone();
        let database = super::closed(site).await;
        if !restore_until(&database, &archive, step, times).await {
            continue;
        }
        killed += 1;
        match Cms::open(settings.clone()).await.err() {
            Some(error) => {
                assert_eq!(error.code(), Code::Conflict, "{step}");
                assert!(error.detail().contains("cms db restore --finish"), "{error}");
            }
            None => assert_eq!(step, "done", "{times}: nobody knows of it"),
        }
        let ended = backup::finish(&settings, nobody()).await.unwrap();
        let is_new = !matches!(ended, Ended::Undone);
        assert_eq!(is_new, !["planned", "restore", "staged"].contains(&step), "{step} {ended:?}");
        let expected: &[&str] = if is_new { &["a", "b"] } else { &["old"] };
        assert_eq!(written_at(&settings).await, expected, "{step} {times}");
        let found = backup::check(&settings, true, nobody()).await.unwrap();
        assert_eq!(found.problems, Vec::<String>::new(), "{step} {times}");
        let media = if is_new { 2 } else { 1 };
        assert_eq!(files_below(&settings.dirs.media).len(), media, "{step} {times}");
        let left = super::left_beside(&database);
        assert_eq!(left, Vec::<String>::new(), "{step} {times}");
    }
    assert!(killed >= 8, "{killed} of the steps came");
}

/// An exchange that PostgreSQL does not confirm may have been made: nothing is undone then.
#[tokio::test]
async fn an_exchange_without_an_answer_waits_for_the_command() {
    let (_source, archive) = saved().await;
    let site = Site::open().await;
    write(&site.cms, "old").await;
    let settings = site.cms.settings().clone();
    let database = super::closed(site).await;
    let Some(url) = database.url.clone() else { return };
    let other = sqlx::postgres::PgPoolOptions::new().max_connections(1);
    // Connections of the same user would be those of a service.
    let other = other.after_connect(|connection, _| {
        Box::pin(async move {
            let hide = "set session application_name = 'a test'";
            sqlx::Executor::execute(connection, hide).await.map(drop)
        })
    });
    let other = other.connect(&url).await.unwrap();
    let mut held = other.begin().await.unwrap();
    let lock = sqlx::raw_sql(sqlx::AssertSqlSafe(lock_of_schema(7_165_923_410)));
    sqlx::Executor::execute(&mut *held, lock).await.unwrap();
    let unanswered = super::restore(&settings, &archive, true).await.unwrap_err();
    assert_eq!(unanswered.code(), Code::Unavailable, "{unanswered:?}");
    assert!(unanswered.detail().contains("cms db restore --finish"), "{unanswered}");
    assert!(backup::is_pending(&settings));
    held.rollback().await.unwrap();
    other.close().await;
    let ended = backup::finish(&settings, nobody()).await.unwrap();
    assert!(matches!(ended, Ended::Finished(_)), "{ended:?}");
    assert_eq!(written_at(&settings).await, ["a", "b"]);
}

#[tokio::test]
async fn a_restore_that_was_not_decided_is_undone_by_the_command() {
    let (_source, archive) = saved().await;
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    assert!(restore_until(&database, &archive, "staged", 1).await);
    let output = process::output(&database, &["keys", "list"]);
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--finish"), "{output:?}");
    process::run(&database, &["db", "restore", "--finish"]);
    process::run(&database, &["keys", "list"]);
}
