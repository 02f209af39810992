//! The writer: its commits, the outcomes that it reports, and the callers that wait for it.

use super::*;

#[tokio::test]
async fn commits_are_flushed_as_configured() {
    for (synchronous, expected) in [(Synchronous::Full, 2), (Synchronous::Normal, 1)] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cms.db");
        create(&path).await.expect("a file");
        let (_, writer) = open(&path, synchronous).await.expect("opened");
        let mut tx = writer.begin(true).await.expect("a turn");
        let told: i64 =
            sqlx::query_scalar("pragma synchronous").fetch_one(&mut *tx).await.expect("a number");
        assert_eq!(told, expected, "{synchronous:?}");
    }
}

#[test]
fn a_file_that_cannot_be_opened_lacks_rights_or_descriptors() {
    for (fault, is_obstructed, words) in [
        (Some(Fault::Unopened), true, "let this user write the folder"),
        (Some(Fault::Unopened), false, "ulimit -n"),
        (Some(Fault::ReadOnly), false, "let this user write the folder"),
        (Some(Fault::Locked), false, ""),
        (None, true, ""),
    ] {
        let told = hint(fault, is_obstructed);
        assert!(told.contains(words), "{fault:?}: {told}");
        assert_eq!(told.is_empty(), words.is_empty(), "{fault:?}: {told}");
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_the_writer_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cms.db");
    create(&path).await.expect("a file");
    let (_, writer) = open(&path, Synchronous::Full).await.expect("opened");
    let gone = tokio::time::timeout(Duration::ZERO, writer.scrub(true)).await;
    assert!(gone.is_err(), "nobody waits for it");
    let mut tx = writer.begin(true).await.expect("a turn");
    let store: i64 =
        sqlx::query_scalar("pragma temp_store").fetch_one(&mut *tx).await.expect("a number");
    assert_eq!(store, 2, "undo data stays in memory");
}

#[tokio::test]
async fn who_waits_for_the_writer_hears_in_time_and_leaves_the_queue() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cms.db");
    create(&path).await.expect("a file");
    let (_readers, writer) = open(&path, Synchronous::Normal).await.expect("opened");
    let held = writer.begin(true).await.expect("a turn");
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let refused = writer.begin(false).await.err().expect("refused");
    assert_eq!(refused.code(), Code::Unavailable);
    assert!((LOCK_TIMEOUT..LOCK_TIMEOUT * 2).contains(&began.elapsed()), "{:?}", began.elapsed());
    let patient = tokio::time::timeout(LOCK_TIMEOUT * 60, writer.begin(true)).await;
    assert!(patient.is_err(), "it waits, and its caller may go");
    tokio::time::resume();
    drop(held);
    writer.begin(false).await.expect("nobody is left before it");
}

const DEFERRED: &str = "create table parents (id integer primary key); create table children \
                        (parent integer references parents deferrable initially deferred)";
const BROKEN: &str = "insert into children values (9)";

async fn write(writer: &Writer, sql: &'static str) -> Result<Arc<Raised>> {
    let mut tx = writer.begin(true).await?;
    sqlx::raw_sql(sql).execute(&mut *tx).await?;
    tx.commit(BTreeSet::new()).await
}

#[tokio::test]
async fn deferred_keys_are_noticed_when_they_are_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cms.db");
    create(&path).await.expect("a file");
    let (_readers, writer) = open(&path, Synchronous::Normal).await.expect("opened");
    // All three are begun before the first commit.
    let (first, made, next) = tokio::join!(
        write(&writer, "create table plain (id integer)"),
        write(&writer, DEFERRED),
        write(&writer, BROKEN),
    );
    first.expect("it shares its commit with the tables alone");
    made.expect("the tables are made");
    assert!(next.expect_err("a broken reference").is_broken_reference());
    let (good, bad) =
        tokio::join!(write(&writer, "insert into plain values (1)"), write(&writer, BROKEN));
    good.expect("it commits alone");
    assert!(bad.expect_err("a broken reference").is_broken_reference());
}

#[tokio::test]
async fn nobody_gets_the_cause_of_a_commit_that_others_share() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cms.db");
    create(&path).await.expect("a file");
    let (_readers, writer) = open(&path, Synchronous::Normal).await.expect("opened");
    // The change that makes the key breaks it, too.
    let both = [DEFERRED, BROKEN].join("; ");
    let breaking = async {
        let mut tx = writer.begin(true).await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(both)).execute(&mut *tx).await?;
        tx.commit(BTreeSet::new()).await
    };
    let innocent = write(&writer, "create table plain (id integer)");
    let (innocent, breaking) = tokio::join!(innocent, breaking);
    for told in [innocent, breaking] {
        let told = told.expect_err("the commit fails");
        assert_eq!(told.code(), Code::Unavailable, "{told:?}");
    }
    write(&writer, "create table plain (id integer)").await.expect("again, by itself");
}

#[tokio::test]
async fn a_folder_in_the_place_of_the_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let refusal = open(folder.path(), Synchronous::Full).await.err().expect("it is no file");
    assert_eq!(refusal.code(), Code::Unavailable);
    assert!(refusal.detail().ends_with("It is a folder: name a file."), "{refusal:?}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cms.db");
    create(&path).await.expect("a file");
    // Rights would not keep the superuser from making it.
    std::os::unix::fs::symlink("missing/shm", folder.path().join("cms.db-shm"))
        .expect("a link that leads nowhere");
    let refusal = open(&path, Synchronous::Full).await.err().expect("it cannot be opened");
    assert_eq!(refusal.code(), Code::Unavailable);
    assert!(refusal.detail().contains("let this user write the folder"), "{refusal:?}");
    assert!(refusal.detail().contains("Or look at a copy"), "{refusal:?}");
}
