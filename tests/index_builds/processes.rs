//! `cms serve`, ended while it makes an index: the next start finds a good site and makes it.

use std::time::Duration;

use serde_json::Value as Json;

use super::{Held, client, declared, index_name, made, soon};
use crate::support::{
    Site, TestDatabase,
    process::{self, Served},
};

/// A site in a folder whose index somebody has dropped, with its name.
async fn without_index() -> (TestDatabase, String) {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    database.write_plugin(&declared());
    let site = Site::on(database).open().await;
    super::add(&client(&site.cms), 1).await;
    site.cms.close().await;
    let name = index_name(&site.database).await;
    site.database.run(format!("drop index \"{name}\"")).await;
    (site.database, name)
}

/// What `/readyz` says of indexes.
fn readiness(served: &Served) -> String {
    let reply = served.get("/readyz");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    let (_, body) = reply.split_once("\r\n\r\n").unwrap();
    let body: Json = serde_json::from_str(body).unwrap();
    body["data"]["indexes"].as_str().unwrap().to_owned()
}

async fn until(served: &Served, state: &str) {
    let reached = async {
        while readiness(served) != state {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    soon(state, reached).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_in_the_middle_leaves_a_good_site() {
    let (database, name) = without_index().await;
    for killed in [true, false] {
        let held = Held::table(&database).await;
        let mut served = Served::start(&database, "info");
        assert_eq!(readiness(&served), "making");
        if killed {
            served.kill();
        } else {
            let (code, log) = served.terminate();
            assert_eq!(code, Some(0), "{log}");
            assert!(log.contains("making index 1 of 1"), "{log}");
        }
        held.end().await;
        let served = Served::start(&database, "info");
        until(&served, "made").await;
        assert_eq!(served.terminate().0, Some(0));
        assert_eq!(made(&database, &name).await, 1, "killed: {killed}");
        let rows = process::run(&database, &["--json", "items", "list", "tasks"]);
        assert!(rows.contains("2026-01-02"), "{rows}");
        database.run(format!("drop index \"{name}\"")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_names_an_index_that_is_not_made() {
    let (database, name) = without_index().await;
    database.run(format!("create table \"{name}\" (a integer)")).await;
    let served = Served::start(&database, "warn");
    until(&served, "failed").await;
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0), "{log}");
    let told = log.lines().find(|line| line.contains("an index was not made")).expect("a line");
    assert!(
        told.contains("tasks") && told.contains("status, -at") && told.contains(&name),
        "{log}"
    );
}
