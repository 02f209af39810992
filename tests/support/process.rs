//! The `cms` binary as a process of its own, on the database of a test.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use cms_core::Secret;
use cms_http::client::{Client, ClientError, Credential};
use serde_json::Value as Json;

use super::TestDatabase;

/// `target/<profile>/cms`, which `cargo test --workspace` has built beside this test.
fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("cms");
    assert!(path.is_file(), "{} is missing: build cms-cli first, in this profile", path.display());
    path
}

/// The program without the settings of this machine.
pub fn program() -> Command {
    let mut command = Command::new(binary());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CMS_")) {
        command.env_remove(name);
    }
    command
}

pub fn command(database: &TestDatabase, arguments: &[&str]) -> Command {
    let mut command = program();
    command.arg("--dir").arg(database.folder()).args(arguments).stdin(Stdio::null());
    command.env("CMS_LIMITER__STORE", "off");
    if let Some(url) = &database.url {
        command.env("CMS_DATABASE_URL", url);
    }
    command
}

/// Runs a command to its end, which must be good.
pub fn run(database: &TestDatabase, arguments: &[&str]) -> String {
    let output = output(database, arguments);
    assert!(
        output.status.success(),
        "cms {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub fn output(database: &TestDatabase, arguments: &[&str]) -> Output {
    command(database, arguments).output().unwrap()
}

/// What a command prints with `--json`.
pub fn json(database: &TestDatabase, arguments: &[&str]) -> Json {
    serde_json::from_str(&run(database, &[&["--json"], arguments].concat())).unwrap()
}

/// A key that may do everything, of a site that [`init`] has made.
pub fn key(database: &TestDatabase) -> String {
    let made = json(database, &["keys", "create", "--name", "test", "--right", "*"]);
    made["data"]["key"].as_str().unwrap().to_owned()
}

/// Makes a site; returns a key that may do everything.
pub fn init(database: &TestDatabase) -> String {
    run(database, &["init"]);
    key(database)
}

/// A command run by another program, which takes it as its arguments.
pub fn run_by(mut outer: Command, command: &Command) -> Command {
    outer.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// A figure of the memory of a process that runs, such as `VmHWM`, in KiB.
pub fn kib(pid: u32, name: &str) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Sends a signal, such as `-TERM`.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(sent.success(), "{name} to {pid}");
}

/// The answer of a server that is killed meanwhile; None: it was gone.
///
/// # Panics
/// When it refused: a kill explains no refusal.
pub fn unless_killed<T>(answer: Result<T, ClientError>) -> Option<T> {
    match answer {
        Ok(answer) => Some(answer),
        Err(ClientError::Unreachable(_)) => None,
        Err(refused) => panic!("a server that is killed refused: {refused:?}"),
    }
}

/// `cms serve`, killed when dropped.
pub struct Served {
    pub child: Child,
    pub url: String,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Served {
    pub fn start(database: &TestDatabase, log_filter: &str) -> Self {
        Self::start_with(database, log_filter, &[])
    }

    /// With further variables.
    pub fn start_with(
        database: &TestDatabase,
        log_filter: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        Self::start_command(
            command(database, &["serve", "--listen", "127.0.0.1:0"]),
            log_filter,
            variables,
        )
    }

    /// Any command that serves.
    pub fn start_command(
        mut command: Command,
        log_filter: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        let mut child = command
            .env("CMS_LOG", log_filter)
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(String::new()));
        let url = loop {
            let mut line = String::new();
            assert!(
                lines.read_line(&mut line).unwrap() > 0,
                "serve ended before it was ready: {}",
                log.lock().unwrap()
            );
            log.lock().unwrap().push_str(&line);
            if let Some(url) = line.trim().strip_prefix("ready ") {
                break url.to_owned();
            }
        };
        let kept = log.clone();
        let reader = std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = lines.read_to_string(&mut rest);
            kept.lock().unwrap().push_str(&rest);
        });
        Self { child, url, log, reader: Some(reader) }
    }

    pub fn client(&self, key: &str) -> Client {
        Client::remote(&self.url, &Credential::Key(Secret::new(key))).unwrap()
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    fn reply(&self, host: &str, path: &str) -> Vec<u8> {
        let mut stream = std::net::TcpStream::connect(self.address()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        reply
    }

    /// The whole reply to an anonymous GET.
    pub fn get(&self, path: &str) -> String {
        self.get_as(self.address(), path)
    }

    /// The same, asked by another name.
    pub fn get_as(&self, host: &str, path: &str) -> String {
        String::from_utf8(self.reply(host, path)).unwrap()
    }

    /// Status and body of the reply to an anonymous GET.
    pub fn bytes(&self, path: &str) -> (u16, Vec<u8>) {
        let mut reply = self.reply(self.address(), path);
        let end = reply.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        let body = reply.split_off(end);
        let status = std::str::from_utf8(&reply[9..12]).unwrap().parse().unwrap();
        (status, body)
    }

    /// SIGKILL: no chance to finish anything.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; returns the exit code and all that was logged.
    pub fn terminate(mut self) -> (Option<i32>, String) {
        signal(self.child.id(), "-TERM");
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        let log = self.log.lock().unwrap().clone();
        (status.code(), log)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
