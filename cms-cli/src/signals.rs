//! SIGTERM and Ctrl-C, for commands that go on until they are told to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output::Done;

/// The signals that tell a command to end. Once opened, they never end the process by
/// themselves again.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn open() -> io::Result<Self> {
        let (terminate, interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        // A peer that is gone must not end the process, also where a refused exec has undone what
        // Rust sets at the start.
        drop(signal(SignalKind::pipe())?);
        Ok(Self { terminate, interrupt })
    }

    /// The next of them. Cancel-safe.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Goes on until the work ends or a signal comes, which is no failure.
pub(crate) async fn until_told(work: impl Future<Output = Done>) -> Done {
    let mut signals = Signals::open()?;
    tokio::select! {
        () = signals.next() => Ok(()),
        outcome = work => outcome,
    }
}
