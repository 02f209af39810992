//! The rate of calls to a remote site. It follows what the limiter reports, so that calls
//! are not refused.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use cms_http::client::RateLimit;
use tokio::time::Instant;

/// The smallest default bucket of a service, a key's. It is assumed until a reply tells the size.
const SMALLEST: f64 = 60.0;
/// An empty bucket is full again after a minute.
const FULL_S: f64 = 60.0;
/// A little slower than the bucket fills, as a factor.
const CAREFUL: f64 = 0.96;
/// The share of the bucket that is left to other programs of the same caller.
const OTHERS: f64 = 0.1;

/// Refusals halve the rate, down to this share; good replies raise it again.
const SLOWEST: f64 = 0.05;
/// The factor by which a good reply raises a lowered rate.
const FASTER: f64 = 1.02;

/// Decides which call is next: writes before reads, otherwise in order.
pub(super) struct Turns {
    pace: Mutex<Pace>,
    reads: tokio::sync::Mutex<()>,
    writes: tokio::sync::Mutex<()>,
    /// Writes that wait.
    writing: AtomicUsize,
}

/// The permission to make a call. Dropping it without an answer means that the call was broken off.
pub(super) struct Turn<'a>(&'a Turns);

/// A write that waits.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Turns {
    pub(super) fn new(now: Instant) -> Self {
        let (reads, writes, writing) = Default::default();
        Self { pace: Mutex::new(Pace::new(now)), reads, writes, writing }
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the limiter has a token for this call.
    pub(super) async fn take(
        &self,
        is_write: bool,
        wait: &impl AsyncFn(Duration),
        now: &impl Fn() -> Instant,
    ) -> Turn<'_> {
        let _waiting = is_write.then(|| {
            self.writing.fetch_add(1, Ordering::Relaxed);
            Waiting(&self.writing)
        });
        let _place = if is_write { &self.writes } else { &self.reads }.lock().await;
        loop {
            let before = if is_write { 0 } else { self.writing.load(Ordering::Relaxed) };
            let taken = self.pace().take(before, now());
            match taken {
                Ok(()) => return Turn(self),
                Err(pause) => wait(pause).await,
            }
        }
    }
}

impl Turn<'_> {
    /// The call was answered; `said` is what the reply told about the bucket. None: nothing.
    pub(super) fn answered(self, said: Option<Option<RateLimit>>, now: Instant) {
        let turns = self.0;
        drop(self);
        turns.pace().answered(said, now);
    }

    /// The call was refused for so many seconds.
    pub(super) fn refused(self, seconds: u64, now: Instant) {
        self.0.pace().refused(seconds, now);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut pace = self.0.pace();
        pace.under_way = pace.under_way.saturating_sub(1);
    }
}

/// A local copy of the limiter's bucket, corrected by each reply.
struct Pace {
    tokens: f64,
    at: Instant,
    /// None: not known yet.
    limit: Option<u32>,
    /// The site limits nothing.
    is_free: bool,
    /// Calls that are sent and not answered yet.
    under_way: u32,
    /// After a refusal: no call before this time.
    not_before: Instant,
    /// The present share of the full rate; 1 without refusals.
    ease: f64,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self {
            tokens: SMALLEST / 2.0,
            at: now,
            limit: None,
            is_free: false,
            under_way: 0,
            not_before: now,
            ease: 1.0,
        }
    }

    /// Takes a token if one is left beside those of `before` other calls; otherwise returns
    /// how long to wait.
    fn take(&mut self, before: usize, now: Instant) -> Result<(), Duration> {
        let rest = self.not_before.saturating_duration_since(now);
        if !rest.is_zero() {
            return Err(rest);
        }
        if !self.is_free || self.ease < 1.0 {
            self.fill(now);
            let missing = 1.0 + before as f64 - self.tokens;
            if missing > 1e-6 {
                return Err(Duration::from_secs_f64(missing / self.per_second()));
            }
            self.tokens -= 1.0;
        }
        self.under_way += 1;
        Ok(())
    }

    fn per_second(&self) -> f64 {
        let limit = self.limit.map_or(SMALLEST, f64::from);
        (limit / FULL_S * CAREFUL * self.ease).max(0.01)
    }

    fn fill(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        let most = self.limit.map_or(SMALLEST, f64::from) * (1.0 - OTHERS);
        self.tokens = (self.tokens + since * self.per_second()).min(most);
        self.at = now.max(self.at);
    }

    fn answered(&mut self, said: Option<Option<RateLimit>>, now: Instant) {
        let Some(said) = said else { return };
        self.fill(now);
        self.ease = (self.ease * FASTER).min(1.0);
        self.is_free = said.is_none();
        let Some(RateLimit { limit, remaining }) = said else { return };
        let left = f64::from(remaining) - f64::from(self.under_way) - f64::from(limit) * OTHERS;
        let is_new = self.limit.replace(limit) != Some(limit);
        self.tokens = if is_new { left } else { self.tokens.min(left) };
    }

    fn refused(&mut self, seconds: u64, now: Instant) {
        self.fill(now);
        self.tokens = self.tokens.min(0.0);
        self.ease = (self.ease / 2.0).max(SLOWEST);
        self.not_before = self.not_before.max(now + Duration::from_secs(seconds));
        // The bucket does not fill meanwhile, because other callers wait for it too.
        self.at = self.not_before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for a token. Returns when it has come.
    fn take(pace: &mut Pace, mut now: Instant) -> Instant {
        while let Err(pause) = pace.take(0, now) {
            now += pause;
        }
        now
    }

    fn answered(pace: &mut Pace, said: Option<RateLimit>, now: Instant) {
        pace.under_way -= 1;
        pace.answered(Some(said), now);
    }

    /// 600 calls as fast as they may go.
    #[test]
    fn six_hundred_calls_take_no_token_that_is_not_there() {
        for (size, fill, most_s) in [(60.0, 1.0, 620), (100.0, 1.67, 370), (250.0, 4.17, 120)] {
            let start = Instant::now();
            let (mut pace, mut now) = (Pace::new(start), start);
            let (mut bucket, mut at): (f64, _) = (size, start);
            for n in 0..600 {
                now = take(&mut pace, now);
                bucket = (bucket + (now - at).as_secs_f64() * fill).min(size) - 1.0;
                at = now;
                assert!(bucket >= 0.0, "call {n} of {size} would be refused");
                let (limit, remaining) = (size as u32, bucket as u32);
                answered(&mut pace, Some(RateLimit { limit, remaining }), now);
            }
            assert!((now - start).as_secs() < most_s, "{size}: {:?}", now - start);
        }
    }

    #[test]
    fn what_another_program_took_is_not_taken() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        let said = |remaining| Some(RateLimit { limit: 60, remaining });
        assert_eq!(pace.take(0, now), Ok(()));
        answered(&mut pace, said(59), now);
        assert_eq!(pace.take(0, now), Ok(()));
        answered(&mut pace, said(5), now);
        assert!(pace.take(0, now).is_err_and(|pause| pause > Duration::from_secs(1)));
    }

    #[test]
    fn a_site_without_a_limiter_is_asked_at_once() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        assert_eq!(pace.take(0, now), Ok(()));
        answered(&mut pace, None, now);
        assert!((0..1_000).all(|_| pace.take(0, now).is_ok()));
    }

    /// A proxy in front of the site refuses, and says nothing of what is left.
    #[test]
    fn a_refusal_lowers_the_pace() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        assert_eq!(pace.take(0, now), Ok(()));
        answered(&mut pace, None, now);
        assert_eq!(pace.take(0, now), Ok(()));
        pace.refused(7, now);
        assert_eq!(pace.take(0, now), Err(Duration::from_secs(7)), "nothing comes before");
        let refused = now;
        for _ in 0..5 {
            now = take(&mut pace, now);
            answered(&mut pace, None, now);
        }
        let took = (now - refused).as_secs();
        assert!((13..20).contains(&took), "half of one a second, not all at once: {took} s");
        // It is as fast as before when all goes well.
        for _ in 0..40 {
            now = take(&mut pace, now);
            answered(&mut pace, None, now);
        }
        assert!((0..1_000).all(|_| pace.take(0, now).is_ok()));
    }

    /// Turns whose bucket is empty, and a clock that moves by 10 ms with each look at it.
    fn empty() -> (Turns, impl Fn() -> Instant) {
        let (begun, looks) = (Instant::now(), AtomicUsize::new(0));
        let turns = Turns::new(begun);
        turns.pace().tokens = 0.0;
        let clock = move || {
            let looks = looks.fetch_add(1, Ordering::Relaxed) as u64;
            begun + Duration::from_millis(10 * looks)
        };
        (turns, clock)
    }

    async fn wait(_: Duration) {
        tokio::task::yield_now().await;
    }

    #[tokio::test]
    async fn writes_go_before_reads_that_wait_longer() {
        let ((turns, clock), order) = (empty(), Mutex::new(Vec::new()));
        let call = async |name: &'static str, is_write| {
            drop(turns.take(is_write, &wait, &clock).await);
            order.lock().expect("a lock").push(name);
        };
        tokio::join!(
            call("read 1", false),
            call("read 2", false),
            call("write 1", true),
            call("write 2", true),
        );
        let order = order.into_inner().expect("a lock");
        assert_eq!(order, ["write 1", "write 2", "read 1", "read 2"]);
    }

    #[tokio::test]
    async fn a_read_that_is_broken_off_takes_nothing() {
        let (turns, clock) = empty();
        let begun = clock();
        for _ in 0..10 {
            tokio::select! {
                biased;
                _ = turns.take(false, &wait, &clock) => panic!("there is no token"),
                () = tokio::task::yield_now() => {}
            }
        }
        drop(turns.take(false, &wait, &clock).await);
        let took = clock() - begun;
        assert!(took < Duration::from_millis(1_200), "{took:?}");
        assert_eq!(turns.pace().under_way, 0);
    }
}
