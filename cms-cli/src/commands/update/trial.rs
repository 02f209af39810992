//! The old version tries the new one, which never judges itself. The new one must run, know the
//! site's database, become ready and stay alive.

use std::{
    collections::VecDeque,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    process::{Child, Command},
    time::{Instant, timeout, timeout_at},
};

use super::program::reached;
use crate::{
    environment,
    output::{Done, Exit, Failure},
};

/// The argument that turns this program into the launcher of a trial.
pub(crate) const LAUNCH: &str = "__trial";
/// The longest time to print the version, and the longest time to check the database.
const VERSION_TIMEOUT: Duration = Duration::from_secs(15);
const DATABASE_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time to become ready: a version that does not start is given up within a minute.
const READY_TIMEOUT: Duration = Duration::from_secs(40);
/// How long the version must stay alive after it is ready.
const ALIVE: Duration = Duration::from_secs(3);
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// The most output that is read, in bytes.
const MAX_OUTPUT: u64 = 256 << 10;
/// Lines of output shown after a failed start.
const SHOWN_LINES: usize = 5;

/// A version of this program, tried on a site.
pub(super) struct Trial {
    program: PathBuf,
    site: PathBuf,
}

impl Trial {
    pub(super) fn new(program: &Path, site: &Path) -> Self {
        Self { program: program.to_owned(), site: site.to_owned() }
    }

    /// A command of `cms` of that version, with the settings of this process. It ends when this
    /// process ends.
    fn command(&self, args: &[&str]) -> Command {
        #[cfg(target_os = "linux")]
        let mut command = {
            let mut command = Command::new("/proc/self/exe");
            command.arg(LAUNCH).arg(std::process::id().to_string()).arg(&self.program);
            command
        };
        #[cfg(not(target_os = "linux"))]
        let mut command = Command::new(&self.program);
        command.args(args).arg("--dir").arg(&self.site).kill_on_drop(true);
        environment::hand_on(command.as_std_mut());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The output, if the command succeeds within the time.
    async fn output(&self, args: &[&str], limit: Option<Duration>) -> Result<String, String> {
        let mut child = self.command(args).spawn().map_err(|e| e.to_string())?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let run = async {
            let (out, err) = tokio::join!(bounded(out), bounded(err));
            (out, err, child.wait().await)
        };
        let (out, err, status) = match limit {
            None => run.await,
            Some(limit) => timeout(limit, run)
                .await
                .map_err(|_| format!("it does not end within {} s", limit.as_secs()))?,
        };
        match status {
            Ok(status) if status.success() => Ok(out),
            Ok(status) => {
                let lines: Vec<_> = err.lines().collect();
                let last = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n  ");
                Err(format!("{status}\n  {last}"))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// The number of the version.
    pub(super) async fn version(&self) -> Done<String> {
        let said = self.output(&["version"], Some(VERSION_TIMEOUT)).await;
        let said = said.map_err(|why| failed("does not run on this machine", &why))?;
        Ok(said.trim().strip_prefix("cms ").unwrap_or(said.trim()).to_owned())
    }

    /// How many steps of the schema the version would apply.
    pub(super) async fn pending(&self) -> Done<u64> {
        let said = self.output(&["migrate", "status", "--json"], Some(DATABASE_TIMEOUT)).await;
        let said = said.map_err(|why| failed("cannot use the site's database", &why))?;
        let steps: Json = serde_json::from_str(&said)
            .map_err(|e| failed("does not list the steps of the schema", &e.to_string()))?;
        let steps = steps["data"].as_array().into_iter().flatten();
        Ok(steps.filter(|step| step["applied"] == false).count() as u64)
    }

    /// Applies the version's steps of the schema, however long that takes.
    pub(super) async fn migrate(&self) -> Done {
        let said = self.output(&["migrate", "up", "--json"], None).await;
        said.map(drop).map_err(|why| failed("cannot change the database", &why))
    }

    /// Makes a backup of the site that the version can restore.
    pub(super) async fn backup(&self, file: &Path) -> Result<(), String> {
        self.output(&["db", "backup", "--plain", &file.display().to_string()], None).await.map(drop)
    }

    /// Restores a backup in place of what the site holds.
    pub(super) async fn restore(&self, file: &Path) -> Result<(), String> {
        let file = file.display().to_string();
        self.output(&["db", "restore", &file, "--yes"], None).await.map(drop)
    }

    /// Serves the site on a free port beside the present server: the version must become ready
    /// and stay alive for a while.
    pub(super) async fn serve(&self) -> Done {
        let args = ["serve", "--listen", "127.0.0.1:0", "--no-worker", "--no-scheduler"];
        let mut child = self.command(&args).spawn().map_err(|e| failed(START, &e.to_string()))?;
        let served = serves(&mut child).await;
        stop(&mut child).await;
        served.map_err(|why| failed(START, &why))
    }
}

const START: &str = "does not start";

fn failed(what: &str, why: &str) -> Failure {
    Failure::new(Exit::Failed, format!("the version {what}: {why}"))
}

async fn bounded(from: Option<impl AsyncRead + Unpin>) -> String {
    let mut text = Vec::new();
    if let Some(from) = from {
        let _ = from.take(MAX_OUTPUT).read_to_end(&mut text).await;
    }
    String::from_utf8_lossy(&text).into_owned()
}

async fn serves(child: &mut Child) -> Result<(), String> {
    let until = Instant::now() + READY_TIMEOUT;
    let late = |_| format!("it is not ready within {} s", READY_TIMEOUT.as_secs());
    let Some(errors) = child.stderr.take() else { return Err("it says nothing".to_owned()) };
    let mut lines = BufReader::new(errors.take(MAX_OUTPUT)).lines();
    let mut last = VecDeque::new();
    let url = loop {
        let line = timeout_at(until, lines.next_line()).await.map_err(late)?;
        let Ok(Some(line)) = line else {
            let status = timeout_at(until, child.wait()).await.map_err(late)?;
            let status = status.map_or_else(|error| error.to_string(), |s| s.to_string());
            return Err(format!("{status}\n  {}", Vec::from(last).join("\n  ")));
        };
        match line.strip_prefix("ready ") {
            Some(url) => break url.to_owned(),
            None => {
                last.push_back(line);
                last.drain(..last.len().saturating_sub(SHOWN_LINES));
            }
        }
    };
    reached("trying");
    let http = cms_http::client::transport().map_err(|e| e.to_string())?;
    let http =
        http.no_proxy().timeout(Duration::from_secs(5)).build().map_err(|e| e.to_string())?;
    let ready = async || {
        let reply = http.get(format!("{url}/readyz")).send().await.map_err(|e| e.to_string())?;
        match reply.status().as_u16() {
            200 => Ok(()),
            status => Err(format!("/readyz answers {status}")),
        }
    };
    while let Err(why) = ready().await {
        if Instant::now() > until {
            return Err(why);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // Keep reading the output: a full pipe could block the version.
    let drained = async { while let Ok(Some(_)) = lines.next_line().await {} };
    let ended = async {
        tokio::join!(drained, tokio::time::sleep(ALIVE)).1;
    };
    tokio::select! {
        status = child.wait() => {
            let status = status.map_or_else(|error| error.to_string(), |s| s.to_string());
            return Err(format!("it became ready and ended: {status}"));
        }
        _ = timeout(ALIVE, ended) => {}
    }
    ready().await
}

/// Asks the process to end, and kills it if it does not.
async fn stop(child: &mut Child) {
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process(pid, Signal::TERM);
    }
    if timeout(STOP_TIMEOUT, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

/// Replaces this process by a program. `args`: the id of the process that tries the program, the
/// program, and its arguments. When the trying process dies, this one does too.
pub(crate) fn launch(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    use std::os::unix::process::CommandExt;
    let (parent, program) = (args.next(), args.next());
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getppid, set_parent_process_death_signal};
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        let id = getppid().map(|id| id.as_raw_nonzero().to_string());
        if id.map(OsString::from) != parent {
            return Exit::Failed.into();
        }
    }
    #[cfg(not(target_os = "linux"))]
    drop(parent);
    let error = std::process::Command::new(program.unwrap_or_default()).args(args).exec();
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{error}\n"));
    Exit::Failed.into()
}
