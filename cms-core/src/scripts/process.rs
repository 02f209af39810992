//! One run of a script in a process of its own, which ends together with all that it started.

use std::{
    io,
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, Command},
    signal::unix::{SignalKind, signal},
};

use super::launcher::{Plan, ScriptLauncher};

/// Bytes of the error output that are logged.
const COMPLAINTS: u64 = 4096;

/// How long a launcher may take to end what a script started.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The limits of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) time: Duration,
    /// Bytes of output.
    pub(super) output: usize,
}

/// A run that ended well.
pub(super) struct Ran {
    pub(super) output: Vec<u8>,
    /// The beginning of its error output.
    pub(super) complaints: String,
}

/// A run that failed.
pub(super) struct Fault {
    /// What the script did wrong, as the end of a sentence.
    pub(super) why: String,
    pub(super) complaints: String,
}

impl Fault {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), complaints: String::new() }
    }
}

/// Runs the interpreter on `file`, in the folder of `file`. Nothing of its process group survives
/// the run, even if this future is dropped.
pub(super) async fn run(
    interpreter: &Path,
    file: &Path,
    input: Vec<u8>,
    limits: Limits,
) -> Result<Ran, Fault> {
    let mut command = Command::new(interpreter);
    command.arg(file).current_dir(file.parent().unwrap_or(Path::new("/"))).kill_on_drop(true);
    finish(command, false, input, limits).await
}

/// Runs a launcher, which ends everything that the script started when the launcher's standard
/// input ends. That input also ends when this future is dropped or this process is killed.
pub(super) async fn run_launched(
    launcher: &ScriptLauncher,
    plan: &Plan,
    input: Vec<u8>,
    limits: Limits,
) -> Result<Ran, Fault> {
    let unnamed = |error| Fault::new(format!("cannot run: {error}"));
    let plan = serde_json::to_string(plan).map_err(unnamed)?;
    let mut command = Command::new(&launcher.program);
    command.args(&launcher.args).args(["supervise", &plan]).current_dir("/");
    finish(command, true, input, limits).await
}

/// Runs a command without a shell and with an empty environment. The input of a launcher
/// stays open.
async fn finish(
    mut command: Command,
    is_launcher: bool,
    input: Vec<u8>,
    limits: Limits,
) -> Result<Ran, Fault> {
    let mut child = command
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| Fault::new(format!("cannot run: {error}")))?;
    let group = (!is_launcher).then(|| Group::of(&child));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut complaints = Vec::new();
    let ended = {
        let ended = async {
            let unwaited = |error| Fault::new(format!("cannot be waited for: {error}"));
            if let Some(group) = &group {
                group.ended().await.map_err(unwaited)?;
                // Processes left behind must keep neither the pipes nor the machine busy.
                group.kill();
            }
            child.wait().await.map_err(unwaited)
        };
        let all = async {
            tokio::try_join!(
                ended,
                feed(stdin, &input, is_launcher),
                read(stdout, limits.output),
                listen(stderr, &mut complaints),
            )
        };
        tokio::time::timeout(limits.time, all).await
    };
    if is_launcher {
        // The futures above have ended, and with them its input.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, child.wait()).await;
    }
    let complaints = String::from_utf8_lossy(&complaints).into_owned();
    match ended {
        Ok(Ok((status, _, output, ()))) if status.success() => Ok(Ran { output, complaints }),
        Ok(Ok((status, ..))) => Err(Fault { why: format!("ended with {status}"), complaints }),
        Ok(Err(fault)) => Err(Fault { complaints, ..fault }),
        Err(_) => {
            let why = format!("took longer than {} s", limits.time.as_secs());
            Err(Fault { why, complaints })
        }
    }
}

/// Writes the input, which a script need not read. Returns what must stay open.
async fn feed(
    stdin: Option<ChildStdin>,
    input: &[u8],
    stays_open: bool,
) -> Result<Option<ChildStdin>, Fault> {
    let Some(mut stdin) = stdin else { return Ok(None) };
    let _ = stdin.write_all(input).await;
    Ok(stays_open.then_some(stdin))
}

/// Reads the output. More than `most` bytes are a fault.
async fn read(stdout: Option<impl AsyncRead + Unpin>, most: usize) -> Result<Vec<u8>, Fault> {
    let mut output = Vec::with_capacity(most.min(64 << 10));
    if let Some(stdout) = stdout {
        let mut stdout = stdout.take(most as u64 + 1);
        while stdout.read_buf(&mut output).await.map_err(|error| read_fault(&error))? > 0 {
            if output.len() == output.capacity() {
                // Doubles the capacity, but not beyond the limit, because several scripts run at
                // a time.
                output.reserve_exact(output.len().min(most.saturating_sub(output.len()) + 1));
            }
        }
    }
    if output.len() > most {
        return Err(Fault::new(format!("wrote more than {most} bytes")));
    }
    Ok(output)
}

/// Keeps the beginning of the error output and reads the rest, so that the script can continue.
async fn listen(stderr: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) -> Result<(), Fault> {
    let Some(mut stderr) = stderr else { return Ok(()) };
    let read = (&mut stderr).take(COMPLAINTS).read_to_end(kept).await;
    read.map_err(|error| read_fault(&error))?;
    let rest = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    rest.map(drop).map_err(|error| read_fault(&error))
}

fn read_fault(error: &io::Error) -> Fault {
    Fault::new(format!("cannot be read: {error}"))
}

/// A process and everything that it starts within its process group. Dropping kills them, unless
/// [`Group::kill`] did.
struct Group {
    leader: Option<Pid>,
    is_over: AtomicBool,
}

impl Group {
    /// The group that a child leads.
    fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { leader, is_over: AtomicBool::new(false) }
    }

    /// Waits for the end of the leader without reaping it: until it is reaped, its id cannot
    /// be reused.
    async fn ended(&self) -> io::Result<()> {
        let Some(leader) = self.leader else { return Ok(()) };
        let mut ends = signal(SignalKind::child())?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while waitid(WaitId::Pid(leader), look)?.is_none() {
            ends.recv().await;
        }
        Ok(())
    }

    /// Kills the rest of the group, once. Call this before the leader is reaped, because its id
    /// may be reused afterwards.
    fn kill(&self) {
        if let (Some(leader), false) = (self.leader, self.is_over.swap(true, Ordering::Relaxed)) {
            // An error means that no process is left, which is fine.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
