//! A process and all that it starts, as far as they stay in its group.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    process::Child,
    signal::unix::{SignalKind, signal},
};

/// Kills the group when dropped, unless [`Group::kill`] did.
pub(super) struct Group {
    leader: Option<Pid>,
    is_over: AtomicBool,
}

impl Group {
    /// The group that a child leads.
    pub(super) fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { leader, is_over: AtomicBool::new(false) }
    }

    /// Waits for the end of the leader, and leaves it to be reaped: until then nobody else can have
    /// its id.
    pub(super) async fn ended(&self) -> io::Result<()> {
        let Some(leader) = self.leader else { return Ok(()) };
        let mut ends = signal(SignalKind::child())?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while waitid(WaitId::Pid(leader), look)?.is_none() {
            ends.recv().await;
        }
        Ok(())
    }

    /// Kills all that is left of the group, once. Comes before the leader is reaped: later its id
    /// may be another's.
    pub(super) fn kill(&self) {
        if let (Some(leader), false) = (self.leader, self.is_over.swap(true, Ordering::Relaxed)) {
            // Nobody is left: that is as good.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
