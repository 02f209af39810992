//! Runs the binary, as a command or as a server.

use std::{
    io::{BufRead, BufReader, Lines, Read, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::Value as Json;

/// Exit code and output of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// The output of a run that must succeed.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// The run, which must tell this on its standard error.
    #[track_caller]
    pub(crate) fn tells(self, words: &str) -> Self {
        assert!(self.err.contains(words), "{words:?} is not in {self:?}");
        self
    }

    /// The run, which must succeed and print this.
    #[track_caller]
    pub(crate) fn shows(self, words: &str) -> Self {
        assert!(self.code == 0 && self.out.contains(words), "{words:?} is not in {self:?}");
        self
    }

    /// The JSON of a run that must succeed.
    #[track_caller]
    pub(crate) fn json(self) -> Json {
        let out = self.ok();
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"))
    }

    /// The run, which must end with this code.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// These members have their values, whatever stands beside them; a name is a JSON pointer.
#[track_caller]
pub(crate) fn has<const N: usize>(json: &Json, members: [(&str, Json); N]) {
    for (name, expected) in members {
        assert_eq!(json.pointer(name), Some(&expected), "{name} of {json}");
    }
}

/// The command, without the settings of this machine.
pub(crate) fn command(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cms"));
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CMS_"))
    {
        command.env_remove(name);
    }
    command
        .env("CMS_DIR", dir)
        .env("XDG_CONFIG_HOME", dir.join("config"))
        // The usual port may be taken on this machine.
        .env("CMS_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn finish(mut command: Command, input: Option<&str>) -> Run {
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().expect("cms starts");
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        // A command that does not read everything closes the pipe.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().expect("cms ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Run {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Arguments: a list, or a line as a shell splits it, where quotes are `'`.
pub(crate) trait Words<'a> {
    fn words(self) -> Vec<&'a str>;
}

impl<'a> Words<'a> for &'a str {
    fn words(self) -> Vec<&'a str> {
        let parts = self.split('\'').enumerate();
        let words = parts.map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        words.collect::<Vec<_>>().concat()
    }
}

impl<'a> Words<'a> for &'a String {
    fn words(self) -> Vec<&'a str> {
        self.as_str().words()
    }
}

impl<'a> Words<'a> for &[&'a str] {
    fn words(self) -> Vec<&'a str> {
        self.to_vec()
    }
}

impl<'a, const N: usize> Words<'a> for &[&'a str; N] {
    fn words(self) -> Vec<&'a str> {
        self.to_vec()
    }
}

impl<'a> Words<'a> for &Vec<&'a str> {
    fn words(self) -> Vec<&'a str> {
        self.clone()
    }
}

/// Runs `cms` for the site in `dir`.
pub(crate) fn cms<'a>(dir: &Path, args: impl Words<'a>) -> Run {
    let mut command = command(dir);
    command.args(args.words());
    finish(command, None)
}

/// Runs `cms` with a text on standard input.
pub(crate) fn cms_with<'a>(dir: &Path, args: impl Words<'a>, input: &str) -> Run {
    let mut command = command(dir);
    command.args(args.words());
    finish(command, Some(input))
}

/// Runs `cms` with variables of the environment.
pub(crate) fn cms_env<'a>(dir: &Path, args: impl Words<'a>, variables: &[(&str, &str)]) -> Run {
    let mut command = command(dir);
    command.args(args.words()).envs(variables.iter().copied());
    finish(command, None)
}

/// The arguments that name the site: none in its folder, then those over the network, with a key
/// that may do everything.
pub(crate) fn both_ways(dir: &Path, server: &Served) -> [String; 2] {
    let key = dir.join("key").display().to_string();
    cms(dir, &format!("keys create --name k --right * --out {key}")).ok();
    [String::new(), format!("--url {} --key-file {key}", server.url)]
}

/// Runs `cms` at a terminal, where `answers` are typed; what it shows is the run's output.
pub(crate) fn at_terminal<'a>(
    dir: &Path,
    args: impl Words<'a>,
    envs: &[(&str, &str)],
    answers: &str,
) -> Run {
    let size = PtySize { rows: 30, cols: 300, pixel_width: 0, pixel_height: 0 };
    let terminal = native_pty_system().openpty(size).expect("a terminal");
    let cms = command(dir);
    let mut at_terminal = CommandBuilder::new(cms.get_program());
    at_terminal.args(args.words());
    for (name, value) in cms.get_envs() {
        match value {
            Some(value) => at_terminal.env(name, value),
            None => at_terminal.env_remove(name),
        }
    }
    at_terminal.env_remove("VISUAL");
    envs.iter().for_each(|(name, value)| at_terminal.env(name, value));
    at_terminal.cwd(dir);
    let mut child = terminal.slave.spawn_command(at_terminal).expect("cms starts");
    drop(terminal.slave);
    let mut output = terminal.master.try_clone_reader().expect("output");
    let shown = std::thread::spawn(move || {
        let (mut all, mut part) = (Vec::new(), [0; 4096]);
        // The end of a terminal is an error on Linux.
        while let Ok(n @ 1..) = output.read(&mut part) {
            all.extend_from_slice(&part[..n]);
        }
        String::from_utf8(all).expect("UTF-8")
    });
    let mut keys = terminal.master.take_writer().expect("input");
    keys.write_all(answers.as_bytes()).expect("typed");
    let status = child.wait().expect("cms ends");
    drop((keys, terminal.master));
    let code = i32::try_from(status.exit_code()).expect("a code");
    Run { code, out: shown.join().expect("shown"), err: String::new() }
}

/// A site with the administrator `ana`.
pub(crate) fn site_of_ana() -> tempfile::TempDir {
    let dir = site();
    cms_with(dir.path(), "init --admin ana --password-stdin", PASSWORD).ok();
    dir
}

/// The password of `ana`.
pub(crate) const PASSWORD: &str = "correct horse";

/// The first login of `ana`; returns the secret of the authenticator, and the run.
pub(crate) fn first_login<'a>(dir: &Path, args: impl Words<'a>) -> (String, Run) {
    let mut command = command(dir);
    command
        .args(["login", "--username", "ana", "--password-stdin", "--code-stdin"])
        .args(args.words())
        .stdin(Stdio::piped());
    let mut child = command.spawn().expect("cms starts");
    let mut stdin = child.stdin.take().expect("stdin");
    writeln!(stdin, "{PASSWORD}").expect("read");
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr"));
    let (mut err, mut secret) = (String::new(), None);
    while secret.is_none() {
        assert!(stderr.read_line(&mut err).expect("UTF-8") > 0, "no secret in {err:?}");
        secret = err
            .lines()
            .find_map(|line| line.strip_prefix("secret "))
            .map(|secret| secret.trim().to_owned());
    }
    let secret = secret.expect("a secret");
    writeln!(stdin, "{}", code(&secret, 0)).expect("read");
    stderr.read_to_string(&mut err).expect("UTF-8");
    let output = child.wait_with_output().expect("cms ends");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    (secret, Run { code: output.status.code().unwrap_or(-1), out, err })
}

/// The code that an authenticator shows this many steps from now.
pub(crate) fn code(secret: &str, steps: u64) -> String {
    let secret = totp_rs::Secret::try_from_base32(secret).expect("base32");
    let now = u64::try_from(cms_core::Clock::system().now() / 1000).expect("a time");
    totp_rs::Builder::new()
        .with_secret(secret)
        .build()
        .expect("totp")
        .generate(now + 30 * steps)
        .to_string()
}

/// A new site with one table `notes(text, n, data)`.
pub(crate) fn site() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let plugin = dir.path().join("plugins/notes");
    std::fs::create_dir_all(&plugin).expect("a folder");
    let manifest = r#"{"id": "notes", "name": "Notes", "version": "1",
        "tables": [{"name": "notes", "columns": [
        {"name": "text", "type": "text"}, {"name": "n", "type": "integer"},
        {"name": "data", "type": "json"},
        {"name": "done", "type": "boolean"}, {"name": "price", "type": "decimal"}]}]}"#;
    std::fs::write(plugin.join("plugin.json"), manifest).expect("a file");
    cms(dir.path(), "init").ok();
    dir
}

/// A command that runs until it is stopped. It is killed when it is dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// Where it listens, if it does.
    pub(crate) address: String,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// With a sign, its first line on standard error is that and the address.
    pub(crate) fn start(mut command: Command, sign: &str) -> Self {
        let mut child = command.spawn().expect("cms starts");
        let lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
        let mut first = String::new();
        if !sign.is_empty() {
            let mut errors = BufReader::new(child.stderr.take().expect("stderr"));
            errors.read_line(&mut first).expect("a line");
        }
        let address = first.trim().strip_prefix(sign).unwrap_or_else(|| panic!("{first:?}"));
        Self { child, address: address.to_owned(), lines }
    }

    /// The next line of its standard output.
    pub(crate) fn line(&mut self) -> String {
        self.lines.next().expect("a line").expect("UTF-8")
    }

    /// The lines up to its end.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        self.lines.by_ref().map(|line| line.expect("UTF-8")).collect()
    }

    /// Waits for its end; returns the exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.child.wait().expect("ended").code()
    }

    /// Sends a signal, such as `-TERM`, and waits for the end.
    pub(crate) fn signalled(&mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
        self.ended()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that is killed when it is dropped.
pub(crate) struct Served {
    child: Child,
    pub(crate) url: String,
    pub(crate) before_ready: Vec<String>,
}

impl Served {
    pub(crate) fn start(dir: &Path, args: &[&str]) -> Self {
        Self::start_at(dir, "127.0.0.1:0", args)
    }

    /// At this address.
    pub(crate) fn start_at(dir: &Path, listen: &str, args: &[&str]) -> Self {
        let mut serve = command(dir);
        serve.args(["serve", "--listen", listen]).args(args);
        Self::started(serve).unwrap_or_else(|said| panic!("no ready line, only {said:?}"))
    }

    /// Any command that serves; what it said when it ended before it was ready.
    pub(crate) fn started(mut serve: Command) -> Result<Self, Vec<String>> {
        let mut child = serve.spawn().expect("cms starts");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
        let mut before_ready = Vec::new();
        let url = loop {
            let Some(line) = lines.next() else {
                let _ = child.wait();
                return Err(before_ready);
            };
            let line = line.expect("a line");
            match line.strip_prefix("ready ") {
                Some(url) => break url.to_owned(),
                None => before_ready.push(line),
            }
        };
        Ok(Self { child, url, before_ready })
    }

    /// Sends a signal, such as `HUP`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(status.expect("kill").success());
    }

    /// Sends SIGTERM; returns the exit code and the standard output.
    pub(crate) fn stop(self) -> (Option<i32>, String) {
        self.signal("TERM");
        self.ended()
    }

    /// Waits for the end; returns the exit code and the standard output.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("ended").code();
        let mut out = String::new();
        self.child.stdout.take().expect("stdout").read_to_string(&mut out).expect("UTF-8");
        (code, out)
    }

    /// Standard output up to the end of the third call to try.
    pub(crate) fn demo_text(&mut self) -> String {
        let mut text = String::new();
        let mut lines = BufReader::new(self.child.stdout.as_mut().expect("stdout")).lines();
        while text.lines().filter(|line| line.starts_with("curl ")).count() < 3 {
            text.push_str(&lines.next().expect("a line").expect("UTF-8"));
            text.push('\n');
        }
        text
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
