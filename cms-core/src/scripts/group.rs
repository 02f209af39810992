//! A process and all that it starts, as far as they stay in its group.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// Kills the group when dropped.
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group that a child leads.
    pub(super) fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// Kills all that is left of the group.
    pub(super) fn kill(&self) {
        if let Some(leader) = self.0 {
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
