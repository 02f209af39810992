//! What the queue must be: rows and lanes in memory.

use std::collections::BTreeMap;

/// Retries of the two subscriptions: one gives up early.
pub const MAX_RETRIES: [i64; 2] = [5, 1];
const LEASE: i64 = 30_000;
const SPACING: i64 = 1000;
/// Attempts of a lane at once; jobs that a worker holds of a fast one.
const ROOM: usize = 4;
const AHEAD: usize = 32;
const FAST: i64 = 100;
const PREFETCH_TIMEOUT: i64 = 1000;
const WAITS: [i64; 5] = [30_000, 120_000, 480_000, 1_920_000, 7_200_000];

/// What the queue must be.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub now: i64,
    pub jobs: BTreeMap<i64, Job>,
    pub lanes: [Lane; 2],
    /// How often subscriptions have changed.
    pub epoch: i64,
    /// Until when an old secret signs too.
    pub graces: [i64; 2],
    pub workers: [Holding; 2],
}

/// What a worker has claimed.
#[derive(Clone, Debug, Default)]
pub struct Holding {
    /// Attempts that have ended, and are not written down.
    pub begun: Vec<Held>,
    pub waiting: Vec<Held>,
    /// Whether what began was received well.
    pub good: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Held {
    lane: usize,
    id: i64,
    token: i64,
    /// When it was claimed; of an attempt, when it began.
    at: i64,
    epoch: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub lane: usize,
    pub status: &'static str,
    pub due: i64,
    pub retries: i64,
    pub lease: i64,
    pub token: i64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    pub off: bool,
    pub failures: i64,
    pub not_before: i64,
}

impl Held {
    /// Whether it may begin.
    fn suits(&self, now: i64, epoch: i64) -> bool {
        self.epoch == epoch && (0..=PREFETCH_TIMEOUT).contains(&(now - self.at))
    }
}

impl Model {
    pub fn nth(&self, index: &proptest::sample::Index) -> Option<i64> {
        (!self.jobs.is_empty())
            .then(|| *self.jobs.keys().nth(index.index(self.jobs.len())).unwrap())
    }

    fn waits(&self, id: i64) -> bool {
        self.jobs.get(&id).is_some_and(|job| ["pending", "retry"].contains(&job.status))
    }

    /// The database gives the ids.
    pub fn enqueue(&mut self, ids: [i64; 2]) {
        for (lane, id) in ids.into_iter().enumerate() {
            let status = if self.lanes[lane].off { "held" } else { "pending" };
            self.jobs
                .insert(id, Job { lane, status, due: self.now, retries: 0, lease: 0, token: 0 });
        }
    }

    pub fn cancel(&mut self, id: i64) -> bool {
        let open =
            self.jobs.get_mut(&id).filter(|job| ["pending", "retry", "held"].contains(&job.status));
        open.map(|job| job.status = "cancelled").is_some()
    }

    pub fn retry(&mut self, id: i64) -> bool {
        let (waits, now) = (self.waits(id), self.now);
        self.jobs.get_mut(&id).filter(|_| waits).map(|job| job.due = job.due.min(now)).is_some()
    }

    /// A grace is refused while that of an older secret lasts.
    pub fn rotate(&mut self, lane: usize, grace_s: i64) -> bool {
        if grace_s > 0 && self.graces[lane] > self.now {
            return false;
        }
        self.graces[lane] = if grace_s > 0 { self.now + grace_s * 1000 } else { 0 };
        self.epoch += 1;
        true
    }

    pub fn purge(&mut self, status: &str) {
        self.jobs.retain(|_, job| job.status != status);
    }

    /// A worker writes down what has ended, gives back what it does not begin, claims, and begins
    /// attempts, in this order.
    pub fn turn(&mut self, worker: usize, good: bool) {
        let Holding { begun: ended, mut waiting, good: was_good } =
            std::mem::take(&mut self.workers[worker]);
        let (now, epoch) = (self.now, self.epoch);
        let mut begun = Vec::new();
        let mut fast = [false; 2];
        for held in &ended {
            if !was_good {
                continue;
            }
            fast[held.lane] |= (0..=FAST).contains(&(now - held.at));
            let next = waiting.iter().position(|other| other.lane == held.lane);
            if let Some(next) = next.filter(|next| waiting[*next].suits(now, epoch)) {
                begun.push(Held { at: now, ..waiting.remove(next) });
            }
        }
        let failed = |lane| !was_good && ended.iter().any(|held| held.lane == lane);
        let unfit: Vec<_> = (0..2)
            .filter(|lane| {
                failed(*lane)
                    || waiting.iter().any(|held| held.lane == *lane && !held.suits(now, epoch))
            })
            .collect();
        let back: Vec<_> = waiting.extract_if(.., |held| unfit.contains(&held.lane)).collect();
        self.settle(&ended, was_good);
        self.give_back(&back);
        for (lane, fast) in fast.into_iter().enumerate() {
            let mine = begun.iter().chain(&waiting).filter(|held| held.lane == lane).count();
            let here = begun.iter().filter(|held| held.lane == lane).count();
            let claimed = self.claim(lane, fast, mine);
            let first = claimed.len().min(ROOM.saturating_sub(here));
            begun.extend(claimed[..first].iter().map(|held| Held { epoch, ..*held }));
            waiting.extend(claimed[first..].iter().map(|held| Held { epoch, ..*held }));
        }
        self.workers[worker] = Holding { begun, waiting, good };
    }

    /// It is asked to stop.
    pub fn finish(&mut self, worker: usize) {
        let Holding { begun, waiting, good } = std::mem::take(&mut self.workers[worker]);
        self.settle(&begun, good);
        self.give_back(&waiting);
    }

    /// Leases that are over end.
    fn reclaim(&mut self) {
        let now = self.now;
        for job in self.jobs.values_mut().filter(|job| job.status == "sending") {
            if job.lease <= now || job.lease > now + 2 * LEASE {
                job.status = if self.lanes[job.lane].off { "held" } else { "retry" };
            }
        }
    }

    /// `mine`: what this worker holds of the lane already.
    fn claim(&mut self, lane: usize, fast: bool, mine: usize) -> Vec<Held> {
        self.reclaim();
        let now = self.now;
        let Lane { off, failures, not_before } = self.lanes[lane];
        let busy =
            self.jobs.values().filter(|job| job.lane == lane && job.status == "sending").count();
        let most = if failures > 0 { 1 } else { ROOM };
        if off || busy >= most || (not_before > now && not_before <= now + 2 * LEASE) {
            return Vec::new();
        }
        let most = if failures == 0 && fast && mine == busy { AHEAD } else { most };
        let waiting =
            |id: &i64| self.waits(*id) && self.jobs[id].lane == lane && self.jobs[id].due <= now;
        let mut due: Vec<_> = self.jobs.keys().copied().filter(waiting).collect();
        due.sort_by_key(|id| (self.jobs[id].due, *id));
        due.truncate(most - busy);
        due.sort_unstable();
        let mut claimed = Vec::new();
        for id in due {
            let job = self.jobs.get_mut(&id).unwrap();
            (job.status, job.lease, job.token) = ("sending", now + LEASE, job.token + 1);
            claimed.push(Held { lane, id, token: job.token, at: now, epoch: 0 });
        }
        claimed
    }

    fn give_back(&mut self, back: &[Held]) {
        for held in back {
            let off = self.lanes[held.lane].off;
            let ours = |job: &&mut Job| job.status == "sending" && job.token == held.token;
            if let Some(job) = self.jobs.get_mut(&held.id).filter(ours) {
                job.status = if off {
                    "held"
                } else if job.retries > 0 {
                    "retry"
                } else {
                    "pending"
                };
            }
        }
    }

    fn settle(&mut self, ended: &[Held], good: bool) {
        let mut ended = ended.to_vec();
        ended.sort_by_key(|held| (held.lane, held.id));
        for Held { id, token, .. } in ended {
            // A success counts also when the lease is over, as long as nobody else has claimed the
            // job.
            let open: &[_] = if good { &["sending", "retry", "held"] } else { &["sending"] };
            let ours = |job: &&mut Job| open.contains(&job.status) && job.token == token;
            let Some(job) = self.jobs.get_mut(&id).filter(ours) else { continue };
            let lane = &mut self.lanes[job.lane];
            if good {
                (lane.failures, lane.not_before) =
                    if lane.failures > 0 { (0, 0) } else { (0, lane.not_before) };
                job.status = "delivered";
                continue;
            }
            lane.failures += 1;
            lane.not_before = self.now + SPACING;
            if job.retries >= MAX_RETRIES[job.lane] {
                job.status = "failed";
            } else {
                job.status = if lane.off { "held" } else { "retry" };
                job.due = self.now + WAITS[usize::try_from(job.retries).unwrap().min(4)];
                job.retries += 1;
            }
            let (number, opens) = (job.lane, !lane.off && lane.failures >= 10);
            if opens {
                self.disable(number);
            }
        }
    }

    pub fn disable(&mut self, lane: usize) {
        self.epoch += 1;
        self.lanes[lane].off = true;
        for job in self
            .jobs
            .values_mut()
            .filter(|job| job.lane == lane && ["pending", "retry"].contains(&job.status))
        {
            job.status = "held";
        }
    }

    pub fn reactivate(&mut self, lane: usize, replay: bool) {
        self.epoch += 1;
        self.lanes[lane] = Lane::default();
        for job in self.jobs.values_mut().filter(|job| job.lane == lane && job.status == "held") {
            match replay {
                true => {
                    (job.status, job.due) =
                        (if job.retries > 0 { "retry" } else { "pending" }, self.now)
                }
                false => job.status = "cancelled",
            }
        }
    }
}
