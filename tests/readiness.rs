//! `/readyz`: 503 while no session can write, 200 as soon as one can, and never 500.

use std::{
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use cms_core::{Clock, Cms, Random, Secret, settings::Settings};
use cms_http::{Api, Peer};
use futures_util::future::join_all;
use serde_json::{Value as Json, json};
use sqlx::{Connection, Executor};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::support::{
    Site, TestDatabase, database,
    process::{self, Served},
};

/// The site in another process, whose database has this address.
async fn beside(site: &Site, url: String) -> Site {
    let mut settings: Settings = site.database.settings();
    settings.database_url = Some(Secret::new(url));
    let clock = Clock::fixed(site.clock.now());
    let random = Random::seeded(77);
    let cms = Cms::builder(settings).clock(clock.clone()).random(random).inspect().await.unwrap();
    let database = TestDatabase::sqlite().await;
    Site { api: Api::new(cms.clone()).unwrap(), cms, clock, database, admin: site.admin.clone() }
}

async fn refused(site: &Site) -> String {
    let reply: Json = site.ask("GET /readyz").refused(503, "unavailable").await.json();
    reply["detail"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_user_who_only_reads_is_not_ready() {
    let site = Site::open().await;
    site.ask("GET /readyz").expect(200).await;
    let Some(url) = &site.database.url else { return };
    let reader = beside(&site, format!("{url}&options[default_transaction_read_only]=on")).await;
    assert!(refused(&reader).await.contains("read-only"));
    let schema = url.rsplit('=').next().unwrap();
    let role = format!("reads_{schema}");
    let grants = format!(
        "create role {role}; grant usage on schema {schema} to {role}; \
         grant select on all tables in schema {schema} to {role}"
    );
    site.database.run(grants).await;
    let reader = beside(&site, format!("{url}&options[role]={role}")).await;
    assert!(refused(&reader).await.contains("may only read"));
    site.database.run(format!("revoke select on cms_settings from {role}")).await;
    let list = reader.admin("GET /api/backend/item?table=settings");
    let reply: Json = list.refused(503, "unavailable").await.json();
    assert!(reply["detail"].as_str().unwrap().contains("lacks a right"), "{reply}");
    reader.cms.close().await;
    site.database.run(format!("drop owned by {role}; drop role {role}")).await;
    site.database.run("delete from cms_migrations where version = 1".to_owned()).await;
    assert!(refused(&site).await.contains("cms migrate up"));
    site.database.run("drop table cms_migrations".to_owned()).await;
    assert!(refused(&site).await.contains("cms doctor"));
}

#[tokio::test]
async fn connections_that_were_ended_are_no_reason() {
    let site = Site::open().await;
    if !site.database.is_postgres() {
        return;
    }
    let all = async || {
        let list = "GET /api/backend/item?table=settings";
        join_all((0..32).map(|_| site.admin(list).expect(200))).await;
    };
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> \
               pg_backend_pid() and application_name = current_setting('application_name')";
    for round in 0..3 {
        all().await;
        site.database.run(end.to_owned()).await;
        site.ask("GET /readyz").expect(200).await;
        all().await;
        site.database.run(end.to_owned()).await;
        site.write(&format!("w{round}")).await;
        site.database.run(end.to_owned()).await;
        all().await;
    }
}

#[tokio::test]
async fn a_database_file_that_is_gone_takes_no_writes() {
    let site = Site::open().await;
    if site.database.is_postgres() {
        return;
    }
    let path = site.database.folder().join("data/cms.db");
    let away = path.with_extension("away");
    std::fs::rename(&path, &away).unwrap();
    let status = site.admin("GET /api/backend/status").expect(200).await.data();
    let is_told = |one: &Json| {
        let found = one["found"].as_str().unwrap();
        one["check"] == "database_writable" && found.contains("gone from its place")
    };
    assert!(status["findings"].as_array().unwrap().iter().any(is_told), "{status}");
    assert!(refused(&site).await.contains("gone from its place"));
    let body = json!({"name": "a", "value": 1});
    let post = site.admin("POST /api/backend/item?table=settings").json(body);
    post.refused(503, "unavailable").await;
    std::fs::rename(&away, &path).unwrap();
    site.ask("GET /readyz").expect(200).await;
    site.write("after").await;
}

/// Somebody keeps tables of PostgreSQL locked: their figures are missing, and nothing waits for
/// them.
#[tokio::test]
async fn figures_that_cannot_be_read_keep_nobody_waiting() {
    let site = Site::open().await;
    let Some(url) = site.database.url.clone() else { return };
    let mut other = sqlx::PgConnection::connect(&url).await.unwrap();
    let hold = "begin; lock table cms_webhook_queue, cms_mails in access exclusive mode";
    other.execute(sqlx::raw_sql(hold)).await.unwrap();
    // A lock is waited for 5 s.
    let soon = Duration::from_secs(4);
    for _ in 0..2 {
        let began = Instant::now();
        let ready = site.ask("GET /readyz").expect(200).await.data();
        assert!(began.elapsed() < soon, "{:?}", began.elapsed());
        assert!(ready["queue_age_ms"].is_null() && ready["mail_age_ms"].is_null(), "{ready}");
    }
    let began = Instant::now();
    let near = Peer("127.0.0.1:1".parse().unwrap());
    let metrics = site.ask("GET /metrics").peer(near).expect(200).await.text();
    assert!(began.elapsed() < soon, "{:?}", began.elapsed());
    assert!(metrics.contains("cms_requests_total"), "{metrics}");
    for series in ["cms_webhook_queue_jobs", "cms_mail_waiting"] {
        assert!(!metrics.contains(series), "{metrics}");
    }
    other.execute(sqlx::raw_sql("rollback")).await.unwrap();
    let began = Instant::now();
    while site.ask("GET /readyz").expect(200).await.data()["queue_age_ms"] != 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "the figure comes back");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A proxy before the server, which goes on accepting when no server is behind it.
async fn proxy(server: String) -> (u16, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (away, told) = watch::channel(false);
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let (server, mut told) = (server.clone(), told.clone());
            tokio::spawn(async move {
                if *told.borrow() {
                    return;
                }
                let mut far = TcpStream::connect(server).await.unwrap();
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    _ = told.wait_for(|away| *away) => {}
                }
            });
        }
    });
    (port, away)
}

/// Three checks name the remedy; the others that need the database are skipped.
async fn skips_checks(site: &Site, place: &str) {
    // The findings before are kept for a second.
    site.clock.advance(1_000);
    let (mut named, mut skipped) = (Vec::new(), Vec::new());
    for one in site.cms.status().await {
        if ["database", "database_writable", "database_server"].contains(&&*one.check) {
            assert!(one.level.as_str() == "error" && one.remedy.contains(place), "{one:?}");
            named.push(one.check);
        } else if one.found == "skipped: no connection to the database" {
            assert_eq!(one.remedy, "see database_server; if that is ok, ask again");
            skipped.push(one.check);
        } else {
            assert!(!one.found.contains("cannot be reached"), "{one:?}");
        }
    }
    assert_eq!(named.len(), 3, "{named:?}");
    for check in ["backup", "database_clock", "plugin_folders"] {
        assert!(skipped.iter().any(|one| one == check), "{check}: {skipped:?}");
    }
}

#[tokio::test]
async fn a_proxy_without_a_server_is_unavailable_and_no_fault() {
    let Some(url) = database::server() else { return };
    let authority = url.split('@').nth(1).unwrap().split('/').next().unwrap();
    let (port, away) = proxy(authority.to_owned()).await;
    let mut database = TestDatabase::new().await;
    if let Some(url) = &mut database.url {
        *url = url.replace(authority, &format!("127.0.0.1:{port}"));
    }
    let site = Site::on(database).open().await;
    site.ask("GET /readyz").expect(200).await;
    // Waits for the checks that this began.
    site.cms.status().await;
    away.send_replace(true);
    skips_checks(&site, &format!("127.0.0.1:{port}")).await;
    for _ in 0..3 {
        refused(&site).await;
        let list = "GET /api/backend/item?table=settings";
        site.admin(list).refused(503, "unavailable").await;
        let body = json!({"name": "a", "value": 1});
        let post = site.admin("POST /api/backend/item?table=settings").json(body);
        post.refused(503, "unavailable").await;
    }
    away.send_replace(false);
    site.ask("GET /readyz").expect(200).await;
    site.write("after").await;
}

/// A copy of the test server that follows it.
struct Standby {
    programs: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
}

impl Standby {
    /// None: PostgreSQL's programs are not on this machine.
    fn start(server: &str) -> Option<Self> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let programs = versions.map(|version| version.path().join("bin"));
        let Some(programs) = programs.filter(|bin| bin.join("pg_basebackup").exists()).max() else {
            println!("NOT SHOWN: pg_basebackup is missing (Debian's package postgresql)");
            return None;
        };
        // Free again at the end of the statement.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let standby = Self { programs, folder: tempfile::tempdir().unwrap(), port };
        let folder = standby.folder.path().to_str().unwrap();
        // The server's programs refuse to run as root.
        if is_root() {
            assert!(Command::new("chown").args(["postgres", folder]).status().unwrap().success());
        }
        let data = standby.data();
        let copy = ["-d", server, "-D", &data, "-R", "-X", "stream", "-c", "fast"];
        standby.run("pg_basebackup", &copy);
        let options = format!("-p {port} -c unix_socket_directories={folder}");
        let log = format!("{folder}/log");
        standby.run("pg_ctl", &["-D", &data, "-w", "-l", &log, "-o", &options, "start"]);
        Some(standby)
    }

    fn data(&self) -> String {
        self.folder.path().join("data").to_str().unwrap().to_owned()
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        assert!(self.runs(program, arguments), "{program} {arguments:?}");
    }

    fn runs(&self, program: &str, arguments: &[&str]) -> bool {
        let program = self.programs.join(program);
        let mut command = match is_root() {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(&program);
                command
            }
            false => Command::new(&program),
        };
        command.args(arguments).stdout(Stdio::null()).current_dir("/");
        command.status().is_ok_and(|status| status.success())
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.runs("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]);
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_is_not_ready_until_it_is_promoted() {
    let Some(server) = database::server() else { return };
    let site = Site::open().await;
    let Some(standby) = Standby::start(&server) else { return };
    let authority = server.split('@').nth(1).unwrap().split('/').next().unwrap();
    let there = format!("127.0.0.1:{}", standby.port);
    let url = site.database.url.as_ref().unwrap().replace(authority, &there);
    let copy = beside(&site, url).await;
    copy.admin("GET /api/backend/item?table=settings").expect(200).await;
    assert!(refused(&copy).await.contains("standby"));
    let body = json!({"name": "a", "value": 1});
    let post = copy.admin("POST /api/backend/item?table=settings").json(body);
    post.refused(503, "unavailable").await;
    standby.run("pg_ctl", &["-D", &standby.data(), "-w", "promote"]);
    copy.ask("GET /readyz").expect(200).await;
    copy.write("after").await;
    copy.cms.close().await;
}

#[tokio::test]
async fn who_is_about_to_stop_is_not_ready_and_answers_on() {
    let site = Site::open().await;
    site.api.stop_soon();
    assert!(refused(&site).await.contains("stopping"));
    site.ask("GET /healthz").expect(200).await;
    site.write("a").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_served_while_the_service_drains() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let mut served = Served::start_with(&database, "warn", &[("CMS_SHUTDOWN__DRAIN_S", "4")]);
    let ready = || served.bytes("/readyz").0;
    assert_eq!(ready(), 200);
    let pid = served.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    // The signal is on its way.
    while ready() == 200 {}
    for _ in 0..3 {
        assert_eq!((ready(), served.bytes("/healthz").0), (503, 200));
        assert_eq!(served.bytes("/api/settings").0, 200, "new connections are answered");
    }
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}
