//! The first step of the launcher: starts the second step and outlives everything that comes
//! of it.
//!
//! Orphans of the script become children of this process (`PR_SET_CHILD_SUBREAPER`), whatever
//! groups and sessions they are in. Everything is killed when the script ends, and when standard
//! input ends, because the service has closed it or died.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, ChildStdin, Command, ExitCode, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group,
    set_child_subreaper, waitid,
};

use super::launcher::{Plan, complain};

/// Interval between checks for remaining processes.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Number of checks after which this process gives up: 10 s.
const MOST_LOOKS: usize = 5000;

pub(super) fn supervise(mut plan: Plan) -> ExitCode {
    // If this fails, orphans go to init, and only the group can be killed.
    let _ = set_child_subreaper(Some(getpid()));
    // If this fails, the script has no folder for temporary files.
    let temporary = tempfile::Builder::new().prefix("cms-script-").tempdir().ok();
    plan.temporary = temporary.as_ref().map(|folder| folder.path().to_owned());
    plan.supervisor = Some(std::process::id());
    let mut child = match start(&plan) {
        Ok(child) => child,
        Err(error) => {
            complain(&format!("no process can be started: {error}"));
            return ExitCode::from(126);
        }
    };
    let stdin = child.stdin.take();
    let leader = Pid::from_child(&child);
    let length = plan.input;
    let reaped = Arc::new(Mutex::new(false));
    let is_reaped = reaped.clone();
    thread::spawn(move || {
        listen(stdin, length);
        loop {
            match *is_reaped.lock().unwrap_or_else(PoisonError::into_inner) {
                true => kill_children(),
                false => kill(leader),
            }
            thread::sleep(POLL_INTERVAL);
        }
    });
    let status = end(&mut child, leader, &reaped);
    drop(temporary);
    match status {
        Ok(status) => as_status(status),
        Err(error) => {
            complain(&format!("the script cannot be waited for: {error}"));
            ExitCode::from(126)
        }
    }
}

/// Starts this program again for the second step, in a group of its own.
fn start(plan: &Plan) -> std::io::Result<Child> {
    let folder = plan.file.parent().unwrap_or(&plan.plugin);
    Command::new("/proc/self/exe")
        .args(&plan.args)
        .arg("become")
        .arg(serde_json::to_string(plan)?)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
}

/// Passes on the input. Returns when the service ends the run, or is gone.
fn listen(stdin: Option<ChildStdin>, length: usize) {
    let mut own = std::io::stdin().lock();
    let mut input = vec![0; length];
    if own.read_exact(&mut input).is_err() {
        return;
    }
    // Written in another thread, so that this one notices the end even if the script does
    // not read.
    thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let _ = own.read(&mut [0]);
}

/// Waits for the script, then kills remaining processes until none is left.
fn end(child: &mut Child, leader: Pid, reaped: &Mutex<bool>) -> std::io::Result<ExitStatus> {
    // Not reaped yet: until then the id of its group cannot be reused.
    while let Err(error) =
        waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {
        if error != rustix::io::Errno::INTR {
            return Err(error.into());
        }
    }
    kill(leader);
    // From here on the id of its group may be reused.
    let mut is_reaped = reaped.lock().unwrap_or_else(PoisonError::into_inner);
    *is_reaped = true;
    let status = child.wait();
    drop(is_reaped);
    for _ in 0..MOST_LOOKS {
        match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => {
                kill_children();
                thread::sleep(POLL_INTERVAL);
            }
            // No child is left.
            Err(_) => break,
        }
    }
    status
}

/// Kills the group of the script, and all children of this process.
fn kill(leader: Pid) {
    let _ = kill_process_group(leader, Signal::KILL);
    kill_children();
}

/// Kills the children, including orphans of the script. Their own children then become
/// orphans too.
fn kill_children() {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    for task in tasks {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for id in children.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?)) {
            let _ = kill_process(id, Signal::KILL);
        }
    }
}

/// Ends like the script: with its code or by its signal.
fn as_status(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = kill_process(getpid(), signal);
            // Some signals do not kill this process.
            thread::sleep(POLL_INTERVAL);
        }
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
