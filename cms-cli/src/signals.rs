//! SIGTERM, Ctrl-C and SIGHUP, for commands that run until they are asked to end.

use std::{fs, io};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output::Done;

/// The signals that ask a command to end. Once this is open, none of them ends the
/// process by itself.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Counts only as the first signal, because a terminal that closes may send several.
    hangup: Option<Signal>,
}

impl Signals {
    pub(crate) fn open() -> io::Result<Self> {
        let (terminate, interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let hangup = match ignores_hangup() {
            true => None,
            false => Some(signal(SignalKind::hangup())?),
        };
        // A peer that has gone must not end the process, not even after a refused exec has undone
        // Rust's own setting.
        drop(signal(SignalKind::pipe())?);
        Ok(Self { terminate, interrupt, hangup })
    }

    /// Waits for the next signal. Cancel-safe.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = received(self.hangup.as_mut()) => {}
        }
        self.hangup = None;
    }
}

/// Waits for a signal; forever if there is none.
async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether the process was started to survive its terminal, for example by nohup. Catching SIGHUP
/// would undo that.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status).is_none_or(|mask| mask & 1 != 0)
}

/// The ignored signals in the text of `/proc/self/status`, signal 1 in the lowest bit.
fn ignored(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Runs until the work ends or a signal comes. A signal is no failure.
pub(crate) async fn until_signal(work: impl Future<Output = Done>) -> Done {
    let mut signals = Signals::open()?;
    tokio::select! {
        () = signals.next() => Ok(()),
        outcome = work => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        assert_eq!(ignored("Name:\tcms\nSigIgn:\t0000000000001001\n"), Some(0x1001));
        assert_eq!(ignored("Name:\tcms\n"), None);
    }
}
