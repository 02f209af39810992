//! 23: the database as it was before some deliveries is put back: what is sent again has the same
//! ids.

use std::{
    collections::BTreeSet,
    io::Write,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use cms_core::Cms;

use crate::{
    lab::{EVENT, Lab, Run, settings},
    record::Arrival,
    report::Finding,
    support::Answer,
};

const LANES: usize = 5;

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let lab = Lab::new(&run, |_, _| Answer::Status(200)).await;
    lab.subscribe(LANES, &[EVENT]).await;
    lab.emit(EVENT, 20).await;
    deliver(&lab).await;
    lab.emit(EVENT, 20).await;
    let backup = lab.backup().await;
    deliver(&lab).await;
    let first = lab.record.arrivals();
    lab.cms.close().await;
    lab.restore(&backup).await;
    let cms = Cms::open(settings(&lab.database)).await.unwrap();
    let before = lab.record.count();
    deliver(&lab).await;
    let again = &lab.record.arrivals()[before..];
    let ids = |arrivals: &[Arrival]| -> BTreeSet<_> {
        arrivals.iter().map(|a| (a.event.clone(), a.job, a.body)).collect()
    };
    let (known, sent) = (ids(&first), ids(again));
    let unknown = sent.difference(&known).count();
    let expected = 20 * LANES;
    let mut change = cms.change(cms_core::Actor::System).await.unwrap();
    change.emit(EVENT, serde_json::json!({"order": {"id": "new"}})).await.unwrap();
    change.commit().await.unwrap();
    let events: BTreeSet<_> = first.iter().map(|arrival| arrival.event.clone()).collect();
    let newest = lab.texts("select id from cms_events order by id desc limit 1").await;
    vec![
        Finding::equal(
            "deliveries that the backup did not know of, sent again",
            again.len(),
            expected,
        ),
        Finding::equal(
            "of these with another event id, delivery id or body than at first",
            unknown,
            0,
        ),
        Finding::equal(
            "new events with an id that was used before",
            usize::from(events.contains(&newest[0])),
            0,
        ),
        lab.record.integrity(),
    ]
}

async fn deliver(lab: &Lab) {
    let served = lab.serve(&[], &[]);
    assert!(lab.delivered_within(Duration::from_secs(30)).await.is_some());
    served.terminate();
}

impl Lab {
    /// SQLite: `VACUUM INTO`, the path of the copy. PostgreSQL: what pg_dump says of the schema.
    async fn backup(&self) -> String {
        match &self.database.url {
            None => {
                let path = self.database.folder().join("backup.db");
                self.database.run(format!("vacuum into '{}'", path.display())).await;
                path.to_str().unwrap().to_owned()
            }
            Some(url) => {
                let (server, schema) = parts(url);
                let dump = Command::new("pg_dump").args(["--schema", schema, server]).output();
                let dump = dump.expect("pg_dump runs");
                assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
                String::from_utf8(dump.stdout).unwrap()
            }
        }
    }

    async fn restore(&self, backup: &str) {
        match &self.database.url {
            None => {
                let data = self.database.folder().join("data");
                for name in ["cms.db-wal", "cms.db-shm"] {
                    let _ = std::fs::remove_file(data.join(name));
                }
                std::fs::rename(backup, data.join("cms.db")).unwrap();
            }
            Some(url) => {
                let (server, schema) = parts(url);
                self.database.run(format!("drop schema {schema} cascade")).await;
                let mut psql = Command::new("psql");
                psql.args(["--quiet", "--set", "ON_ERROR_STOP=1", server]);
                let psql = psql.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
                let mut psql = psql.expect("psql runs");
                psql.stdin.take().unwrap().write_all(backup.as_bytes()).unwrap();
                assert!(psql.wait().unwrap().success());
            }
        }
    }
}

/// The server's address and the schema's name, which the harness has put together.
fn parts(url: &str) -> (&str, &str) {
    let (server, options) =
        url.split_once("options[search_path]=").expect("an address of the harness");
    let schema = options.split_once('&').map_or(options, |(schema, _)| schema);
    (server.trim_end_matches(['?', '&']), schema)
}
