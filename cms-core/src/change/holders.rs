//! Which tasks of a program hold a change. On SQLite, which has one writer, a task that holds a
//! change and waits for another would wait for itself, for ever.

use std::{
    panic::Location,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::ThreadId,
    time::{Duration, Instant},
};

use crate::{Error, Result};

/// For how long a change lies idle before its task is thought to wait for itself, and before the
/// log names it. One that runs beside another, as with `join!`, goes on meanwhile.
const IDLE: Duration = Duration::from_secs(3);
/// The same for one whose last statement was not seen to end: its future was dropped, or it takes
/// long.
const SILENT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

tokio::task_local! {
    /// The call whose handler runs. None: its wait for a change is watched already.
    static CALL: Option<Call>;
}

/// One call of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call(u64);

impl Call {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }

    /// Runs the handler. All changes that begin meanwhile are of this call, whoever begins them; a
    /// handler that runs within another is a part of its call.
    pub(crate) fn run<F: Future>(self, handler: F) -> impl Future<Output = F::Output> {
        CALL.scope(Some(Self::present().unwrap_or(self)), handler)
    }

    /// The one whose handler runs here.
    pub(crate) fn present() -> Option<Self> {
        CALL.try_with(|call| *call).ok().flatten()
    }
}

/// What a change belongs to: a task, or the thread that blocks on it. Of handlers it is the call:
/// a server may answer several in one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    Task(tokio::task::Id),
    Thread(ThreadId),
    Call(Call),
}

impl Runner {
    /// The call whose handler runs here; in a task that it spawned, `call`; else the task or the
    /// thread.
    fn of(call: Option<Call>) -> Self {
        let task = tokio::task::try_id().map(Self::Task);
        let present = || task.unwrap_or_else(|| Self::Thread(std::thread::current().id()));
        Call::present().or(call).map_or_else(present, Self::Call)
    }
}

struct Held {
    number: u64,
    by: Runner,
    at: &'static Location<'static>,
    /// Whether a statement runs under it.
    is_busy: bool,
    /// When the last one began or ended.
    used: Instant,
}

#[derive(Default)]
struct All {
    last: u64,
    held: Vec<Held>,
}

/// The changes that programs hold of one site.
#[derive(Clone, Default)]
pub(crate) struct Holders(Arc<Mutex<All>>);

impl Holders {
    /// Waits for a change to begin, as long as the call of a handler (`by`), else the task, does
    /// not wait for itself.
    ///
    /// # Errors
    /// Those of `begin`; `internal_error` when it holds a change that lies idle.
    pub(crate) async fn admit<T>(
        &self,
        by: Option<Call>,
        begin: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let begin = CALL.scope(None, begin);
        let waits_for_itself = async {
            let mut is_told = false;
            loop {
                tokio::time::sleep(POLL_INTERVAL).await;
                match self.idle(Runner::of(by)) {
                    Some((at, true)) => return at,
                    // It may wait for this task; and whoever never ends has no line of its own.
                    Some((at, false)) if !is_told => {
                        is_told = true;
                        tracing::warn!(%at, "a change waits for one held without a statement");
                    }
                    _ => {}
                }
            }
        };
        tokio::select! {
            biased;
            begun = begin => begun,
            at = waits_for_itself => {
                let detail = format!(
                    "This task holds a change already, begun at {at}: commit or drop it before it \
                     begins another."
                );
                Err(Error::internal(detail))
            }
        }
    }

    /// Where an idle change began, and whether it is this task's.
    fn idle(&self, by: Runner) -> Option<(&'static Location<'static>, bool)> {
        let all = self.all();
        let idle = all.held.iter().filter(|held| held.is_idle());
        idle.map(|held| (held.at, held.by == by)).max_by_key(|(_, is_own)| *is_own)
    }

    /// Notes a change that has begun, and the place of the program that began it.
    pub(crate) fn enter(&self, by: Option<Call>, at: &'static Location<'static>) -> Holder {
        let mut all = self.all();
        all.last += 1;
        let number = all.last;
        let (by, used) = (Runner::of(by), Instant::now());
        all.held.push(Held { number, by, at, is_busy: false, used });
        Holder { holders: self.clone(), number }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One change of a program, until it is dropped.
pub(crate) struct Holder {
    holders: Holders,
    number: u64,
}

impl Holder {
    /// Notes that a statement begins or ends, and in which task: the change may have been handed
    /// to another.
    pub(crate) fn used(&self, is_busy: bool) {
        let mut all = self.holders.all();
        let Some(held) = all.held.iter_mut().find(|held| held.number == self.number) else {
            return;
        };
        let by = match held.by {
            Runner::Call(call) => Runner::of(Some(call)),
            Runner::Task(_) | Runner::Thread(_) => Runner::of(None),
        };
        let before = Held { by, is_busy, used: Instant::now(), ..*held };
        let before = std::mem::replace(held, before);
        drop(all);
        before.warn();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let mut all = self.holders.all();
        let place = all.held.iter().position(|held| held.number == self.number);
        let held = place.map(|place| all.held.swap_remove(place));
        drop(all);
        if let Some(held) = held {
            held.warn();
        }
    }
}

impl Held {
    fn is_idle(&self) -> bool {
        self.used.elapsed() >= if self.is_busy { SILENT } else { IDLE }
    }

    /// Names a change that lay idle: nobody else could write on SQLite.
    fn warn(&self) {
        let idle = self.used.elapsed();
        if !self.is_busy && idle >= IDLE {
            let (idle_ms, at) = (idle.as_millis(), self.at.to_string());
            tracing::warn!(idle_ms, at, "a change was held without a statement");
        }
    }
}
