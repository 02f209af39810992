//! A shell in an empty folder with the built `cms` on its path.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use crate::support::process;

/// The port of all examples. It may be taken on this machine, so a free one stands for it.
const PORT: &str = "127.0.0.1:8080";
const TIMEOUT: Duration = Duration::from_secs(60);

pub struct Shell {
    folder: tempfile::TempDir,
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
    address: String,
    begun: usize,
    patience: Duration,
}

impl Shell {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let program = process::program();
        let beside = std::path::Path::new(program.get_program()).parent().unwrap().to_owned();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("bash");
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CMS_")) {
            command.env_remove(name);
        }
        let mut child = command
            .args(["--noprofile", "--norc"])
            .current_dir(folder.path())
            .env("PATH", format!("{}:{path}", beside.display()))
            .env("XDG_CONFIG_HOME", folder.path().join("config"))
            .env("CMS_LISTEN", &free)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (lines, read) = mpsc::channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            while output.read_line(&mut line).is_ok_and(|bytes| bytes > 0)
                && lines.send(std::mem::take(&mut line)).is_ok()
            {}
        });
        Self { folder, child, input, output: read, address: free, begun: 0, patience: TIMEOUT }
    }

    /// Runs a command to its end, which must be good. Returns what it prints.
    pub fn run(&mut self, command: &str) -> Result<String, String> {
        let command = command.replace(PORT, &self.address);
        writeln!(self.input, "{{\n{command}\n}} </dev/null 2>&1\necho \"= ended $?\"")
            .map_err(|error| format!("the shell has ended: {error}"))?;
        let (mut printed, end) = (String::new(), Instant::now() + self.patience);
        loop {
            let line = match self.output.recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    self.kill();
                    return Err(format!("not ended within {:?}: {printed}", self.patience));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("the shell has ended: {printed}"));
                }
            };
            match line.trim_end().rsplit_once("= ended ") {
                Some((rest, "0")) => return Ok(self.usual(&(printed + rest))),
                Some((_, code)) => return Err(format!("exit code {code}: {printed}")),
                None => printed += &line,
            }
        }
    }

    /// Begins a command that runs on, and waits for its `ready`. Returns what it has printed.
    pub fn begin(&mut self, command: &str) -> Result<String, String> {
        self.begun += 1;
        let log = format!("{}/begun-{}.log", self.folder.path().display(), self.begun);
        let end = Instant::now() + self.patience;
        let command = command.trim_end();
        self.run(&format!("{command} >{log} 2>&1 </dev/null &"))?;
        while Instant::now() < end {
            let printed = std::fs::read_to_string(&log).unwrap_or_default();
            if printed.contains("ready ") {
                return Ok(self.usual(&printed));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(std::fs::read_to_string(&log).unwrap_or_default())
    }

    /// Ends the shell and all that it has begun.
    fn kill(&self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    }

    fn usual(&self, text: &str) -> String {
        text.replace(&self.address, PORT)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = writeln!(self.input, "kill $(jobs -p) 2>/dev/null; wait; exit");
        let _ = self.child.wait();
    }
}

/// Whether `printed` is what is shown. `…` stands for any characters of a line, and alone on a
/// line for any lines. Blanks count as one, so that a table may be shown as a terminal does.
pub fn fits(shown: &str, printed: &str) -> bool {
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(plain).filter(|line| !line.is_empty()).collect()
    };
    lines_fit(&lines(shown), &lines(printed))
}

fn lines_fit(shown: &[String], printed: &[String]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        ([any, rest @ ..], _) if any == "…" => {
            (0..=printed.len()).any(|skipped| lines_fit(rest, &printed[skipped..]))
        }
        ([first, shown @ ..], [line, printed @ ..]) => {
            line_fits(first, line) && lines_fit(shown, printed)
        }
        _ => false,
    }
}

fn line_fits(shown: &str, line: &str) -> bool {
    let Some((begin, end)) = shown.split_once('…') else { return shown == line };
    let Some(mut rest) = line.strip_prefix(begin) else { return false };
    let (between, end) = end.rsplit_once('…').unwrap_or(("", end));
    for part in between.split('…') {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(end)
}

#[test]
fn placeholders_stand_for_what_changes() {
    for (shown, printed, fit) in [
        ("a\nb", "a\nb\n", true),
        ("a", "a\nb\n", false),
        ("a b", "a   b", true),
        ("k…", "key", true),
        ("k…y", "key", true),
        ("k…y", "keys", false),
        ("…s", "keys", true),
        ("key", "keys", false),
        ("…\nc", "a\nb\nc", true),
        ("a\n…", "a", true),
        ("…\nd", "a\nb\nc", false),
    ] {
        assert_eq!(fits(shown, printed), fit, "{shown:?} {printed:?}");
    }
}

#[test]
fn a_command_that_does_not_end_is_ended() {
    let mut shell = Shell::start();
    shell.patience = Duration::from_millis(300);
    assert_eq!(shell.run("echo a; sleep 1000").unwrap_err(), "not ended within 300ms: a\n");
    assert!(shell.run("echo b").is_err());
}
