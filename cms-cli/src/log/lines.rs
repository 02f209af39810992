//! Lines for standard error, written without blocking anybody: a bounded queue, and one thread
//! that empties it.
//!
//! A full disk and a slow or missing reader cost lines, never work. Lost lines are counted, and
//! the count is written with the next line.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    os::fd::AsFd,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tracing_subscriber::fmt::MakeWriter;

/// Bytes that may wait; further lines are lost.
const ROOM: usize = 256 << 10;
/// Pause before the next attempt at a terminal or pipe that takes nothing now.
const PAUSE: Duration = Duration::from_millis(20);

/// The queue. Clones share it.
#[derive(Clone)]
pub(super) struct Lines(Arc<Queue>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    lost: u64,
    /// Whether the last write failed.
    broken: bool,
    /// Whether lines were taken out and are not written yet.
    writing: bool,
}

impl Lines {
    /// Starts the thread. `confess` makes the line that says how many lines were lost.
    pub(super) fn start(confess: impl Fn(u64) -> String + Send + 'static) -> Self {
        let lines = Self(Arc::default());
        let (own, error) = (lines.clone(), io::stderr());
        // A duplicate handle: a blocked writer may hold the lock of the usual one.
        let begun = error.as_fd().try_clone_to_owned().and_then(|fd| {
            let thread = std::thread::Builder::new().name("log".to_owned());
            thread.spawn(move || own.0.empty(&mut File::from(fd), confess))
        });
        if let Err(error) = begun {
            lines.send(format!("the log cannot be written: {error}\n").into_bytes());
        }
        lines
    }

    /// Queues a line, or loses it when there is no room.
    pub(super) fn send(&self, line: Vec<u8>) {
        let mut state = self.0.lock();
        if state.bytes + line.len() > ROOM {
            state.lost += 1;
            return;
        }
        state.bytes += line.len();
        state.waiting.push_back(line);
        self.0.changed.notify_all();
    }

    /// Waits until everything is written, at most for `limit`.
    pub(super) fn wait(&self, limit: Duration) {
        let state = self.0.lock();
        let busy = |state: &mut State| state.writing || state.has_news();
        drop(self.0.changed.wait_timeout_while(state, limit, busy));
    }
}

impl State {
    /// Whether there is something to write. After a failed write, lost lines alone are not enough.
    fn has_news(&self) -> bool {
        !self.waiting.is_empty() || (self.lost > 0 && !self.broken)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes lines for ever.
    fn empty(&self, out: &mut impl Write, confess: impl Fn(u64) -> String) {
        loop {
            let state = self.lock();
            let idle = |state: &mut State| !state.has_news();
            let mut state =
                self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
            let (lines, lost) = (std::mem::take(&mut state.waiting), state.lost);
            (state.bytes, state.writing) = (0, true);
            drop(state);
            let mut text = Vec::new();
            if lost > 0 {
                text.extend_from_slice(format!("{}\n", confess(lost)).as_bytes());
            }
            lines.iter().for_each(|line| text.extend_from_slice(line));
            let written = write(out, &text);
            let mut state = self.lock();
            match written {
                Ok(()) => state.lost -= lost,
                Err(_) => state.lost += lines.len() as u64,
            }
            (state.writing, state.broken) = (false, written.is_err());
            self.changed.notify_all();
        }
    }
}

/// As `write_all`, but also for a descriptor that does not block.
fn write(out: &mut impl Write, mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        match out.write(text) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => text = &text[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Takes what the subscriber has formatted: one call is one line.
pub(super) struct Line(Lines);

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.send(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails the first writes, then keeps what comes.
    struct Broken(u32, Arc<Mutex<Vec<u8>>>);

    impl Write for Broken {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            if self.0 > 0 {
                self.0 -= 1;
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.1.lock().expect("not poisoned").extend_from_slice(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lost_lines_are_counted_and_told() {
        let (lines, kept) = (Lines(Arc::default()), Arc::default());
        // One too many for the room.
        for _ in 0..=ROOM / 1024 {
            lines.send(vec![b'x'; 1024]);
        }
        let (own, mut out) = (lines.clone(), Broken(1, Arc::clone(&kept)));
        std::thread::spawn(move || own.0.empty(&mut out, |lost| format!("{lost} lost")));
        lines.wait(Duration::from_secs(5));
        lines.send(b"here again\n".to_vec());
        lines.wait(Duration::from_secs(5));
        // A loss is reported even without a further line.
        lines.0.lock().lost = 7;
        lines.0.changed.notify_all();
        lines.wait(Duration::from_secs(5));
        let text = String::from_utf8(kept.lock().expect("not poisoned").clone()).expect("text");
        let expected = format!("{} lost\nhere again\n7 lost\n", ROOM / 1024 + 1);
        assert_eq!(text, expected);
    }
}
