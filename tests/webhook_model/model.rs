//! What the queue must be: rows and lanes in memory.

use std::collections::BTreeMap;

/// Retries of the two subscriptions: one gives up early.
pub const MAX_RETRIES: [i64; 2] = [5, 1];
const LEASE: i64 = 30_000;
const SPACING: i64 = 1000;
const WAITS: [i64; 5] = [30_000, 120_000, 480_000, 1_920_000, 7_200_000];

/// What the queue must be.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub now: i64,
    pub jobs: BTreeMap<i64, Job>,
    pub lanes: [Lane; 2],
    /// What each worker has claimed: job and token.
    pub claimed: [Vec<(i64, i64)>; 2],
    /// And whether that was received well.
    pub good: [bool; 2],
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

impl Model {
    pub fn nth(&self, index: &proptest::sample::Index) -> Option<i64> {
        (!self.jobs.is_empty()).then(|| *self.jobs.keys().nth(index.index(self.jobs.len())).unwrap())
    }

    fn waits(&self, id: i64) -> bool {
        self.jobs.get(&id).is_some_and(|job| ["pending", "retry"].contains(&job.status))
    }

    /// The database gives the ids.
    pub fn enqueue(&mut self, ids: [i64; 2]) {
        for (lane, id) in ids.into_iter().enumerate() {
            let status = if self.lanes[lane].off { "held" } else { "pending" };
            self.jobs.insert(id, Job { lane, status, due: self.now, retries: 0, lease: 0, token: 0 });
        }
    }

    pub fn cancel(&mut self, id: i64) -> bool {
        let open = self.jobs.get_mut(&id).filter(|job| ["pending", "retry", "held"].contains(&job.status));
        open.map(|job| job.status = "cancelled").is_some()
    }

    pub fn retry(&mut self, id: i64) -> bool {
        let (waits, now) = (self.waits(id), self.now);
        self.jobs.get_mut(&id).filter(|_| waits).map(|job| job.due = now).is_some()
    }

    pub fn purge(&mut self, status: &str) {
        self.jobs.retain(|_, job| job.status != status);
    }

    pub fn claim(&mut self, worker: usize, good: bool) {
        self.good[worker] = good;
        let now = self.now;
        for job in self.jobs.values_mut().filter(|job| job.status == "sending") {
            if job.lease <= now || job.lease > now + 2 * LEASE {
                job.status = if self.lanes[job.lane].off { "held" } else { "retry" };
            }
        }
        for lane in 0..2 {
            let Lane { off, failures, not_before } = self.lanes[lane];
            let busy = self.jobs.values().filter(|job| job.lane == lane && job.status == "sending").count();
            let room = if failures > 0 { 1_usize } else { 4 }.saturating_sub(busy);
            if off || (not_before > now && not_before <= now + 2 * LEASE) {
                continue;
            }
            let waiting = |id: &i64| self.waits(*id) && self.jobs[id].lane == lane && self.jobs[id].due <= now;
            let mut due: Vec<_> = self.jobs.keys().copied().filter(waiting).collect();
            due.sort_by_key(|id| (self.jobs[id].due, *id));
            for id in due.into_iter().take(room) {
                let job = self.jobs.get_mut(&id).unwrap();
                (job.status, job.lease, job.token) = ("sending", now + LEASE, job.token + 1);
                self.claimed[worker].push((id, job.token));
            }
        }
    }

    pub fn finish(&mut self, worker: usize) {
        let good = self.good[worker];
        for (id, token) in std::mem::take(&mut self.claimed[worker]) {
            // A success counts also when the lease is over, as long as nobody else has claimed the job.
            let open: &[_] = if good { &["sending", "retry", "held"] } else { &["sending"] };
            let ours = |job: &&mut Job| open.contains(&job.status) && job.token == token;
            let Some(job) = self.jobs.get_mut(&id).filter(ours) else { continue };
            let lane = &mut self.lanes[job.lane];
            if good {
                (lane.failures, lane.not_before) = if lane.failures > 0 { (0, 0) } else { (0, lane.not_before) };
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
        self.lanes[lane].off = true;
        for job in self.jobs.values_mut().filter(|job| job.lane == lane && ["pending", "retry"].contains(&job.status)) {
            job.status = "held";
        }
    }

    pub fn reactivate(&mut self, lane: usize, replay: bool) {
        self.lanes[lane] = Lane::default();
        for job in self.jobs.values_mut().filter(|job| job.lane == lane && job.status == "held") {
            match replay {
                true => (job.status, job.due) = (if job.retries > 0 { "retry" } else { "pending" }, self.now),
                false => job.status = "cancelled",
            }
        }
    }
}
