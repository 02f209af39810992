//! `cms process-webhooks` as a process, and signals to it.

use std::process::{Child, Command, Stdio};

use crate::{
    lab::{Lab, OPEN},
    support::process::command,
};

/// Killed when dropped.
pub struct Worker(Child);

impl Worker {
    pub fn start(lab: &Lab, time_limit: u32, variables: &[(&str, &str)]) -> Self {
        let mut command =
            command(&lab.database, &["process-webhooks", &format!("--time-limit={time_limit}")]);
        command
            .envs(OPEN)
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(command.spawn().expect("started"))
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("ended");
    }

    /// `STOP`, `CONT`, `TERM`.
    pub fn signal(&self, name: &str) {
        signal(self.0.id(), name);
    }

    /// Whether it has ended, and well.
    pub fn ended(&mut self) -> Option<bool> {
        self.0.try_wait().expect("a child").map(|status| status.success())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(sent.expect("kill runs").success(), "kill -{name} {pid}");
}

/// Resident memory, in KiB: the most that there ever was.
pub fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
