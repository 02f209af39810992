//! Real processes on one database.

use std::{
    io::Write as _,
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use cms_http::client::{Ask, Client, ClientError};
use serde_json::json;

use crate::support::{
    Site, TestDatabase,
    process::{self, Served},
    search,
};

/// Id and value of a new key.
fn new_key(database: &TestDatabase, rights: &[&str]) -> (String, String) {
    let mut arguments = vec!["keys", "create", "--name", "test"];
    arguments.extend(rights.iter().flat_map(|right| ["--right", right]));
    let created = process::json(database, &arguments);
    (created["data"]["id"].to_string(), created["data"]["key"].as_str().unwrap().to_owned())
}

/// A write of a setting.
fn setting(name: &str, value: usize) -> Ask {
    let body = json!({"name": name, "value": value});
    Ask::post("/api/backend/item").query("table", "settings").json(&body)
}

async fn code(client: &Client, path: &str) -> String {
    match client.send(Ask::get(path)).await {
        Ok(_) => "ok".to_owned(),
        Err(ClientError::Problem { code, .. }) => code,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_revoked_by_another_process_is_refused_at_once() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let served = Served::start(&database, "warn");
    for (revoke, expected) in [
        (vec!["keys", "delete", "ID", "--yes"], "api_key_invalid"),
        (vec!["keys", "rotate", "ID", "--yes"], "api_key_invalid"),
        (vec!["keys", "disable", "ID"], "api_key_disabled"),
        (vec!["keys", "expire", "ID", "--on", "2020-01-01"], "api_key_expired"),
    ] {
        let (id, value) = new_key(&database, &["GET /api/pages"]);
        let client = served.client(&value);
        for _ in 0..3 {
            assert_eq!(code(&client, "/api/pages").await, "ok");
        }
        let arguments: Vec<_> =
            revoke.iter().map(|word| if *word == "ID" { id.as_str() } else { word }).collect();
        process::run(&database, &arguments);
        assert_eq!(code(&client, "/api/pages").await, expected, "{arguments:?}");
    }
    assert_eq!(served.terminate().0, Some(0));
}

/// An erasure reads all files of the site. The server's locks on them outlive that: a command that
/// ends beside it does not take the log away, to which the server goes on committing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_does_not_give_the_log_away() {
    let database = TestDatabase::sqlite().await;
    let key = process::init(&database);
    let mut served = Served::start(&database, "warn");
    let client = served.client(&key);
    for round in 0..4 {
        let nobody = json!({"email": "nobody@example.org", "dry_run": round % 2 == 0});
        let erase = Ask::post("/api/backend/formfunnel").query("action", "erase").json(&nobody);
        client.send(erase).await.unwrap();
        process::run(&database, &["tables", "list"]);
        client.send(setting(&format!("n{round}"), round)).await.unwrap();
    }
    served.kill();
    assert_eq!(database.rows("cms_settings where name in ('n0', 'n1', 'n2', 'n3')").await, 4);
    assert_eq!(database.text("pragma integrity_check").await, "ok");
}

/// kill -9 in the middle of 1,000 writes: what was acknowledged is there with its event and audit
/// row, and nothing is half there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_of_writes() {
    let database = TestDatabase::new().await;
    let key = process::init(&database);
    for kill_after in [1, 137, 400, 777] {
        let mut served = Served::start(&database, "warn");
        let acknowledged = Arc::new(Mutex::new(Vec::new()));
        let (next, enough) = (Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Notify::new()));
        let writers: Vec<_> = (0..8)
            .map(|_| {
                let (client, acknowledged, next, enough) =
                    (served.client(&key), acknowledged.clone(), next.clone(), enough.clone());
                tokio::spawn(async move {
                    loop {
                        let n = next.fetch_add(1, Ordering::SeqCst);
                        let name = format!("k{kill_after}-{n}");
                        if n >= 1000 || client.send(setting(&name, n)).await.is_err() {
                            return;
                        }
                        let mut acknowledged = acknowledged.lock().unwrap();
                        acknowledged.push(name);
                        if acknowledged.len() == kill_after {
                            enough.notify_one();
                        }
                    }
                })
            })
            .collect();
        enough.notified().await;
        served.kill();
        for writer in writers {
            writer.await.unwrap();
        }
        let acknowledged = acknowledged.lock().unwrap().clone();
        let count = acknowledged.len();
        assert!((kill_after..1000).contains(&count), "it was killed in the middle: {count}");
        let names: Vec<_> = acknowledged.iter().map(|name| format!("'{name}'")).collect();
        let names = names.join(",");
        let rows = format!("select count(*) from cms_settings where name in ({names})");
        let audits = format!(
            "select count(*) from cms_audit where table_name = 'settings' and action = 'create' \
             and row_id in ({names})"
        );
        for sql in [rows, audits] {
            assert_eq!(database.count(&sql).await as usize, count, "{sql}");
        }
        // Every row has exactly one event that names it, and every event its row.
        let in_body = if database.is_postgres() {
            "cast(e.body as json) -> 'data' ->> 'id'"
        } else {
            "e.body -> 'data' ->> 'id'"
        };
        let created = "e.name = 'item.settings.created'";
        for lonely in [
            format!(
                "select count(*) from cms_settings s where (select count(*) from cms_events e \
                 where {created} and {in_body} = s.name) <> 1"
            ),
            format!(
                "select count(*) from cms_events e where {created} and not exists (select 1 \
                 from cms_settings s where s.name = {in_body})"
            ),
            "select count(*) from cms_settings s where (select count(*) from cms_audit a \
             where a.row_id = s.name and a.action = 'create') <> 1"
                .to_owned(),
        ] {
            assert_eq!(database.count(&lonely).await, 0, "{lonely}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_plain_key_on_disk_or_in_a_log() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let (id, first) = new_key(&database, &["*"]);
    let served = Served::start(&database, "trace");
    let client = served.client(&first);
    let rotate = Ask::post("/api/backend/keys/rotate").query("id", &id);
    let rotated = client.send(rotate.json(&json!({"grace_s": 60}))).await.unwrap();
    let second = rotated.json().unwrap()["data"]["key"].as_str().unwrap().to_owned();
    let client = served.client(&second);
    let make = Ask::post("/api/backend/keys").json(&json!({"name": "x"}));
    let made = client.send(make.idempotency_key("once".to_owned())).await.unwrap();
    let third = made.json().unwrap()["data"]["key"].as_str().unwrap().to_owned();
    assert_eq!(code(&served.client(&third), "/api/pages").await, "api_key_forbidden");
    assert_eq!(code(&client, "/api/backend/item?table=pages&sort=nope").await, "bad_query");
    let (status, log) = served.terminate();
    assert_eq!(status, Some(0));
    assert!(log.contains("request"), "the log has something to say: {log}");
    let secrets: Vec<&str> = [&first, &second, &third].into_iter().map(|key| &key[13..]).collect();
    search::nowhere(&database, &log, &secrets).await;
}

/// The watcher of other processes must not keep a site open that nobody writes to.
#[tokio::test]
async fn an_idle_site_closes() {
    let site = Site::open().await;
    // Several looks at the file, of which the later ones find nothing new.
    tokio::time::sleep(Duration::from_millis(350)).await;
    tokio::time::timeout(Duration::from_secs(20), site.cms.close()).await.expect("closed");
}

/// The log names the request of a fault at every level, also where requests themselves are not
/// logged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_of_a_fault_names_its_request() {
    for level in ["error", "warn", "info", "cms_http=debug"] {
        let database = TestDatabase::new().await;
        process::run(&database, &["init"]);
        let served = Served::start(&database, level);
        database.run("drop table cms_settings").await;
        let reply = served.get("/api/settings");
        assert!(reply.starts_with("HTTP/1.1 500"), "{reply}");
        let id = reply.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap();
        let (_, log) = served.terminate();
        let line = log.lines().find(|line| line.contains("request failed")).expect("its line");
        assert!(line.contains(id.trim()), "{level}: {id} in {log}");
    }
}

/// Whoever comes second completes what the first has made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_inits_at_once_leave_one_good_site() {
    for _ in 0..3 {
        let database = TestDatabase::new().await;
        let inits: Vec<_> = (0..4)
            .map(|_| {
                let arguments = ["init", "--admin", "ana", "--password-stdin"];
                let mut init = process::command(&database, &arguments);
                init.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut init = init.spawn().unwrap();
                // Who finds the administrator reads no password.
                let _ = init.stdin.take().unwrap().write_all(b"correct horse battery\n");
                init
            })
            .collect();
        for init in inits {
            let output = init.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let local = std::fs::read_to_string(database.folder().join("cms.local.toml")).unwrap();
        for secret in ["\npassword_salt = ", "\nencryption_key = "] {
            assert_eq!(format!("\n{local}").matches(secret).count(), 1, "{local}");
        }
        assert_eq!(database.rows("cms_users").await, 1);
        assert_eq!(database.rows("cms_user_groups").await, 1);
        // The one password hash was made with the salt that is in the file.
        process::run(&database, &["doctor"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_repeated_at_another_process_gets_the_first_reply() {
    let database = TestDatabase::new().await;
    let key = process::init(&database);
    let served = [Served::start(&database, "warn"), Served::start(&database, "warn")];
    let clients = served.each_ref().map(|one| one.client(&key));
    for round in 0..25 {
        let replies = futures_util::future::join_all((0..6).map(|n| {
            let ask = setting(&format!("n{round}"), 1).idempotency_key(format!("k{round}"));
            clients[n % 2].send(ask)
        }))
        .await;
        let bodies: Vec<_> = replies.into_iter().map(|reply| reply.unwrap().body).collect();
        assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    }
    assert_eq!(database.rows("cms_settings").await, 25);
}

/// Whoever has the folder needs no name to reach the site.
#[tokio::test]
async fn allowed_hosts_refuses_strangers_and_not_the_operator() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let hosts = [("CMS_ALLOWED_HOSTS", "good.example")];
    for arguments in [&["tables", "list"][..], &["keys", "list"], &["whoami"]] {
        let output = process::command(&database, arguments).envs(hosts).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
    let served = Served::start_with(&database, "warn", &hosts);
    for (host, status) in [("good.example", "200"), ("evil.example", "421"), ("127.0.0.1", "421")] {
        let reply = served.get_as(host, "/api/settings");
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {reply}");
    }
}

/// On PostgreSQL one connection listens for commits of other processes.
#[tokio::test]
async fn a_lost_listener_is_made_anew() {
    let site = Site::open().await;
    if !site.database.is_postgres() {
        return;
    }
    let listeners = "from pg_stat_activity where query ilike 'listen %' \
                     and application_name = current_setting('application_name')";
    let listener = async |other: i64| {
        for _ in 0..1000 {
            let sql = format!("select cast(coalesce(max(pid), 0) as bigint) {listeners}");
            match site.database.count(&sql).await {
                pid if pid > 0 && pid != other => return pid,
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
        panic!("nobody listens");
    };
    let first = listener(0).await;
    let lost = format!("select count(*) from (select pg_terminate_backend(pid) {listeners}) s");
    site.database.count(&lost).await;
    listener(first).await;
}
