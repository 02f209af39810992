//! Servers that lie, go back, break off, are slow, or lead elsewhere.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use serde_json::Value as Json;

use super::lab::{Answer, Lab, Server, described, pair, public, zipped};
use crate::support::{Run, Served, finish};

const FILE: &str = "cms-3.1.0.zip";

fn archive() -> Vec<u8> {
    zipped(&[("cms", b"#!/bin/sh\necho 'cms 3.1.0'\n")])
}

fn whole(body: impl Into<Vec<u8>>) -> Answer {
    Answer::Whole(200, String::new(), body.into())
}

/// Runs `cms update download` against a server with this description and this archive.
fn download(lab: &Lab, description: Json, archive: Vec<u8>) -> Run {
    let server = Server::offering(description, archive);
    lab.run(&server.url, "update download")
}

#[test]
fn what_is_not_signed_as_it_is_sent_is_not_taken() {
    let lab = Lab::new();
    let (good, other) = (archive(), zipped(&[("cms", b"#!/bin/sh\necho other\n")]));
    let of = |version: &str| described(version, FILE, &good, 1);
    let with = |member: &str, value: Json| {
        let mut changed = of("3.1.0");
        changed[member] = value;
        changed
    };
    let size = good.len();
    let table: [(&str, Json, &[u8], i32, &str); 8] = [
        ("another archive", of("3.1.0"), &other, 1, "but latest.json says"),
        ("another archive of its length", of("3.1.0"), &flipped(&good), 1, "has the SHA-256"),
        ("another key", described("3.1.0", FILE, &good, 9), &good, 1, "signature does not fit"),
        // An old archive, signed once, under a new number.
        ("a new number", with("version", "3.9.0".into()), &good, 1, "signature does not fit"),
        ("another name", with("file", "cms-3.9.0.zip".into()), &good, 1, "signature does not fit"),
        ("no signature", with("signature", "".into()), &good, 1, "signature does not fit"),
        ("a smaller size", with("size", (size - 1).into()), &good, 1, "but latest.json says"),
        ("a larger size", with("size", (size + 1).into()), &good, 1, "but latest.json says"),
    ];
    for (name, description, archive, code, why) in table {
        let run = download(&lab, description, archive.to_vec());
        assert!(run.code == code && run.err.contains(why), "{name}: {run:?}");
    }
    let kept = lab.site.path().join("data/updates").join(FILE);
    assert!(!kept.exists() && !kept.with_extension("zip.part").exists());
    // The second of two keys counts too, and the first stays good.
    let mut command = lab.command("", "update download");
    let server = Server::offering(described("3.1.0", FILE, &good, 2), good.clone());
    command.env("CMS_UPDATE_BASE_URL", &server.url);
    command.env("CMS_UPDATE__PUBLIC_KEY", format!("{},{}", public(1), public(2)));
    finish(command, None).ok();
}

fn flipped(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[20] ^= 1;
    bytes
}

#[test]
fn a_server_that_goes_back_is_refused() {
    let lab = Lab::new();
    let offer = |version: &str, args: &[&str]| {
        let archive = archive();
        let server = Server::offering(described(version, FILE, &archive, 1), archive);
        lab.run(&server.url, args)
    };
    // Before anything newer was seen: older than the program.
    offer("2.9.0", &["update", "apply"]).fails(6).tells("2.9.0, which is older than 3.0.0");
    offer("2.9.0", &["update", "check"]).fails(0).tells("There is nothing newer");
    offer("3.2.0", &["update", "check"]).fails(0);
    for verb in ["check", "download", "apply"] {
        offer("3.1.0", &["update", verb]).fails(6).tells("but offered 3.2.0 before");
    }
    assert_eq!(lab.version(), "3.0.0");
}

#[test]
#[ignore = "takes minutes: .ci/full runs it"]
fn replies_that_break_off_never_end_or_come_late_are_given_up() {
    let lab = Lab::new();
    let good = archive();
    let description = described("3.1.0", FILE, &good, 1).to_string();
    type Part = fn(&[u8]) -> Answer;
    let status = |_: &[u8]| Answer::Whole(500, String::new(), Vec::new());
    let table: [(&str, Part, [i32; 2], &str); 9] = [
        ("500", status, [7, 7], "answers 500"),
        ("401", |_| Answer::Whole(401, String::new(), Vec::new()), [4, 4], "refuses update_user"),
        ("404", |_| Answer::Whole(404, String::new(), Vec::new()), [5, 5], "answers 404"),
        ("not modified", |_| Answer::Whole(304, String::new(), Vec::new()), [1, 1], "no valid"),
        ("cut", |body| Answer::Cut(body.to_vec()), [7, 7], "breaks off"),
        ("endless", |_| Answer::Endless, [1, 1], "bytes"),
        ("slow", |body| Answer::Slow(body.to_vec()), [7, 7], "too slow"),
        ("silent", |_| Answer::Silent, [7, 7], "too slow"),
        ("html", |_| whole("<html>Log in</html>"), [1, 1], ""),
    ];
    for (name, part, codes, why) in table {
        for (at, code) in codes.into_iter().enumerate() {
            let (description, good) = (description.clone(), good.clone());
            let server = Server::new(move |path| match (path, at) {
                ("/latest.json", 0) => part(description.as_bytes()),
                ("/latest.json", _) => whole(description.clone()),
                (_, 0) => whole(good.clone()),
                _ => part(&good),
            });
            let began = Instant::now();
            let run = lab.run(&server.url, "update download --timeout 1s");
            assert!(run.code == code && run.err.contains(why), "{name} {at}: {run:?}");
            assert!(began.elapsed() < Duration::from_secs(20), "{name} {at}");
        }
    }
    let left = std::fs::read_dir(lab.site.path().join("data/updates")).expect("a folder");
    let left: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left, ["seen.json"]);
    lab.run("http://127.0.0.1:1", "update check").fails(7).tells("refused");
}

#[test]
fn the_password_goes_to_its_own_host_alone() {
    let lab = Lab::new();
    let good = archive();
    let elsewhere = Server::offering(described("3.1.0", FILE, &good, 1), good);
    let to = elsewhere.url.clone();
    let hops = AtomicUsize::new(0);
    let server = Server::new(move |path| match path {
        "/latest.json" if hops.fetch_add(1, Ordering::SeqCst) == 0 => {
            Answer::Whole(302, "Location: /again/latest.json\r\n".to_owned(), Vec::new())
        }
        path => {
            let name = path.rsplit('/').next().unwrap_or_default();
            Answer::Whole(307, format!("Location: {to}/{name}\r\n"), Vec::new())
        }
    });
    lab.run(&server.url, "update download").ok();
    let heads = |server: &Server| server.heads.lock().expect("heads").clone();
    let has = |head: &String| head.to_lowercase().contains("authorization: basic");
    assert_eq!(heads(&server).len(), 3);
    assert!(heads(&server).iter().all(has), "its own host gets it after a redirect too");
    assert_eq!(heads(&elsewhere).len(), 2);
    assert!(!heads(&elsewhere).iter().any(has), "another host does not");
    for location in ["/latest.json", "file:///etc/passwd", "ftp://127.0.0.1/x", "http://"] {
        let server = Server::new(move |_| {
            Answer::Whole(302, format!("Location: {location}\r\n"), Vec::new())
        });
        let run = lab.run(&server.url, "update check").fails(1);
        assert!(run.err.contains("redirect"), "{location}: {run:?}");
        assert!(!run.err.contains("correct horse"), "{run:?}");
    }
}

#[test]
fn a_folder_is_an_update_server() {
    let lab = Lab::new();
    let releases = tempfile::tempdir().expect("a folder");
    let good = archive();
    let write = |name: &str, content: &[u8]| {
        std::fs::write(releases.path().join(name), content).expect("written");
    };
    write(FILE, &good);
    write("latest.json", described("3.1.0", FILE, &good, 1).to_string().as_bytes());
    write(".hidden.zip", b"x");
    std::os::unix::fs::symlink("/etc/passwd", releases.path().join("link.zip")).expect("a link");
    let folder = releases.path().display().to_string();
    let serve = lab.command("", &["update", "serve", &folder, "--port", "0"]);
    let served = Served::started(serve).expect("it serves");
    assert!(served.before_ready.iter().any(|line| line.contains("3.1.0 is signed")));
    lab.run(&served.url, "update download").ok();
    let mut wrong = lab.command(&served.url, "update check");
    wrong.env("CMS_UPDATE_PASSWORD", "wrong");
    finish(wrong, None).fails(4).tells("refuses update_user and update_password");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let status = |path: &str| {
        let http = cms_http::client::transport().expect("TLS").build().expect("a client");
        let ask = http.get(format!("{}{path}", served.url));
        let reply = ask.basic_auth("ana", Some("correct horse")).send();
        runtime.block_on(reply).expect("a reply").status().as_u16()
    };
    assert_eq!(status("/latest.json"), 200);
    for path in ["/", "/link.zip", "/.hidden.zip", "/%2e%2e/x.zip", "/a/../latest.json2", "/x.zip"]
    {
        assert_eq!(status(path), 404, "{path}");
    }
    drop(served);
    // As `cms update check` judges it.
    let mut long = described("3.1.0", FILE, &good, 1);
    long["later"] = "x".repeat(64 << 10).into();
    write("latest.json", long.to_string().as_bytes());
    let serve = lab.command("", &["update", "serve", &folder, "--port", "0"]);
    let served = Served::started(serve).expect("it serves");
    assert!(served.before_ready.iter().any(|line| line.contains("larger than 65536 bytes")));
    let text = cms_core::update::signed_text("3.1.0", FILE, "00");
    assert_eq!(pair(1).sign(text.as_bytes()).as_ref().len(), 64);
}
