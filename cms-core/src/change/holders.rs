//! Which tasks of a program hold a change. On SQLite, which has one writer, a task that holds a
//! change and waits for another would wait for itself, for ever. On PostgreSQL it would wait where
//! both changes write one row.

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

/// How long a change must lie idle before its task counts as waiting for itself, and before the
/// log names the change. A change that runs beside another (`join!`) goes on within this time.
const IDLE: Duration = Duration::from_secs(3);
/// The same for a change whose last statement has not ended: its future was dropped, or it takes
/// long.
const SILENT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

tokio::task_local! {
    /// The call whose handler runs here. None inside `begin_watched`, which watches that wait
    /// already.
    static CALL: Option<Call>;
}

/// One call of a handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    number: u64,
    /// How many handlers of events led to what it writes.
    depth: i64,
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Call {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self { number: LAST.fetch_add(1, Ordering::Relaxed), depth: 0 }
    }

    pub(crate) fn at_depth(self, depth: i64) -> Self {
        Self { depth, ..self }
    }

    pub(crate) fn depth(self) -> i64 {
        self.depth
    }

    /// Runs the handler. Every change that begins meanwhile belongs to this call. A handler that
    /// runs within another belongs to the outer call, and is as deep as the deeper of both.
    pub(crate) fn run<F: Future>(self, handler: F) -> impl Future<Output = F::Output> {
        let call =
            Self::present().map_or(self, |outer| outer.at_depth(outer.depth.max(self.depth)));
        CALL.scope(Some(call), handler)
    }

    /// The call whose handler runs here.
    pub(crate) fn present() -> Option<Self> {
        CALL.try_with(|call| *call).ok().flatten()
    }
}

/// What a change belongs to: a task, or the thread that blocks on the change. In a handler it is
/// the call, because a server may answer several calls in one task.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ChangeOwner {
    Task(tokio::task::Id),
    Thread(ThreadId),
    Call(Call),
}

impl ChangeOwner {
    /// The call whose handler runs here; else `call`, in a task that the handler of `call`
    /// spawned; else the task or the thread.
    fn of(call: Option<Call>) -> Self {
        let task = tokio::task::try_id().map(Self::Task);
        let present = || task.unwrap_or_else(|| Self::Thread(std::thread::current().id()));
        Call::present().or(call).map_or_else(present, Self::Call)
    }
}

struct Held {
    number: u64,
    owner: ChangeOwner,
    at: &'static Location<'static>,
    /// Whether a statement runs under it.
    is_busy: bool,
    /// When the last statement began or ended.
    used: Instant,
}

#[derive(Default)]
struct State {
    last: u64,
    held: Vec<Held>,
}

/// The changes of one site that programs hold.
#[derive(Clone, Default)]
pub(crate) struct Holders(Arc<Mutex<State>>);

impl Holders {
    /// Waits for a change to begin. Fails when the waiter itself, the `call` of a handler or
    /// else the task, holds an idle change: it would wait for itself.
    ///
    /// # Errors
    /// Those of `begin`; `internal_error` when the waiter holds an idle change.
    pub(crate) async fn begin_watched<T>(
        &self,
        call: Option<Call>,
        begin: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let begin = CALL.scope(None, begin);
        let waits_for_itself = async {
            let mut is_told = false;
            loop {
                tokio::time::sleep(POLL_INTERVAL).await;
                match self.idle(ChangeOwner::of(call)) {
                    Some((at, true)) => return at,
                    // The other task may wait for this one, and a change that never ends logs
                    // nothing itself.
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
            at = waits_for_itself => Err(waits_for(at)),
        }
    }

    /// Where an idle change began, and whether it belongs to this task.
    fn idle(&self, owner: ChangeOwner) -> Option<(&'static Location<'static>, bool)> {
        let all = self.lock();
        let idle = all.held.iter().filter(|held| held.is_idle());
        idle.map(|held| (held.at, held.owner == owner)).max_by_key(|(_, is_own)| *is_own)
    }

    /// Records a change that has begun, and where the program began it.
    pub(crate) fn enter(&self, call: Option<Call>, at: &'static Location<'static>) -> Holder {
        let mut all = self.lock();
        all.last += 1;
        let number = all.last;
        let (owner, used) = (ChangeOwner::of(call), Instant::now());
        all.held.push(Held { number, owner, at, is_busy: false, used });
        Holder { holders: self.clone(), number }
    }

    /// A holder for a change that a call of a handler began without a place of its own.
    pub(crate) fn unlisted(&self) -> Holder {
        // Numbers begin with 1.
        Holder { holders: self.clone(), number: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn waits_for(at: &Location<'_>) -> Error {
    Error::internal(format!(
        "This task holds a change already, begun at {at}: commit or drop it before it begins \
         another."
    ))
}

/// One change of a program, until it is dropped.
pub(crate) struct Holder {
    holders: Holders,
    number: u64,
}

impl Holder {
    /// Records that a statement begins or ends, and in which task: the change may have been
    /// handed to another task.
    pub(crate) fn used(&self, is_busy: bool) {
        let mut all = self.holders.lock();
        let Some(held) = all.held.iter_mut().find(|held| held.number == self.number) else {
            return;
        };
        let owner = match held.owner {
            ChangeOwner::Call(call) => ChangeOwner::of(Some(call)),
            ChangeOwner::Task(_) | ChangeOwner::Thread(_) => ChangeOwner::of(None),
        };
        let before = Held { owner, is_busy, used: Instant::now(), ..*held };
        let before = std::mem::replace(held, before);
        drop(all);
        before.warn();
    }

    /// Whether the task or call of this change holds another one.
    pub(crate) fn has_other(&self) -> bool {
        self.other(|_| true).is_some()
    }

    /// The error of a statement. One that has waited for a row while its task or call holds another
    /// idle change names that change: nearly always it has the row.
    pub(crate) fn explained(&self, error: Error) -> Error {
        match error.is_lock_timeout().then(|| self.other(Held::is_idle)).flatten() {
            Some(at) => waits_for(at),
            None => error,
        }
    }

    /// Where another such change of the same task or call began.
    fn other(&self, is_such: impl Fn(&Held) -> bool) -> Option<&'static Location<'static>> {
        let all = self.holders.lock();
        let own = all.held.iter().find(|held| held.number == self.number);
        let owner = own.map_or_else(|| ChangeOwner::of(None), |held| held.owner);
        let mut others = all.held.iter().filter(|held| held.number != self.number);
        others.find(|held| held.owner == owner && is_such(held)).map(|held| held.at)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let mut all = self.holders.lock();
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

    /// Logs a change that lay idle: on SQLite nobody else could write meanwhile.
    fn warn(&self) {
        let idle = self.used.elapsed();
        if !self.is_busy && idle >= IDLE {
            let (idle_ms, at) = (idle.as_millis(), self.at.to_string());
            tracing::warn!(idle_ms, at, "a change was held without a statement");
        }
    }
}
