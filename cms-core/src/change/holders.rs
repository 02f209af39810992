//! Which tasks of a program hold a change. One that holds a change and waits for another would
//! wait for itself: for ever on SQLite, which has one writer, and on PostgreSQL wherever both
//! change the same row.

use std::{
    panic::Location,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::ThreadId,
    time::{Duration, Instant},
};

use crate::{Code, Error, Result};

/// How long a task waits for its own other change: it may run beside, as with `join!`.
const LONGEST: Duration = Duration::from_secs(3);
/// Changes that were held for so long are named in the log.
const SLOW: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What runs a future: a task, or the thread that blocks on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl Runner {
    fn present() -> Self {
        tokio::task::try_id().map_or_else(|| Self::Thread(std::thread::current().id()), Self::Task)
    }
}

struct Held {
    number: u64,
    by: Runner,
    at: &'static Location<'static>,
}

/// The changes that programs hold of one site.
#[derive(Clone, Default)]
pub(crate) struct Holders(Arc<Mutex<(u64, Vec<Held>)>>);

impl Holders {
    /// Notes that a change begins at this place of the program.
    ///
    /// # Errors
    /// `conflict` when the task holds a change already.
    pub(crate) async fn admit(&self, at: &'static Location<'static>) -> Result<Holder> {
        let began = Instant::now();
        loop {
            let by = Runner::present();
            let other = {
                let mut all = self.all();
                let other = all.1.iter().find(|held| held.by == by).map(|held| held.at);
                if other.is_none() {
                    all.0 += 1;
                    let number = all.0;
                    all.1.push(Held { number, by, at });
                    let began = Instant::now();
                    return Ok(Holder { holders: self.clone(), number, by, at, began });
                }
                other
            };
            if let Some(other) = other
                && began.elapsed() >= LONGEST
            {
                let detail = format!(
                    "This task holds a change already, begun at {other}: commit or drop it before \
                     it begins another."
                );
                return Err(Error::new(Code::Conflict, detail));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn all(&self) -> MutexGuard<'_, (u64, Vec<Held>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One change of a program, until it is dropped.
pub(crate) struct Holder {
    holders: Holders,
    number: u64,
    by: Runner,
    at: &'static Location<'static>,
    began: Instant,
}

impl Holder {
    /// Notes which task uses the change now: it may have been handed to another.
    pub(crate) fn used(&mut self) {
        let by = Runner::present();
        if by != self.by {
            self.by = by;
            let mut all = self.holders.all();
            all.1.iter_mut().filter(|held| held.number == self.number).for_each(|one| one.by = by);
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.holders.all().1.retain(|held| held.number != self.number);
        let held = self.began.elapsed();
        if held >= SLOW {
            let (held_ms, at) = (held.as_millis(), self.at.to_string());
            tracing::warn!(held_ms, at, "a change was held for long: nobody else writes on SQLite");
        }
    }
}
