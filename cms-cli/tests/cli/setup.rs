//! `cms init`, `config`, `doctor`, `migrate`, `completions` and help.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value as Json;

use crate::{
    doctor::plugin,
    support::{Served, cms, cms_env, command, finish, site, site_of_ana},
};

#[test]
fn init_makes_a_site_and_changes_nothing_the_second_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let first = cms(dir.path(), "init");
    assert!(first.err.contains("made  cms.toml") && first.err.contains("cms serve"), "{first:?}");
    let read = || {
        ["cms.toml", "cms.local.toml"]
            .map(|name| fs::read_to_string(dir.path().join(name)).expect(name))
    };
    let before = read();
    let mode = fs::metadata(dir.path().join("cms.local.toml")).expect("local").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = cms(dir.path(), "init --json").json();
    assert_eq!(second["data"]["made"].as_array().map(Vec::len), Some(0), "{second}");
    assert_eq!(read(), before);
    cms(dir.path(), "doctor").ok();
}

#[test]
fn data_is_for_its_owner() {
    let dir = tempfile::tempdir().expect("a folder");
    cms(dir.path(), "init").ok();
    cms(dir.path(), "items list pages").ok();
    let mode = |name: &str| {
        let path = dir.path().join(name);
        fs::metadata(path).map(|meta| meta.permissions().mode() & 0o777).ok()
    };
    assert_eq!((mode("data"), mode("data/cms.db")), (Some(0o700), Some(0o600)));
    for beside in ["data/cms.db-wal", "data/cms.db-shm"] {
        assert!(mode(beside).is_none_or(|mode| mode == 0o600), "{beside}");
    }
    assert!(!cms(dir.path(), "doctor").ok().contains("others can read"));
}

#[test]
fn init_completes_a_local_file_without_touching_what_is_there() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(
        dir.path().join("cms.local.toml"),
        "password_salt = \"kept\"\n[mail]\nsmtp_url = \"smtp://h\"\n",
    )
    .expect("written");
    cms(dir.path(), "init").ok();
    let text = fs::read_to_string(dir.path().join("cms.local.toml")).expect("local");
    assert!(
        text.contains("password_salt = \"kept\"") && text.matches("password_salt").count() == 1,
        "{text}"
    );
    assert!(text.starts_with("encryption_key = "), "{text}");
    cms(dir.path(), "config validate").ok();
}

#[test]
fn no_secret_is_shown() {
    let dir = site();
    let local = fs::read_to_string(dir.path().join("cms.local.toml")).expect("local");
    let secrets: Vec<_> =
        local.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase())).collect();
    assert_eq!(secrets.len(), 2);
    for args in
        ["config show --origin", "config show --json", "config get encryption_key", "doctor"]
    {
        let run = cms(dir.path(), args);
        for secret in &secrets {
            let value = secret.split('"').nth(1).expect("a value");
            assert!(!run.out.contains(value) && !run.err.contains(value), "{args:?}");
        }
    }
    let shown = cms(dir.path(), "config show --origin").ok();
    assert!(shown.contains("encryption_key\t***\tcms.local.toml:"), "{shown}");
    assert!(shown.contains("timezone\tUTC\tdefault"), "{shown}");
}

#[test]
fn every_command_names_the_line_of_a_wrong_setting() {
    let dir = site();
    fs::write(dir.path().join("cms.toml"), "lisen = \"x\"\n").expect("written");
    assert!(cms(dir.path(), "keys list").fails(1).err.contains("cms.toml:1"));
}

#[test]
fn a_plugin_with_a_fault_leaves_the_others_well() {
    let dir = site();
    plugin(dir.path(), r#"{"id": "shop", "tables": [{"name": "T"}]}"#);
    let told = cms(dir.path(), "doctor").fails(1).out;
    assert!(told.contains("error\tplugin\tshop: ") && told.contains("ok\tplugin\tnotes"), "{told}");
}

#[test]
fn migrations_wait_when_they_are_told_to() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("cms.toml"), "migrate = false\n").expect("written");
    for args in ["migrate status", "keys list", "serve"] {
        assert!(cms(dir.path(), args).fails(7).err.contains("cms migrate up"), "{args:?}");
    }
    assert!(cms(dir.path(), "migrate up").ok().contains("just applied"));
    assert!(!cms(dir.path(), "migrate status").ok().contains("pending"));
    cms(dir.path(), "keys list").ok();
}

#[test]
fn tables_of_a_new_plugin_are_pending() {
    let dir = site_of_ana();
    cms(dir.path(), "plugins new shop").ok();
    let told = cms(dir.path(), "migrate status");
    assert!(told.code == 0 && told.err.contains("plugins are pending"), "{told:?}");
    assert!(told.out.contains("tables of the plugin shop"), "{told:?}");
    let steps = cms(dir.path(), "migrate status --json").json();
    let last = steps["data"].as_array().and_then(|steps| steps.last()).expect("steps");
    assert_eq!(last["applied"], false);
    cms(dir.path(), "migrate up").ok();
    assert!(cms(dir.path(), "migrate status").err.contains("is up to date"));
}

#[test]
fn an_administrator_that_is_there_needs_no_password() {
    let dir = site_of_ana();
    cms(dir.path(), "init --admin ana").ok();
    cms(dir.path(), "init --admin bo").fails(2);
    let empty = tempfile::tempdir().expect("a folder");
    std::fs::write(empty.path().join("cms.toml"), "").expect("written");
    cms(empty.path(), "init --admin bo").fails(2);
    assert!(!empty.path().join("cms.local.toml").exists());
}

#[test]
fn completions_and_help() {
    let dir = tempfile::tempdir().expect("a folder");
    for (shell, sign) in
        [("bash", "complete -F _cms"), ("zsh", "#compdef cms"), ("fish", "complete -c cms")]
    {
        assert!(cms(dir.path(), &format!("completions {shell}")).ok().contains(sign), "{shell}");
    }
    let codes = cms(dir.path(), "help exit-codes").ok();
    for code in ["    0  done", "    6  refused", "    9  too many", "  130  "] {
        assert!(codes.contains(code), "{codes}");
    }
    let alone = cms(dir.path(), "").ok();
    assert!(
        (10..=16).contains(&alone.lines().count()) && alone.contains("Next: cms init"),
        "{alone}"
    );
    assert_eq!(cms(dir.path(), "version").ok(), "cms 3.0.0\n");
    assert_eq!(fs::read_dir(dir.path()).expect("folder").count(), 0, "nothing is made on the way");
}

/// The command, started by another program and its arguments.
fn started_by(program: &str, args: &[&str], cms: &Command) -> Command {
    let mut starter = Command::new(program);
    starter
        .args(args)
        .arg(cms.get_program())
        .args(cms.get_args())
        .env_clear()
        .envs(cms.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("PATH", std::env::var_os("PATH").expect("a path"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    starter
}

#[test]
fn a_full_disk_leaves_no_half_settings_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut init = command(dir.path());
    init.arg("init");
    // As on a full disk, a write fails after the first KiB.
    let limit = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    finish(started_by("bash", &["-c", limit], &init), None).fails(1).tells("cms.toml");
    assert!(!dir.path().join("cms.toml").exists(), "half a file was kept");
    cms(dir.path(), "init").ok();
    cms(dir.path(), "config validate").ok();
}

#[test]
fn a_mistyped_log_level_is_refused() {
    let dir = site();
    for level in ["warning", "debugg", "warn,inf"] {
        cms_env(dir.path(), "keys list", &[("CMS_LOG", level)])
            .fails(2)
            .tells("CMS_LOG")
            .tells("warn,cms_http=info");
    }
}

/// A server that was started with this handling of signals.
fn served(dir: &Path, signals: &str) -> Served {
    let mut serve = command(dir);
    serve.args(["serve", "--listen", "127.0.0.1:0"]);
    Served::started(started_by("env", &[signals], &serve)).expect("it serves")
}

#[test]
fn a_terminal_that_closes_stops_the_server_gently() {
    let dir = site();
    let server = served(dir.path(), "--default-signal=HUP");
    server.signal("HUP");
    // A shell sends the signal once more.
    server.signal("HUP");
    assert_eq!(server.ended().0, Some(0));

    let server = served(dir.path(), "--ignore-signal=HUP");
    server.signal("HUP");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let address = server.url.trim_start_matches("http://");
    TcpStream::connect(address).expect("it still listens");
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn a_server_without_its_secrets_warns() {
    let dir = site();
    fs::remove_file(dir.path().join("cms.local.toml")).expect("removed");
    let server = Served::start(dir.path(), &[]);
    for secret in ["password_salt is not set", "encryption_key is not set"] {
        let warns = |line: &String| line.contains(secret) && line.contains("from a backup");
        assert!(server.before_ready.iter().any(warns), "{:?}", server.before_ready);
    }
}

#[test]
fn a_log_in_json_holds_warnings_of_settings() {
    let dir = site();
    let mut serve = command(dir.path());
    serve.args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    serve.env("CMS_LISEN", "x");
    let server = Served::started(serve).expect("it serves");
    let lines = server.before_ready.iter();
    let lines = lines.map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<Json> = lines.collect();
    let named = |line: &Json| line["fields"]["message"].to_string().contains("CMS_LISEN");
    assert!(lines.iter().any(named), "{lines:?}");
}

#[test]
fn a_load_balancer_that_asks_during_the_stop_leaves_no_errors() {
    let dir = site();
    let log = dir.path().join("log");
    let mut serve = command(dir.path());
    serve.args(["serve", "--listen", "127.0.0.1:0"]).env("CMS_SHUTDOWN__DRAIN_S", "2");
    serve.stderr(fs::File::create(&log).expect("a file"));
    let mut child = serve.spawn().expect("cms starts");
    let read = || fs::read_to_string(&log).expect("a log");
    let mut text = read();
    while !text.ends_with('\n') && child.try_wait().expect("a state").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
        text = read();
    }
    let address = text.trim().strip_prefix("ready http://").expect("a ready line").to_owned();
    let ready = || {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let request = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("asked");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        reply.starts_with("HTTP/1.1 200")
    };
    assert!(ready());
    let kill = Command::new("kill").arg(child.id().to_string()).status();
    assert!(kill.expect("kill").success());
    while ready() {}
    assert_eq!(child.wait().expect("ended").code(), Some(0));
    assert_eq!(read(), text, "only the ready line");
}
