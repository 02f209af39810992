//! Help for writing a receiver: `webhooks verify` and `webhooks listen`, with foreign vectors.

use std::{
    io::{Read, Write},
    net::TcpStream,
    path::Path,
};

use cms_core::webhooks::{hex_signature, standard_signature};
use serde_json::Value as Json;

use crate::support::{Running, cms, cms_with, command, finish, has};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
/// The vector of the Standard Webhooks libraries.
const BODY: &str = r#"{"test": 2432232314}"#;
const HEADERS: &str = "POST /hook HTTP/1.1
Host: hooks.example.org
webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek
webhook-timestamp: 1614265330
webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
";

fn file(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("written");
    path.to_str().expect("a path").to_owned()
}

#[test]
fn deliveries_that_were_kept_are_verified() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = dir.path();
    let (body, line_end) = (file(at, "body", BODY), file(at, "line-end", &format!("{BODY}\n")));
    let (headers, secret) =
        (file(at, "headers", HEADERS), file(at, "secret", &format!("{SECRET}\n")));
    let (both, other) =
        (file(at, "both", &format!("{OTHER}\n{SECRET}\n")), file(at, "other", OTHER));
    let simple = format!("X-Webhook-Signature: {}", hex_signature(SECRET, BODY.as_bytes()));
    // A header that arrived never names a file to read.
    let foreign =
        file(at, "foreign", &format!("{HEADERS}x-note: @{}\n", at.join("no-such").display()));
    let known = format!("--headers {headers} --secret-file {secret}");
    let table = [
        (
            format!(
                "{body} --headers {foreign} --header 'x-note: @me' --secret-file {secret} \
                 --no-tolerance"
            ),
            0,
            "",
        ),
        (format!("{body} {known} --no-tolerance"), 0, ""),
        (format!("{body} --headers {headers} --secret-file {both} --no-tolerance"), 0, ""),
        (format!("{body} {known} --tolerance 4000000000"), 0, ""),
        (format!("{body} --header '{simple}' --secret-file {secret}"), 0, ""),
        (format!("{body} {known} --header '{simple}' --no-tolerance"), 0, ""),
        (format!("{body} {known}"), 1, "--no-tolerance"),
        (
            format!("{body} --headers {headers} --secret-file {other} --no-tolerance"),
            1,
            "byte for byte",
        ),
        (format!("{line_end} {known} --no-tolerance"), 1, "without the line end"),
        (format!("{body} --header '{}' --secret-file {secret}", &simple[..40]), 1, "byte for byte"),
        (
            format!("{body} --header '{simple}' --header 'webhook-id: x' --secret-file {secret}"),
            1,
            "as they arrived",
        ),
        (
            format!("{body} --header '{simple}' --header '{simple}' --secret-file {secret}"),
            1,
            "as they arrived",
        ),
        (
            format!("{body} --header 'content-type: application/json' --secret-file {secret}"),
            2,
            "the headers hold no signature",
        ),
        (format!("{body} --header webhook-id --secret-file {secret}"), 2, "NAME: VALUE"),
        (format!("{body} --header 'a b: c' --secret-file {secret}"), 2, "not a header"),
        (format!("{body} --headers {body} --secret-file {secret}"), 2, "not a header"),
        (format!("{body} --headers {other} --secret-file {secret}"), 2, "line 1"),
        (format!("{body} --headers {headers}"), 2, "CMS_WEBHOOK_SECRET"),
        (
            format!("{body} --headers {headers} --secret-file {headers}"),
            2,
            "no secret of a subscription",
        ),
        (format!("{body} --headers {headers} --secret-file /no/such"), 1, "/no/such"),
        (format!("/no/such {known}"), 1, "/no/such"),
    ];
    for (args, code, said) in table {
        let run = cms(at, &format!("webhooks verify {args}")).fails(code);
        assert!(run.err.contains(said), "{args}: {run:?}");
        assert!(!run.err.contains("MfKQ9r8") && !run.out.contains("MfKQ9r8"), "{run:?}");
    }
    let mut piped = command(at);
    piped
        .args(["webhooks", "verify", "-", "--header", &simple, "--json"])
        .env("CMS_WEBHOOK_SECRET", SECRET);
    assert_eq!(finish(piped, Some(BODY)).json()["data"]["valid"], true);
    let refused = format!("webhooks verify - {known} --header '{simple}' --json");
    let run = cms_with(at, &refused, BODY).fails(1);
    let checks: Json = serde_json::from_str(&run.out).expect("JSON");
    let codes = ["code", "valid"]
        .map(|name| [&checks["data"]["checks"][0][name], &checks["data"]["checks"][1][name]]);
    assert_eq!(codes, [[&"time".into(), &Json::Null], [&false.into(), &true.into()]], "{run:?}");
}

fn listen(dir: &Path, args: &[&str]) -> Running {
    let mut command = command(dir);
    command.args(["webhooks", "listen", "--port", "0"]).args(args);
    Running::start(command, "listening http://")
}

impl Running {
    /// Sends a request with these headers, one a line.
    fn begin(&self, method: &str, headers: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("connected");
        let length = body.len();
        let head = format!(
            "{method} /hook HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             content-length: {length}\r\n{headers}\r\n"
        );
        stream.write_all(&[head.as_bytes(), body].concat()).expect("sent");
        stream
    }

    /// Sends a request; returns the status of the answer.
    fn send(&self, method: &str, headers: &str, body: &[u8]) -> String {
        let mut stream = self.begin(method, headers, body);
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("an answer");
        reply.split(' ').nth(1).expect("a status").to_owned()
    }

    /// Sends a delivery that is signed with this secret.
    fn deliver(&self, secret: &str, id: &str) -> String {
        let (now, body) = (cms_core::Clock::system().now() / 1000, BODY.as_bytes());
        let standard = standard_signature(secret, id, now, body).expect("a signature");
        let headers = format!(
            "x-webhook-event: item.notes.created\r\nx-delivery-id: 7\r\n\
             webhook-id: {id}\r\nwebhook-timestamp: {now}\r\n\
             webhook-signature: {standard}\r\nx-webhook-signature: {}\r\n",
            hex_signature(secret, body)
        );
        self.send("POST", &headers, body)
    }
}

/// The columns of a line without its time.
fn columns(line: &str) -> Vec<&str> {
    line.split('\t').skip(1).collect()
}

#[test]
fn deliveries_are_checked_printed_and_answered() {
    let dir = tempfile::tempdir().expect("a folder");
    let both = file(dir.path(), "both", &format!("{OTHER}\n{SECRET}\n"));
    let mut listening = listen(dir.path(), &["--secret-file", &both, "--body", "--count", "4"]);
    assert_eq!(listening.send("GET", "", b""), "405");
    assert_eq!(listening.send("POST", "", &vec![b'x'; (5 << 20) + 1]), "413");
    assert_eq!(listening.deliver(SECRET, "msg_1"), "204");
    assert_eq!(
        columns(&listening.line()),
        ["item.notes.created", "7", "msg_1", "signature ok", "first", "204"]
    );
    assert_eq!(listening.line(), BODY);
    assert_eq!(listening.deliver(OTHER, "msg_1"), "204");
    assert_eq!(
        columns(&listening.line()),
        ["item.notes.created", "7", "msg_1", "signature ok", "repeated", "204"]
    );
    listening.line();
    assert_eq!(listening.deliver("whsec_AAAA", "msg_2"), "401");
    let line = listening.line();
    assert!(
        line.contains("signature wrong: no signature matches") && line.ends_with("\tfirst\t401"),
        "{line}"
    );
    listening.line();
    assert_eq!(listening.send("POST", "", b"{}"), "401");
    assert!(listening.line().contains("\t-\t-\t-\tsignature wrong: the delivery has none\t"));
    assert_eq!(listening.ended(), Some(0), "four were asked for");
}

#[test]
fn answers_are_chosen_and_signals_end_it_well() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut failing = listen(dir.path(), &["--fail", "503", "--json", "--body"]);
    assert_eq!(failing.deliver(SECRET, "msg_1"), "503");
    let line: Json = serde_json::from_str(&failing.line()).expect("JSON");
    has(&line, [("/signature", "not_checked".into()), ("/status", 503.into())]);
    has(&line, [("/repeated", false.into()), ("/body", BODY.into())]);
    has(&line, [("/webhook_id", "msg_1".into()), ("/delivery_id", "7".into())]);

    // The delivery is forwarded unchanged, and the answer is that of the receiver.
    let secret = file(dir.path(), "secret", SECRET);
    let mut target = listen(dir.path(), &["--secret-file", &secret, "--fail", "418"]);
    let address = format!("http://{}/other?x=1", target.address);
    let mut between = listen(dir.path(), &["--forward", &address, "--count", "1"]);
    assert_eq!(between.deliver(SECRET, "msg_1"), "418");
    assert_eq!(
        columns(&target.line()),
        ["item.notes.created", "7", "msg_1", "signature ok", "first", "418"]
    );
    assert!(between.line().ends_with("\tsignature not checked\tfirst\t418"));
    assert_eq!(between.ended(), Some(0));
    // One with a wrong signature is not.
    let judging = listen(dir.path(), &["--secret-file", &secret, "--forward", &address]);
    assert_eq!(judging.deliver(OTHER, "msg_2"), "401");
    assert_eq!(judging.deliver(SECRET, "msg_3"), "418");
    assert!(target.line().contains("\tmsg_3\tsignature ok\t"), "the next that comes");
    assert_eq!((failing.signalled("-TERM"), target.signalled("-INT")), (Some(0), Some(0)));
    // A delivery is printed at once and answered later; a signal does not wait for that.
    let mut slow = listen(dir.path(), &["--delay", "1h"]);
    let _waiting = slow.begin("POST", "", b"{}");
    assert!(slow.line().ends_with("\t204"));
    assert_eq!(slow.signalled("-TERM"), Some(0));
    let nobody = listen(dir.path(), &["--forward", &address]);
    assert_eq!(nobody.deliver(SECRET, "msg_1"), "502");
}

#[test]
fn a_receiver_that_cannot_be_is_told_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let taken = listen(dir.path(), &[]);
    let port = taken.address.rsplit(':').next().expect("a port");
    let wrong = file(dir.path(), "wrong", "hunter2");
    for (args, code) in [
        (&*format!("--port {port}"), 1),
        ("--port 65536", 2),
        ("--fail 101", 2),
        ("--fail 600", 2),
        ("--fail 500 --forward http://127.0.0.1:1/", 2),
        ("--forward 127.0.0.1:3000", 2),
        ("--forward ftp://127.0.0.1/", 2),
        ("--forward /hook", 2),
        ("--count 0", 2),
        ("--delay soon", 2),
        (&format!("--secret-file {wrong}"), 2),
    ] {
        let run = cms(dir.path(), &format!("webhooks listen {args}")).fails(code);
        assert!(!run.err.contains("hunter2"), "{run:?}");
    }
}
