//! A real server is killed in the middle of uploads and deletions, again and again.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use crate::support::{
    TestDatabase, has,
    media::{files_below, in_parts, pdf},
    process::{self, Served, unless_killed},
    s3::{Bucket, PREFIX},
};

const MEDIA: &str = "/api/backend/media";
/// Who uploads at the same time.
const SENDERS: usize = 4;

/// What a sender was told of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// 201.
    Stored,
    /// Its deletion was asked for, and not answered.
    Perhaps,
    /// 204.
    Gone,
}

/// Bytes of the files, small and large in turn.
const SIZES: [usize; 2] = [2_000, 300_000];
/// The large ones go to a bucket in parts.
const BUCKET_SIZES: [usize; 2] = [2_000, 6 << 20];

/// A document that no other is.
fn content(number: usize, sizes: [usize; 2]) -> Vec<u8> {
    let mut file = pdf(sizes[number % 2]);
    let name = format!("{number:08}");
    file[9..9 + name.len()].copy_from_slice(name.as_bytes());
    file
}

/// Files by their path: the number of their content, and what was told of them.
type Files = Mutex<BTreeMap<String, (usize, Told)>>;

/// Uploads, and deletes every third of its files, until the server is gone.
async fn send(client: &Client, next: &AtomicUsize, files: &Files, sizes: [usize; 2]) {
    let told = |path: &str, number, told| {
        files.lock().unwrap().insert(path.to_owned(), (number, told));
    };
    loop {
        let number = next.fetch_add(1, Ordering::SeqCst);
        let content = content(number, sizes);
        let file = in_parts(&format!("{number}.pdf"), content);
        let asked = client.upload(&Ask::post(MEDIA), &[], file).await;
        let Some(answer) = unless_killed(asked) else { return };
        assert_eq!(answer.status, 201, "{}", answer.body);
        let record = answer.json().unwrap()["data"].clone();
        let path = record["path"].as_str().unwrap();
        told(path, number, Told::Stored);
        if number.is_multiple_of(3) {
            told(path, number, Told::Perhaps);
            let ask = Ask::delete(MEDIA).query("id", record["id"].as_i64().unwrap());
            let Some(answer) = unless_killed(client.send(ask).await) else { return };
            assert_eq!(answer.status, 204, "{}", answer.body);
            told(path, number, Told::Gone);
        }
    }
}

/// Kills a server again and again while it gets files, `CMS_TEST_KILLS` times; a few by default.
/// Returns the files, and how often it was killed.
async fn killed(
    database: &TestDatabase,
    key: &str,
    variables: &[(&str, &str)],
    sizes: [usize; 2],
) -> (BTreeMap<String, (usize, Told)>, u64) {
    let kills = std::env::var("CMS_TEST_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let (next, files) = (AtomicUsize::new(0), Files::default());
    for kill in 0..kills {
        let mut served = Served::start_with(database, "error", variables);
        let client = served.client(key);
        let sent = (0..SENDERS).map(|_| send(&client, &next, &files, sizes));
        // At another moment each time: an upload takes tens of milliseconds.
        let killed = async {
            tokio::time::sleep(Duration::from_micros(50_000 + kill * 79_190 % 400_000)).await;
            served.kill();
        };
        tokio::join!(futures_util::future::join_all(sent), killed);
    }
    (files.into_inner().unwrap(), kills)
}

/// Removes what was left, after which nothing is left. Returns how much.
async fn swept(client: &Client) -> Json {
    let check = async |remove: bool| {
        let ask = Ask::post(&format!("{MEDIA}/check")).json(&json!({"remove": remove}));
        client.send(ask).await.unwrap().json().unwrap()["data"].clone()
    };
    let swept = check(true).await;
    has!(swept, {"lost": 0, "orphans": swept["removed"]}, "{swept}");
    let after = check(false).await;
    has!(after, {"lost": 0, "orphans": 0}, "{after}");
    swept["removed"].clone()
}

/// The paths of all records.
async fn rows(client: &Client) -> BTreeSet<String> {
    let (mut rows, mut cursor) = (BTreeSet::new(), None::<String>);
    loop {
        let ask = Ask::get(MEDIA).query("limit", 500).maybe("cursor", cursor.take());
        let page = client.send(ask).await.unwrap().json().unwrap();
        let path = |row: &Json| row["path"].as_str().unwrap().to_owned();
        rows.extend(page["data"].as_array().unwrap().iter().map(path));
        match page["meta"]["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return rows,
        }
    }
}

/// What was acknowledged is served. Returns the number of these files.
fn judged(
    served: &Served,
    files: &BTreeMap<String, (usize, Told)>,
    rows: &BTreeSet<String>,
    sizes: [usize; 2],
) -> usize {
    for (path, (number, told)) in files {
        let (status, body) = served.bytes(path);
        match (told, status) {
            (Told::Stored | Told::Perhaps, 200) => {
                assert!(rows.contains(path), "{path} has no row");
                assert!(body == content(*number, sizes), "{path} is another file");
            }
            (Told::Perhaps | Told::Gone, 404) => assert!(!rows.contains(path), "{path} has a row"),
            (told, status) => panic!("{path}: {told:?}, but {status}"),
        }
    }
    let acknowledged = files.values().filter(|(_, told)| *told == Told::Stored).count();
    assert!(acknowledged > 0, "no upload ended before a kill");
    acknowledged
}

/// As if an hour had passed: what nothing was written to has broken off.
fn an_hour_later(folder: &Path) {
    for broken in files_below(&folder.join(".incoming")) {
        let file = std::fs::File::options().write(true).open(folder.join(".incoming").join(broken));
        file.unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_a_kill_and_nothing_else_stays() {
    let database = TestDatabase::new().await;
    let key = process::init(&database);
    let (files, kills) = killed(&database, &key, &[], SIZES).await;
    let folder = database.folder().join("data/media");
    let left = files_below(&folder).len();
    an_hour_later(&folder);
    let served = Served::start(&database, "warn");
    let client = served.client(&key);
    let removed = swept(&client).await;
    let rows = rows(&client).await;
    let stored: Vec<_> = files_below(&folder).iter().map(|file| format!("/media/{file}")).collect();
    assert_eq!(stored, rows.iter().cloned().collect::<Vec<_>>(), "files beside rows");
    let acknowledged = judged(&served, &files, &rows, SIZES);
    println!(
        "{kills} kills: {acknowledged} files acknowledged and there, {} rows, {left} files before \
         the sweep, {removed} removed by it",
        rows.len(),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_a_kill_in_a_bucket() {
    let Some(bucket) = Bucket::new() else { return };
    let database = TestDatabase::new().await;
    let key = process::init(&database);
    let variables = bucket.variables();
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let doctor = process::command(&database, &["doctor"]).envs(variables).output().unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("the bucket answers"), "{doctor}");
    let (files, kills) = killed(&database, &key, &variables, BUCKET_SIZES).await;
    let (left, parts) = (bucket.objects().len(), bucket.uploads().len());
    an_hour_later(&database.folder().join("data/media"));
    let served = Served::start_with(&database, "warn", &variables);
    let client = served.client(&key);
    let removed = swept(&client).await;
    let rows = rows(&client).await;
    let name = |object: String| object.replacen(PREFIX, "/media", 1);
    let stored: BTreeSet<_> = bucket.objects().into_iter().map(name).collect();
    assert_eq!(stored, rows, "objects beside rows");
    assert_eq!(bucket.uploads(), Vec::<String>::new());
    let acknowledged = judged(&served, &files, &rows, BUCKET_SIZES);
    println!(
        "{kills} kills: {acknowledged} files acknowledged and there, {} rows, {left} objects and \
         {parts} uploads in parts before the sweep, {removed} removed by it",
        rows.len(),
    );
}
