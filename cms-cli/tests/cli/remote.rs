//! A key made in the folder, used over HTTP.

use std::{io::Read, net::TcpListener, time::Duration};

use crate::support::{
    Run, Served, at_terminal, both_ways, cms, cms_env, cms_with, command, finish, site,
};

fn remote(dir: &std::path::Path, url: &str, key: &str, args: &str) -> Run {
    cms_env(dir, args, &[("CMS_URL", url), ("CMS_API_KEY", key)])
}

#[test]
fn a_key_reaches_what_it_has_rights_for_and_nothing_else() {
    let dir = site();
    let key = cms(
        dir.path(),
        "keys create -q --name r --right 'GET,POST,DELETE /api/backend/item?table=notes'",
    )
    .ok();
    let server = Served::start(dir.path(), &[]);
    assert_eq!(server.before_ready, [""; 0]);
    let run = |args: &str| remote(dir.path(), &server.url, key.trim(), args);
    let csv = dir.path().join("notes.csv");
    std::fs::write(&csv, "text,n\nhello,1\nworld,2\n").expect("written");
    run(&format!("items import notes {}", csv.display())).tells("--json-column").ok();
    assert_eq!(run("items list notes --fields text,n --sort -n").ok(), "world\t2\nhello\t1\n");
    assert_eq!(run("items list notes --json --count").json()["meta"]["total"], 2);
    run("items delete notes 1 7 --yes").fails(8);
    run("items list pages").fails(4);
    run("keys list").fails(4);
    let wrong = remote(dir.path(), &server.url, "cms_k1_wrong", "items list notes").fails(4);
    assert_eq!(wrong.out, "");
    let (code, out) = server.stop();
    assert_eq!((code, out.as_str()), (Some(0), ""));
    remote(dir.path(), "http://127.0.0.1:1", key.trim(), "items list notes").fails(7);
}

#[test]
fn json_columns_keep_their_values_on_the_way() {
    let dir = site();
    let rows = [
        r#"{"text":"7","data":7}"#,
        r#"{"text":"x","data":"x"}"#,
        r#"{"text":"true","data":true}"#,
        r#"{"text":"[1]","data":[1]}"#,
    ];
    let rows = rows.join("\n") + "\n";
    cms_with(dir.path(), "items import notes - --format jsonl", &rows).ok();
    let server = Served::start(dir.path(), &[]);
    let [_, at] = both_ways(dir.path(), &server);
    let export = format!("items export notes --fields text,data {at}");
    let table = cms(dir.path(), &export).ok();
    assert!(table.contains("x,\"\"\"x\"\"\"\n"), "{table}");
    cms_with(dir.path(), &format!("items import notes - --format csv {at}"), &table).ok();
    let all = cms(dir.path(), &format!("{export} --format jsonl")).ok();
    assert_eq!(all, rows.repeat(2));
}

#[test]
fn a_key_can_come_from_a_file() {
    let dir = site();
    let file = dir.path().join("admin.key");
    let name = file.to_str().expect("a path");
    cms(dir.path(), &format!("keys create --name admin --right * --out {name}")).ok();
    let server = Served::start(dir.path(), &[]);
    let list =
        cms(dir.path(), &format!("keys list --json --url {} --key-file {name}", server.url)).json();
    assert_eq!(list["data"][0]["name"], "admin");
}

/// A server that accepts and says nothing: the wait has a sign on a terminal, and an end.
#[test]
fn a_silent_server_is_waited_for_as_long_as_told() {
    let dir = site();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let args = format!("keys list --url {url} --timeout 2s");
    let run = at_terminal(dir.path(), &args, &[("CMS_API_KEY", "cms_k1_x")], "").fails(7);
    assert!(run.out.contains(&format!("waiting for {url}")), "{run:?}");
    let run = remote(dir.path(), &url, "cms_k1_x", "keys list --timeout 1s").fails(7);
    assert!(!run.err.contains("waiting for") && run.err.contains("timed out"), "{run:?}");
    cms(dir.path(), "keys list --timeout 0").fails(2);
}

#[test]
fn a_taken_address_is_said() {
    let dir = site();
    let server = Served::start(dir.path(), &[]);
    let taken = server.url.strip_prefix("http://").expect("http").to_owned();
    cms(dir.path(), &format!("serve --listen {taken}"))
        .fails(1)
        .tells("another process listens there");
    cms(dir.path(), "serve --listen nonsense").fails(2);
}

#[test]
fn no_proxy_learns_of_calls_to_this_machine() {
    let dir = site();
    let key = cms(dir.path(), "keys create -q --name r --right *").ok();
    let server = Served::start(dir.path(), &[]);
    let port = server.url.rsplit(':').next().expect("a port");
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let through = format!("http://{}", proxy.local_addr().expect("an address"));
    let run = |url: &str| {
        let mut command = command(dir.path());
        command.args(["keys", "list"]).env("CMS_URL", url).env("CMS_API_KEY", key.trim());
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
            command.env(name, &through);
        }
        for name in ["NO_PROXY", "no_proxy", "REQUEST_METHOD"] {
            command.env_remove(name);
        }
        finish(command, None)
    };
    proxy.set_nonblocking(true).expect("a mode");
    for url in [format!("http://127.0.0.1:{port}"), format!("http://localhost:{port}")] {
        run(&url).ok();
    }
    for url in ["http://[::1]:1", "http://127.9.9.9:1", "http://LOCALHOST.:1"] {
        run(url).fails(7);
    }
    assert!(proxy.accept().is_err(), "the proxy was asked");

    // Other addresses go the way that the environment names.
    proxy.set_nonblocking(false).expect("a mode");
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = proxy.accept().expect("a request");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
        let mut head = [0; 64];
        let length = stream.read(&mut head).expect("its head");
        String::from_utf8_lossy(&head[..length]).into_owned()
    });
    run("http://cms.test").fails(7);
    assert!(asked.join().expect("no panic").starts_with("GET http://cms.test/"));
}

#[test]
fn a_far_site_tells_how_it_is() {
    let dir = site();
    let key = cms(dir.path(), "keys create -q --name r --right 'GET /api/backend/status'").ok();
    let server = Served::start(dir.path(), &[]);
    let run = |args: &str| remote(dir.path(), &server.url, key.trim(), args);
    let findings = run("status --json").json();
    let checks = findings["data"].as_array().expect("findings");
    assert!(checks.iter().any(|one| one["check"] == "database"), "{findings}");
    let url = server.url.clone();
    server.stop();
    let away = remote(dir.path(), &url, key.trim(), "status --json").fails(1);
    assert!(away.out.contains("\"listen\""), "{away:?}");
}
