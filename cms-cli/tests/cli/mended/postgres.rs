//! PostgreSQL that is down, only reads or has no such database. Needs `CMS_TEST_DB`.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::{Ready, World, commands, readiness, unwell};
use crate::{
    doctor::checks,
    support::{PASSWORD, finish},
};

/// A site on a schema of its own, with an administrator.
struct Site {
    dir: tempfile::TempDir,
    world: World,
    /// Its address on the server.
    url: String,
    /// What is not well on this server whatever happens, such as a missing extension.
    always: BTreeSet<(String, String)>,
}

/// The site, or none without a server.
fn site(schema: &str) -> Option<Site> {
    let Some(server) = std::env::var("CMS_TEST_DB").ok().filter(|url| !url.is_empty()) else {
        eprintln!("skipped: CMS_TEST_DB names no server");
        return None;
    };
    let schema = format!("{schema}_{}", std::process::id());
    run(&server, &format!("drop schema if exists {schema} cascade; create schema {schema}"));
    let joint = if server.contains('?') { '&' } else { '?' };
    let url = format!("{server}{joint}options[search_path]={schema}");
    let dir = tempfile::tempdir().expect("a folder");
    let mut world = World::default();
    world.set("CMS_DATABASE_URL", &url);
    let init = world.command(dir.path(), "init --admin ana --password-stdin");
    finish(init, Some(PASSWORD)).ok();
    let always = unwell(&world.run(dir.path(), "doctor"));
    assert!(always.iter().all(|(check, _)| check == "search"), "{always:?}");
    Some(Site { dir, world, url, always })
}

fn run(url: &str, statements: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut connection = PgConnection::connect(url).await.expect("a server");
        let statements = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()));
        connection.execute(statements).await.expect("done");
        connection.close().await.expect("closed");
    });
}

impl Site {
    fn at(&self) -> &Path {
        self.dir.path()
    }

    /// All three doors tell of `check`; returns the remedy.
    fn is_told(&self, check: &str, found: &str) -> String {
        let doctor = self.world.run(self.at(), "doctor").fails(1);
        for run in [&doctor, &self.world.run(self.at(), "status").fails(1)] {
            let told = unwell(run);
            let others: Vec<_> = told.difference(&self.always).collect();
            assert_eq!(others, [&(check.to_owned(), "error".to_owned())], "{run:?}");
            assert!(run.out.contains(found), "{run:?}");
        }
        match readiness(self.at(), &self.world) {
            Err(Ready::Not | Ready::Ends) => {}
            told => {
                let named = told.expect("checks");
                assert!(named.contains(&(check.to_owned(), "error".to_owned())), "{named:?}");
            }
        }
        let bad =
            checks(&doctor).into_iter().find(|[level, id, ..]| *level == "error" && *id == check);
        bad.expect("a finding")[3].to_owned()
    }

    fn is_well(&self) {
        for door in ["doctor", "status"] {
            let run = self.world.run(self.at(), &[door]);
            assert_eq!((unwell(&run), run.code), (self.always.clone(), 0), "{run:?}");
        }
        assert_eq!(readiness(self.at(), &self.world), Ok(self.always.clone()));
    }
}

/// Passes connections on to the server, as the server itself would listen.
fn starts(listen: &str, server: String) {
    let listener = TcpListener::bind(listen).expect("a port");
    thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(&server)) else { return };
            let both = [(&client, &server), (&server, &client)];
            for (from, to) in both.map(|(a, b)| (a.try_clone(), b.try_clone())) {
                let (Ok(mut from), Ok(mut to)) = (from, to) else { return };
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
}

/// `host:port` of an address.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").expect("an address").1;
    let rest = rest.split(['/', '?']).next().expect("a host");
    rest.rsplit_once('@').map_or(rest, |(_, host)| host)
}

#[test]
fn a_server_that_is_down_is_named_and_started() {
    let Some(mut site) = site("down") else { return };
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let down = free.local_addr().expect("an address").to_string();
    drop(free);
    let server = authority(&site.url).to_owned();
    site.world.set("CMS_DATABASE_URL", site.url.replace(&server, &down));
    let remedy = site.is_told("database", &format!("PostgreSQL at {down}"));
    let words = format!("nothing listens at {down}: start PostgreSQL there");
    assert!(remedy.contains(&words) && remedy.contains("database_url"), "{remedy}");
    starts(&down, server);
    site.is_well();
}

#[test]
fn a_database_that_does_not_exist_is_made() {
    let Some(mut site) = site("missing") else { return };
    let name = format!("cms_missing_{}", std::process::id());
    let (place, _) = site.url.rsplit_once('/').expect("a database");
    let server = place.to_owned();
    site.world.set("CMS_DATABASE_URL", format!("{server}/{name}"));
    let refused = site.world.run(site.at(), &["migrate", "up"]).fails(7);
    assert!(refused.err.contains(&format!("`createdb {name}`")), "{refused:?}");
    assert!(!refused.err.contains("at line"), "{refused:?}");
    let remedy = site.is_told("database", &format!("database {name}"));
    assert_eq!(commands(&remedy), [format!("createdb {name}").as_str(), "cms migrate up"]);
    // As createdb does it.
    run(&std::env::var("CMS_TEST_DB").expect("a server"), &format!("create database {name}"));
    site.world.types(site.at(), "cms migrate up", None).ok();
    let init = "cms init --admin ana --password-stdin";
    site.world.types(site.at(), init, Some(PASSWORD)).ok();
    // Its extensions are its own.
    site.always = unwell(&site.world.run(site.at(), "doctor"));
    site.always.retain(|(check, _)| check == "search");
    site.is_well();
    run(&std::env::var("CMS_TEST_DB").expect("a server"), &format!("drop database {name}"));
}

/// The password that a client sends, which is asked for it in plain text.
fn password(mut client: TcpStream) -> io::Result<String> {
    let message = |client: &mut TcpStream| {
        let mut size = [0; 4];
        client.read_exact(&mut size)?;
        let mut text = vec![0; u32::from_be_bytes(size) as usize - 4];
        client.read_exact(&mut text)?;
        io::Result::Ok(String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned())
    };
    message(&mut client)?;
    client.write_all(b"R\0\0\0\x08\0\0\0\x03")?;
    client.read_exact(&mut [0])?;
    message(&mut client)
}

/// A line of `.pgpass` names an IPv6 address without brackets, as for `psql`.
#[test]
fn the_password_of_an_ipv6_address_is_found() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        return eprintln!("skipped: this machine has no IPv6");
    };
    let port = listener.local_addr().expect("an address").port();
    let told = thread::spawn(move || password(listener.accept()?.0));
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("pgpass");
    std::fs::write(&file, format!("\\:\\:1:{port}:shop:ana:sesame\n")).expect("a file");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("a mode");
    let mut world = World::default();
    world.set("PGPASSFILE", file.to_str().expect("a path"));
    world.set("CMS_DATABASE_URL", format!("postgres://ana@[::1]:{port}/shop?sslmode=disable"));
    world.run(dir.path(), &["migrate", "status"]).fails(7);
    assert_eq!(told.join().expect("a thread").expect("a password"), "sesame");
}

#[test]
fn a_user_who_may_not_make_tables_is_told_what_to_grant() {
    let Some(server) = std::env::var("CMS_TEST_DB").ok().filter(|url| !url.is_empty()) else {
        return eprintln!("skipped: CMS_TEST_DB names no server");
    };
    let name = format!("cms_forbidden_{}", std::process::id());
    // Two calls: a database cannot be made in a transaction.
    run(&server, &format!("create database {name}"));
    run(&server, &format!("create role {name} login password 'x'"));
    let place = server.split('?').next().unwrap_or(&server);
    let (place, _) = place.rsplit_once('/').expect("a database");
    let own = format!("{place}/{name}");
    // As PostgreSQL 15 has it, also on an older server.
    run(&own, "revoke create on schema public from public");
    let dir = tempfile::tempdir().expect("a folder");
    let mut world = World::default();
    let url = format!("postgres://{name}:x@{}/{name}", authority(&server));
    world.set("CMS_DATABASE_URL", format!("{url}?options=-c%20search_path%3Dnowhere"));
    for args in [&["init"][..], &["migrate", "status"], &["migrate", "up"]] {
        let refused = world.run(dir.path(), args).fails(7);
        assert!(refused.err.contains("create schema NAME"), "{refused:?}");
    }
    world.set("CMS_DATABASE_URL", url);
    for args in [&["init"][..], &["migrate", "up"]] {
        let refused = world.run(dir.path(), args).fails(7);
        assert!(refused.err.contains("permission denied for schema public"), "{refused:?}");
        assert!(refused.err.contains("grant create on schema public to USER"), "{refused:?}");
    }
    run(&own, &format!("grant create on schema public to {name}"));
    world.run(dir.path(), "init").ok();
    let saved = dir.path().join("saved.cms");
    let saved = saved.to_str().expect("a path");
    world.run(dir.path(), &["db", "backup", saved]).ok();
    let refused = world.run(dir.path(), &["db", "restore", "--yes", saved]).fails(7);
    assert!(refused.err.contains("lacks a right"), "{refused:?}");
    assert!(refused.err.contains("permission denied for database"), "{refused:?}");
    // Fewer connections than the pool: the check gets one of them, or waits in vain.
    run(&server, &format!("alter role {name} connection limit 8"));
    let doctor = world.run(dir.path(), "doctor");
    assert!(!doctor.out.contains("correct what the error names"), "{doctor:?}");
    let [_, _, found, remedy] = checks(&doctor)
        .into_iter()
        .find(|[_, check, ..]| *check == "database_server")
        .expect("a finding");
    let told =
        ["this user gets 8 connections, and the site may open 21", "no connection within 10 s"];
    assert!(told.contains(&found), "{doctor:?}");
    assert!(remedy.contains("let database.max_connections be smaller"), "{doctor:?}");
    run(&server, &format!("drop database {name} with (force)"));
    run(&server, &format!("drop role {name}"));
}

#[test]
fn a_database_that_does_not_hold_every_text_is_refused() {
    let Some(server) = std::env::var("CMS_TEST_DB").ok().filter(|url| !url.is_empty()) else {
        return eprintln!("skipped: CMS_TEST_DB names no server");
    };
    let name = format!("cms_latin_{}", std::process::id());
    let latin = "encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0";
    run(&server, &format!("create database {name} {latin}"));
    let encodes = |encoding: &str| {
        let set = format!("update pg_database set encoding = pg_char_to_encoding('{encoding}')");
        run(&server, &format!("{set} where datname = '{name}'"));
    };
    let place = server.split('?').next().unwrap_or(&server);
    let (place, _) = place.rsplit_once('/').expect("a database");
    let dir = tempfile::tempdir().expect("a folder");
    let mut world = World::default();
    world.set("CMS_DATABASE_URL", format!("{place}/{name}"));
    let refused = world.run(dir.path(), &["migrate", "up"]).fails(7);
    assert!(refused.err.contains("`createdb -E UTF8 -T template0 NAME`"), "{refused:?}");
    // A copy does not even begin in it.
    let (lite, to) = (tempfile::tempdir().expect("a folder"), format!("{place}/{name}"));
    let own = World::default();
    own.run(lite.path(), "init").ok();
    for _ in 0..2 {
        let refused = own.run(lite.path(), &["db", "copy", "--to", to.as_str()]).fails(7);
        assert!(refused.err.contains("`createdb -E UTF8"), "{refused:?}");
    }
    // As a site that was made before.
    encodes("UTF8");
    world.run(dir.path(), "init").ok();
    encodes("SQL_ASCII");
    let doctor = world.run(dir.path(), "doctor").fails(1);
    assert!(doctor.out.contains("encodes texts as SQL_ASCII"), "{doctor:?}");
    run(&server, &format!("drop database {name} with (force)"));
}

#[test]
fn a_session_that_only_reads_is_told() {
    let Some(mut site) = site("reads") else { return };
    let url = format!("{}&options[default_transaction_read_only]=on", site.url);
    site.world.set("CMS_DATABASE_URL", url);
    let remedy = site.is_told("database_writable", "read-only");
    assert!(remedy.contains("options in database_url count too"), "{remedy}");
    let url = site.url.clone();
    site.world.set("CMS_DATABASE_URL", url);
    site.is_well();
}

/// The programs of the server, and the user that may run them.
struct Programs {
    folder: PathBuf,
    is_root: bool,
}

impl Programs {
    fn find() -> Option<Self> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let folders = versions.flatten().map(|version| version.path().join("bin"));
        let folder = folders.filter(|bin| bin.join("pg_basebackup").is_file()).max()?;
        let id = Command::new("id").arg("-u").output().ok()?;
        Some(Self { folder, is_root: id.stdout == b"0\n" })
    }

    fn run(&self, program: &str, args: &[&str]) {
        let program = self.folder.join(program);
        let mut command = match self.is_root {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        // The server would keep a pipe open.
        let quiet = std::process::Stdio::null;
        let status = command.args(args).stdout(quiet()).stderr(quiet()).status();
        assert!(status.expect("it starts").success(), "{command:?}");
    }
}

/// A standby in a folder, stopped when it is dropped.
struct Standby<'p> {
    programs: &'p Programs,
    data: String,
}

impl Drop for Standby<'_> {
    fn drop(&mut self) {
        self.programs.run("pg_ctl", &["-D", &self.data, "-m", "immediate", "stop"]);
    }
}

#[test]
fn a_standby_is_told_and_promoted() {
    let Some(mut site) = site("standby") else { return };
    let Some(programs) = Programs::find() else {
        return eprintln!("skipped: pg_basebackup is not installed");
    };
    let server = authority(&site.url).to_owned();
    let (host, port) = server.rsplit_once(':').expect("a port");
    let folder = tempfile::tempdir().expect("a folder");
    if programs.is_root {
        let owner = Command::new("chown").arg("postgres").arg(folder.path()).status();
        assert!(owner.expect("chown").success());
    }
    let data = folder.path().join("data").display().to_string();
    let backup = ["-h", host, "-p", port, "-U", "postgres", "-D", &data, "-R", "-c", "fast"];
    programs.run("pg_basebackup", &backup);
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = free.local_addr().expect("an address");
    drop(free);
    let options = format!("-p {} -k {}", own.port(), folder.path().display());
    programs.run("pg_ctl", &["-D", &data, "-w", "-o", &options, "start"]);
    let standby = Standby { programs: &programs, data };
    let url = site.url.replace(&server, &own.to_string());
    site.world.set("CMS_DATABASE_URL", &url);
    let remedy = site.is_told("database_writable", "the server is a standby");
    assert!(remedy.contains("name the primary"), "{remedy}");
    run(&url, commands(&remedy)[0]);
    site.is_well();
    drop(standby);
}
