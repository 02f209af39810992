//! The processes under load: the release binary on a site of 10,000 rows, and the baseline.

use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use crate::database::TestDatabase;

/// Ties a process to a core; without `taskset` both sides share all cores, and the figures mean
/// less.
pub fn pin(pid: u32, core: u8) {
    let pinned = Command::new("taskset")
        .args(["-a", "-p", "-c", &core.to_string(), &pid.to_string()])
        .stdout(Stdio::null())
        .status();
    if !pinned.is_ok_and(|status| status.success()) {
        println!("taskset is missing: client and server are not on separate cores");
    }
}

fn pinned(program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0", program]);
    command
}

pub struct Running {
    child: Child,
    pub address: SocketAddr,
}

impl Running {
    fn new(mut child: Child, lines: impl std::io::Read + Send + 'static) -> Self {
        let mut lines = BufReader::new(lines).lines();
        let address = loop {
            let line = lines.next().expect("the server is ready some time").expect("a line");
            if let Some(address) = line.strip_prefix("ready ") {
                break address.trim_start_matches("http://").parse().expect("an address");
            }
        };
        // Nothing may block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        assert!(child.try_wait().expect("a child").is_none());
        Self { child, address }
    }

    /// What all its threads have computed so far. Other work on the machine makes the rates of both
    /// servers smaller, and this hardly larger.
    pub fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let nanos = tasks.into_iter().flatten().flatten().filter_map(|task| {
            let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            stat.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanos.sum())
    }

    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Bare {
    pub running: Running,
    _file: tempfile::NamedTempFile,
}

impl Bare {
    pub fn start(reply: &[u8]) -> Self {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(reply).expect("written");
        let me = std::env::current_exe().expect("a path");
        let mut command = pinned(me.to_str().expect("a path"));
        command.arg("bare-server").arg(file.path()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let lines = child.stdout.take().expect("a pipe");
        let running = Running::new(child, lines);
        Self { running, _file: file }
    }
}

pub struct Site {
    database: TestDatabase,
    binary: PathBuf,
    pub key: String,
}

/// The release binary of this build.
pub fn binary() -> PathBuf {
    let me = std::env::current_exe().expect("a path");
    me.parent().and_then(|deps| deps.parent()).expect("a folder").join("cms")
}

impl Site {
    pub fn new(binary: PathBuf, database: TestDatabase) -> Self {
        assert!(
            binary.is_file(),
            "{} is missing: cargo build --release -p cms-cli",
            binary.display()
        );
        let bytes = std::fs::metadata(&binary).expect("a file").len();
        println!("binary: {:.1} MiB", bytes as f64 / 1_048_576.0);
        let mut site = Self { database, binary, key: String::new() };
        let kind = |n: u32| if n.is_multiple_of(3) { "integer" } else { "text" };
        let column = |n: u32| json!({"name": format!("c{n}"), "type": kind(n)});
        let columns: Vec<_> = (1..=9).map(column).collect();
        let plugin = json!({"id": "load", "tables": [{"name": "things", "columns": columns}]});
        let plugins = site.database.folder().join("plugins/load");
        std::fs::create_dir_all(&plugins).expect("a folder");
        std::fs::write(plugins.join("plugin.json"), plugin.to_string()).expect("written");
        site.run(&["init", "-q"], "");
        let row = |n: u32| {
            let value = |c: u32| match kind(c) {
                "integer" => json!(n * c),
                _ => json!(format!("value {c} of row {n} ").repeat(5)),
            };
            let cells: Json = (1..=9).map(|c| (format!("c{c}"), value(c))).collect();
            format!("{cells}\n")
        };
        let rows: String = (1..=10_000).map(row).collect();
        site.run(&["items", "import", "things", "-", "--format", "jsonl", "-q"], &rows);
        let page = json!({"title": "Home", "url_rewrite": "/", "view": "home", "published": true,
                          "meta_description": "word ".repeat(150)});
        site.run(&["items", "create", "pages", "-"], &page.to_string());
        let key = site.run(&["keys", "create", "-q", "--name", "load", "--right", "*"], "");
        site.key = key.trim().to_owned();
        site
    }

    /// The command on this site.
    fn of_site(&self, mut command: Command) -> Command {
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CMS_")) {
            command.env_remove(name);
        }
        command.envs(self.database.url.as_ref().map(|url| ("CMS_DATABASE_URL", url)));
        command.arg("--dir").arg(self.database.folder());
        command
    }

    fn run(&self, arguments: &[&str], input: &str) -> String {
        let mut command = self.of_site(Command::new(&self.binary));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("started");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("written");
        let output = child.wait_with_output().expect("ended");
        assert!(output.status.success(), "cms {arguments:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    pub fn serve(&self, variables: &[(&str, &str)]) -> Running {
        let mut command = self.of_site(pinned(self.binary.to_str().expect("a path")));
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command.envs(variables.iter().copied()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let lines = child.stderr.take().expect("a pipe");
        Running::new(child, lines)
    }

    pub fn time_to_ready(&self) -> Duration {
        let mut times = [(); 5].map(|()| {
            let began = Instant::now();
            drop(self.serve(&[]));
            began.elapsed()
        });
        times.sort_unstable();
        times[2]
    }
}
