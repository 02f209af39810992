//! `cms process-webhooks` as a process, and signals to it.

use std::process::{Child, Stdio};

use crate::{
    lab::{Lab, OPEN},
    support::process::{command, signal},
};

/// Killed when dropped.
pub struct Worker(Child);

impl Worker {
    pub fn start(lab: &Lab, time_limit: u32, variables: &[(&str, &str)]) -> Self {
        let mut command =
            command(&lab.database, &["process-webhooks", &format!("--time-limit={time_limit}")]);
        command.envs(OPEN).envs(variables.iter().copied());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("started"))
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("ended");
    }

    /// `-STOP`, `-CONT`, `-TERM`.
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
