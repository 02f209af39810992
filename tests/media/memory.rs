use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use cms_http::client::{Ask, Outgoing};
use futures_util::stream;

use crate::support::{
    TestDatabase,
    process::{self, Served},
    s3::Bucket,
};

const SIZE: usize = 40 << 20;
/// MiB of the process at most, its file apart.
const MOST: usize = 80;
/// The same with parts for a bucket: four of 5 MiB, and what the allocator keeps of them.
const MOST_WITH_PARTS: usize = 140;
/// At the same time.
const CONNECTIONS: usize = 16;

/// The most that was in memory, without pages of the program's file: a debug build has many.
fn peak_mib(served: &Served) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", served.child.id())).unwrap();
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap()
    };
    (kib("VmHWM:") - kib("RssFile:")) >> 10
}

/// A film of 40 MiB that no other has.
fn film(
    number: usize,
) -> Outgoing<impl futures_util::Stream<Item = std::io::Result<Bytes>> + Send> {
    let mut head = b"\0\0\0\x18ftypmp42".to_vec();
    head.extend(number.to_be_bytes());
    head.resize(64 << 10, 0);
    let rest = Bytes::from(vec![number as u8; 64 << 10]);
    let parts = (0..SIZE / rest.len())
        .map(move |at| Ok(if at == 0 { Bytes::from(head.clone()) } else { rest.clone() }));
    Outgoing { name: format!("{number}.mp4"), size: SIZE as u64, parts: stream::iter(parts) }
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
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, &**value)).collect();
    let peak = uploaded(&variables).await;
    assert!(peak < MOST_WITH_PARTS, "{peak} MiB");
    assert_eq!(bucket.uploads(), Vec::<String>::new());
}

/// Uploads `CMS_TEST_UPLOADS` films, a few by default. Returns the server's memory at most, in MiB.
async fn uploaded(variables: &[(&str, &str)]) -> usize {
    let uploads = std::env::var("CMS_TEST_UPLOADS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let made = ["--json", "keys", "create", "--name", "test", "--right", "*"];
    let made: serde_json::Value = serde_json::from_str(&process::run(&database, &made)).unwrap();
    let variables = [&[("CMS_LIMITER__STORE", "off")], variables].concat();
    let served = Served::start_with(&database, "warn", &variables);
    let client = served.client(made["data"]["key"].as_str().unwrap());
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
