//! Broken sites, asked through `cms doctor`, `cms status` and `/readyz` of real processes. Each
//! names the check; the remedy is carried out, as printed where it is a command; then all is well.

mod cases;
mod postgres;

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::Duration,
};

use serde_json::Value as Json;

use self::cases::CASES;
use crate::{
    doctor::{checks, sound},
    support::{Run, Served, Words, command, finish},
};

/// What stays while a case runs.
#[derive(Default)]
struct World {
    variables: BTreeMap<&'static str, String>,
    kept: Vec<Box<dyn Any>>,
    /// The site as it was.
    sound: Option<tempfile::TempDir>,
}

impl World {
    fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.variables.insert(name, value.into());
    }

    fn command<'a>(&self, dir: &Path, args: impl Words<'a>) -> Command {
        let mut command = command(dir);
        command.envs(&self.variables).args(args.words());
        command
    }

    fn run<'a>(&self, dir: &Path, args: impl Words<'a>) -> Run {
        finish(self.command(dir, args), None)
    }

    /// Runs a line of a remedy in a shell, exactly as it is printed.
    fn types(&self, dir: &Path, line: &str, input: Option<&str>) -> Run {
        let cms = Path::new(env!("CARGO_BIN_EXE_cms")).parent().expect("a folder");
        let path = std::env::var("PATH").expect("a path");
        let mut shell = Command::new("sh");
        let environment = self.command(dir, "");
        let variables = environment.get_envs().filter_map(|(name, value)| Some((name, value?)));
        shell.args(["-c", line]).current_dir(dir).envs(variables);
        shell.env("PATH", format!("{}:{path}", cms.display()));
        for (name, _) in environment.get_envs().filter(|(_, value)| value.is_none()) {
            shell.env_remove(name);
        }
        shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        finish(shell, input)
    }
}

/// What a server says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    /// It is ready, and names the check with this level.
    Names(&'static str),
    /// It is not ready.
    Not,
    /// It is ready: its start mends this, or only a start would meet it.
    Well,
    /// It does not start.
    Ends,
}

/// How the remedy is carried out.
enum Cure {
    /// The command of this number in the remedy, as printed.
    Printed(usize),
    /// What these words of the remedy say.
    By(&'static str, By),
    /// What these words say, then the command of this number, as printed.
    Both(&'static str, By, usize),
}

struct Case {
    how: &'static str,
    by: By,
    check: &'static str,
    level: &'static str,
    /// The same level, or none where `cms status` does not ask.
    status: bool,
    ready: Ready,
    cure: Cure,
}

type By = fn(&Path, &mut World);

/// An error that all three doors tell, of a server that is ready all the same.
const fn error(how: &'static str, check: &'static str, by: By, cure: Cure) -> Case {
    Case { how, by, check, level: "error", status: true, ready: Ready::Names("error"), cure }
}

/// As [`error`], with a warning.
const fn warning(how: &'static str, check: &'static str, by: By, cure: Cure) -> Case {
    Case { level: "warning", ready: Ready::Names("warning"), ..error(how, check, by, cure) }
}

impl Case {
    const fn ready(self, ready: Ready) -> Self {
        Self { ready, ..self }
    }

    const fn without_status(self) -> Self {
        Self { status: false, ..self }
    }
}

/// Levels of the checks that are not well, from the lines that a command prints.
fn unwell(run: &Run) -> BTreeSet<(String, String)> {
    let bad = checks(run).into_iter().filter(|[level, ..]| *level != "ok");
    bad.map(|[level, check, ..]| (check.to_owned(), level.to_owned())).collect()
}

/// What a server says that starts now: the checks that it names, or none when it is not ready.
fn readiness(dir: &Path, world: &World) -> Result<BTreeSet<(String, String)>, Ready> {
    let listen = world.variables.get("CMS_LISTEN").map_or("127.0.0.1:0", String::as_str);
    let serve = world.command(dir, &["serve", "--no-worker", "--listen", listen]);
    let Ok(served) = Served::started(serve) else { return Err(Ready::Ends) };
    // The first answer may come before the checks have ended.
    for _ in 0..600 {
        let (status, body) = get(&served.url, "/readyz");
        let body: Json = serde_json::from_str(&body).expect("JSON");
        if status != 200 {
            return Err(Ready::Not);
        }
        if let Some(checks) = body["data"]["checks"].as_object() {
            let level = |level: &Json| level.as_str().expect("a level").to_owned();
            return Ok(checks.iter().map(|(id, found)| (id.clone(), level(found))).collect());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("nothing was found out within 30 s");
}

fn get(url: &str, path: &str) -> (u16, String) {
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("a server");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")
        .expect("sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("UTF-8");
    let (head, body) = reply.split_once("\r\n\r\n").expect("a head");
    (head[9..12].parse().expect("a status"), body.to_owned())
}

/// The commands of a remedy.
fn commands(remedy: &str) -> Vec<&str> {
    remedy.split('`').skip(1).step_by(2).collect()
}

fn tried(case: &Case, sound: tempfile::TempDir) {
    let how = case.how;
    let dir = tempfile::tempdir().expect("a folder");
    let at = dir.path();
    let copied = Command::new("cp").arg("-a").arg(sound.path().join(".")).arg(at).status();
    assert!(copied.expect("cp").success());
    fs::create_dir_all(at.join("config")).expect("a folder");
    let mut world = World { sound: Some(sound), ..World::default() };
    (case.by)(at, &mut world);
    let expected = BTreeSet::from([(case.check.to_owned(), case.level.to_owned())]);

    let run = world.run(at, "doctor");
    assert_eq!(unwell(&run), expected, "{how}: doctor: {run:?}");
    assert_eq!(run.code, i32::from(case.level == "error"), "{how}: {run:?}");
    let found = checks(&run).into_iter().find(|[level, ..]| *level != "ok").expect("a finding");
    let remedy = found[3].to_owned();
    let status = world.run(at, "status");
    let told = if case.status { expected.clone() } else { BTreeSet::new() };
    assert_eq!(unwell(&status), told, "{how}: status: {status:?}");
    assert_eq!(status.code, i32::from(case.status && case.level == "error"), "{how}: {status:?}");
    if case.ready != Ready::Well {
        let ready = match readiness(at, &world) {
            Ok(checks) if checks == expected => Ready::Names(case.level),
            Ok(checks) => panic!("{how}: /readyz names {checks:?}"),
            Err(ready) => ready,
        };
        assert_eq!(ready, case.ready, "{how}");
    }

    let (words, act, printed) = match case.cure {
        Cure::Printed(command) => (None, None, Some(command)),
        Cure::By(words, act) => (Some(words), Some(act), None),
        Cure::Both(words, act, command) => (Some(words), Some(act), Some(command)),
    };
    if let Some(words) = words {
        assert!(remedy.contains(words), "{how}: {remedy}");
    }
    if let Some(act) = act {
        act(at, &mut world);
    }
    if let Some(command) = printed {
        let commands = commands(&remedy);
        let line = commands.get(command).unwrap_or_else(|| panic!("{how}: {remedy}"));
        let run = world.types(at, line, None);
        assert_eq!(run.code, 0, "{how}: {line}: {run:?}");
    }
    for door in ["doctor", "status"] {
        let run = world.run(at, &[door]);
        assert_eq!(unwell(&run), BTreeSet::new(), "{how}: {door} after the remedy: {run:?}");
        assert_eq!(run.code, 0, "{how}: {run:?}");
    }
    let ready = readiness(at, &world);
    assert_eq!(ready, Ok(BTreeSet::new()), "{how}: /readyz after the remedy");
}

/// Every case of this remainder.
fn some(remainder: usize) {
    let only = std::env::var("MENDED").ok();
    for case in CASES.iter().skip(remainder).step_by(4) {
        if only.as_ref().is_none_or(|only| case.how.contains(only)) {
            tried(case, sound());
        }
    }
}

#[test]
fn a_remedy_helps_1() {
    assert!(CASES.len() >= 20);
    some(0);
}

#[test]
fn a_remedy_helps_2() {
    some(1);
}

#[test]
fn a_remedy_helps_3() {
    some(2);
}

#[test]
fn a_remedy_helps_4() {
    some(3);
}
