//! A real server is killed in the middle of uploads and deletions, again and again.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use cms_http::client::{Ask, Client, Outgoing};
use futures_util::stream;
use serde_json::{Value as Json, json};

use crate::support::{
    TestDatabase,
    media::{files_below, pdf},
    process::{self, Served},
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

/// A document that no other is, small and large in turn.
fn content(number: usize) -> Vec<u8> {
    let mut file = pdf([2_000, 300_000][number % 2]);
    let name = format!("{number:08}");
    file[9..9 + name.len()].copy_from_slice(name.as_bytes());
    file
}

/// Files by their path: the number of their content, and what was told of them.
type Files = Mutex<BTreeMap<String, (usize, Told)>>;

/// Uploads, and deletes every third of its files, until the server is gone.
async fn send(client: &Client, next: &AtomicUsize, files: &Files) {
    let told = |path: &str, number, told| {
        files.lock().unwrap().insert(path.to_owned(), (number, told));
    };
    loop {
        let number = next.fetch_add(1, Ordering::SeqCst);
        let content = content(number);
        let size = content.len() as u64;
        let parts = Bytes::from(content);
        let parts = (0..parts.len()).step_by(32 << 10).map(move |at| {
            Ok::<_, std::io::Error>(parts.slice(at..parts.len().min(at + (32 << 10))))
        });
        let parts = stream::iter(parts.collect::<Vec<_>>());
        let file = Outgoing { name: format!("{number}.pdf"), size, parts };
        let Ok(answer) = client.upload(&Ask::post(MEDIA), &[], file).await else { return };
        assert_eq!(answer.status, 201, "{}", answer.body);
        let record = answer.json().unwrap()["data"].clone();
        let path = record["path"].as_str().unwrap();
        told(path, number, Told::Stored);
        if number.is_multiple_of(3) {
            told(path, number, Told::Perhaps);
            let ask = Ask::delete(MEDIA).query("id", record["id"].as_i64().unwrap());
            let Ok(answer) = client.send(ask).await else { return };
            assert_eq!(answer.status, 204, "{}", answer.body);
            told(path, number, Told::Gone);
        }
    }
}

/// `CMS_TEST_KILLS` says how often; a few times by default.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_a_kill_and_nothing_else_stays() {
    let kills = std::env::var("CMS_TEST_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let made = ["--json", "keys", "create", "--name", "test", "--right", "*"];
    let made: Json = serde_json::from_str(&process::run(&database, &made)).unwrap();
    let key = made["data"]["key"].as_str().unwrap();
    let (next, files) = (AtomicUsize::new(0), Files::default());
    for kill in 0..kills {
        let mut served = Served::start(&database, "error");
        let client = served.client(key);
        let sent = (0..SENDERS).map(|_| send(&client, &next, &files));
        // At another moment each time: an upload takes tens of milliseconds.
        let killed = async {
            tokio::time::sleep(Duration::from_micros(50_000 + kill * 79_190 % 400_000)).await;
            served.kill();
        };
        tokio::join!(futures_util::future::join_all(sent), killed);
    }
    let folder = database.folder.path().join("data/media");
    let left = files_below(&folder).len();
    // As if an hour had passed: what nothing was written to has broken off.
    for broken in files_below(&folder.join(".incoming")) {
        let file = std::fs::File::options().write(true).open(folder.join(".incoming").join(broken));
        file.unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    let served = Served::start(&database, "warn");
    let client = served.client(key);
    let check = async |remove: bool| {
        let ask = Ask::post(&format!("{MEDIA}/check")).json(&json!({"remove": remove}));
        client.send(ask).await.unwrap().json().unwrap()["data"].clone()
    };
    let swept = check(true).await;
    assert_eq!((&swept["lost"], &swept["orphans"]), (&json!(0), &swept["removed"]), "{swept}");
    let after = check(false).await;
    assert_eq!((&after["lost"], &after["orphans"]), (&json!(0), &json!(0)), "{after}");
    let mut rows = std::collections::BTreeSet::new();
    let mut cursor = None::<String>;
    loop {
        let ask = Ask::get(MEDIA).query("limit", 500).maybe("cursor", cursor.take());
        let page = client.send(ask).await.unwrap().json().unwrap();
        let path = |row: &Json| row["path"].as_str().unwrap().to_owned();
        rows.extend(page["data"].as_array().unwrap().iter().map(path));
        match page["meta"]["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    let stored: Vec<_> = files_below(&folder).iter().map(|file| format!("/media/{file}")).collect();
    assert_eq!(stored, rows.iter().cloned().collect::<Vec<_>>(), "files beside rows");
    let files = files.into_inner().unwrap();
    for (path, (number, told)) in &files {
        let (status, body) = served.bytes(path);
        match (told, status) {
            (Told::Stored | Told::Perhaps, 200) => {
                assert!(rows.contains(path), "{path} has no row");
                assert!(body == content(*number), "{path} is another file");
            }
            (Told::Perhaps | Told::Gone, 404) => assert!(!rows.contains(path), "{path} has a row"),
            (told, status) => panic!("{path}: {told:?}, but {status}"),
        }
    }
    let acknowledged = files.values().filter(|(_, told)| *told == Told::Stored).count();
    println!(
        "{kills} kills: {acknowledged} files acknowledged and there, {} rows, {left} files before \
         the sweep, {} removed by it",
        rows.len(),
        swept["removed"]
    );
    assert!(acknowledged > 0, "no upload ended before a kill");
}
