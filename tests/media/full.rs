//! A real disk that is full: the media folder of a real server is a file system of 4 MiB. With
//! `CMS_TEST_FULL`, as in `.ci/full`, a machine that cannot show this fails. And large files, which
//! take no memory.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use cms_http::client::{Ask, Client, ClientError, Outgoing};
use futures_util::stream;
use serde_json::{Value as Json, json};

use crate::support::{
    TestDatabase, has,
    media::{files_below, in_parts, pdf, png},
    process::{self, Served},
    s3::Bucket,
};

const MEDIA: &str = "/api/backend/media";
const SIZE: usize = 1 << 20;

/// How this machine lets a process have mounts of its own. None: it does not.
pub(crate) fn apart(folder: &Path) -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    ways.into_iter().find(|way| {
        let mut command = Command::new("unshare");
        command.args(*way).args(["mount", "-t", "tmpfs", "tmpfs"]).arg(folder);
        let status = command.stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    })
}

/// The same command with 4 MiB mounted at a folder, which nobody else sees.
pub(crate) fn within(command: &Command, way: &[&str], folder: &Path) -> Command {
    let script = "mount -t tmpfs -o size=4m tmpfs \"$0\" && exec \"$@\"";
    let mut outer = Command::new("unshare");
    outer.args(way).args(["sh", "-c", script]).arg(folder);
    process::run_by(outer, command)
}

/// The status, and the record or what was refused.
async fn upload(client: &Client, name: &str, content: Vec<u8>) -> (u16, Json) {
    match client.upload(&Ask::post(MEDIA), &[], in_parts(name, content)).await {
        Ok(answer) => (answer.status.as_u16(), answer.json().unwrap()["data"].clone()),
        Err(ClientError::Problem { status, document, .. }) => (status.into(), document),
        Err(other) => panic!("{other:?}"),
    }
}

fn document(number: u8) -> Vec<u8> {
    let mut file = pdf(SIZE);
    file[9] = number;
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_uploads_and_harms_nothing() {
    let database = TestDatabase::new().await;
    let folder = database.folder().join("data/media");
    let key = process::init(&database);
    std::fs::create_dir_all(&folder).unwrap();
    let Some(way) = apart(&folder) else {
        let why = "this machine lets no process mount anything";
        assert!(std::env::var_os("CMS_TEST_FULL").is_none(), "CMS_TEST_FULL is set, but {why}");
        return println!("NOT SHOWN: {why}");
    };
    let serve = process::command(&database, &["serve", "--listen", "127.0.0.1:0"]);
    let served = Served::start_command(within(&serve, way, &folder), "error", &[]);
    let client = served.client(&key);
    // As the server sees it.
    let inside = PathBuf::from(format!("/proc/{}/root", served.child.id()));
    let inside = inside.join(folder.strip_prefix("/").unwrap());
    let picture = png(2000, 1, 1);
    let (_, shown) = upload(&client, "a.png", picture.clone()).await;
    let mut stored = Vec::new();
    let refused = loop {
        match upload(&client, "a.pdf", document(stored.len() as u8)).await {
            (201, file) => stored.push(file),
            refused => break refused,
        }
        assert!(stored.len() < 5, "4 MiB hold no 5 files of 1 MiB");
    };
    let (status, told) = refused;
    assert_eq!((status, stored.len()), (503, 3), "{told}");
    assert_eq!(told["error"], "unavailable");
    assert!(told["detail"].as_str().unwrap().contains("disk may be full"), "{told}");
    assert_eq!(files_below(&inside.join(".incoming")), Vec::<String>::new());
    assert_eq!(files_below(&inside).len(), 4);
    // Several at once: together they fill what is left.
    let more = (10..18).map(|number| upload(&client, "a.pdf", document(number)));
    for (status, told) in futures_util::future::join_all(more).await {
        assert_eq!(status, 503, "{told}");
    }
    assert_eq!(files_below(&inside).len(), 4);
    // A file of a few bytes has room, and what is there is served.
    assert_eq!(upload(&client, "b.pdf", pdf(100)).await.0, 201);
    for (number, file) in stored.iter().enumerate() {
        let (status, body) = served.bytes(file["path"].as_str().unwrap());
        assert_eq!(status, 200);
        assert!(body == document(number as u8), "{number}");
    }
    assert_eq!(served.bytes("/readyz").0, 200);
    // No room for a smaller picture: the request says so, the picture itself stays.
    std::fs::write(inside.join("filler"), vec![0; SIZE]).unwrap_err();
    let path = shown["path"].as_str().unwrap();
    assert_eq!(served.bytes(&format!("{path}?w=320")).0, 503);
    assert!(served.bytes(path) == (200, picture));
    // Room again.
    std::fs::remove_file(inside.join("filler")).unwrap();
    let delete = Ask::delete(MEDIA).query("id", stored[0]["id"].as_i64().unwrap());
    assert_eq!(client.send(delete).await.unwrap().status.as_u16(), 204);
    assert_eq!(upload(&client, "a.pdf", document(20)).await.0, 201);
    assert_eq!(served.bytes(&format!("{path}?w=320")).0, 200);
    let ask = Ask::post(&format!("{MEDIA}/check")).json(&json!({"remove": false}));
    let found = client.send(ask).await.unwrap().json().unwrap()["data"].clone();
    has!(found, {"lost": 0, "orphans": 0}, "{found}");
    println!("a file system of 4 MiB was full: {} files stay", found["files"]);
}

const FILM_SIZE: usize = 40 << 20;
/// MiB of the process at most, its file apart.
const MOST: usize = 80;
/// The same with parts for a bucket: four of 5 MiB, and what the allocator keeps of them.
const MOST_WITH_PARTS: usize = 140;
/// At the same time.
const CONNECTIONS: usize = 16;

/// The most that was in memory, without pages of the program's file: a debug build has many.
fn peak_mib(served: &Served) -> usize {
    let kib = |name| process::kib(served.child.id(), name).expect(name);
    (kib("VmHWM") - kib("RssFile")) >> 10
}

/// A film of 40 MiB that no other has.
fn film(
    number: usize,
) -> Outgoing<impl futures_util::Stream<Item = std::io::Result<Bytes>> + Send> {
    let mut head = b"\0\0\0\x18ftypmp42".to_vec();
    head.extend(number.to_be_bytes());
    head.resize(64 << 10, 0);
    let rest = Bytes::from(vec![number as u8; 64 << 10]);
    let parts = (0..FILM_SIZE / rest.len())
        .map(move |at| Ok(if at == 0 { Bytes::from(head.clone()) } else { rest.clone() }));
    Outgoing { name: format!("{number}.mp4"), size: FILM_SIZE as u64, parts: stream::iter(parts) }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_files_take_no_memory() {
    let peak = uploaded(&[]).await;
    assert!(peak < MOST, "{peak} MiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_files_to_a_bucket_take_little_memory() {
    let Some(bucket) = Bucket::new() else { return };
    let variables = bucket.variables();
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let peak = uploaded(&variables).await;
    assert!(peak < MOST_WITH_PARTS, "{peak} MiB");
    assert_eq!(bucket.uploads(), Vec::<String>::new());
}

/// Uploads `CMS_TEST_UPLOADS` films, a few by default. Returns the server's memory at most, in MiB.
async fn uploaded(variables: &[(&str, &str)]) -> usize {
    let uploads = std::env::var("CMS_TEST_UPLOADS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let database = TestDatabase::new().await;
    let key = process::init(&database);
    let variables = [&[("CMS_LIMITER__STORE", "off")], variables].concat();
    let served = Served::start_with(&database, "warn", &variables);
    let client = served.client(&key);
    let next = AtomicUsize::new(0);
    let sender = async || {
        while let Some(number) = Some(next.fetch_add(1, Ordering::SeqCst)).filter(|n| *n < uploads)
        {
            let ask = Ask::post("/api/backend/media");
            let answer = client.upload(&ask, &[], film(number)).await.unwrap();
            assert_eq!(answer.status, 201, "{number}: {}", answer.body);
        }
    };
    let senders = CONNECTIONS.min(uploads);
    futures_util::future::join_all((0..senders).map(|_| sender())).await;
    let peak = peak_mib(&served);
    println!("{uploads} uploads of 40 MiB through {senders} connections: {peak} MiB at most");
    let list = client.send(Ask::get("/api/backend/media").query("limit", 500)).await.unwrap();
    assert_eq!(list.json().unwrap()["data"].as_array().unwrap().len(), uploads);
    peak
}
