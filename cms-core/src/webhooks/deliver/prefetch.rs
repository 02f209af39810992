//! Claimed jobs that wait in this worker until an attempt of their lane ends. A busy lane pays one
//! claim and one settlement for about thirty deliveries, and still has only four attempts under
//! way.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    claimed::{ClaimedJob, Ended, LANE_ATTEMPTS, Moment},
    sql::queue::Lane,
};
use crate::Millis;

/// Jobs of a fast lane that one worker holds at most.
const AHEAD: i64 = 32;
/// An attempt that succeeds within this time, in milliseconds, shows that its lane is fast: 32
/// jobs, four at a time, then begin within `PREFETCH_TIMEOUT_MS` of their claim.
const FAST_MS: Millis = 100;

/// The jobs that a worker holds, by lane.
#[derive(Default)]
pub(in crate::webhooks) struct Prefetch {
    lanes: HashMap<i64, LaneJobs>,
    /// Lanes with a fast success since the last claim.
    fast: HashSet<i64>,
    /// Jobs to return to the queue untried.
    back: Vec<ClaimedJob>,
}

#[derive(Default)]
struct LaneJobs {
    under_way: i64,
    waiting: VecDeque<ClaimedJob>,
}

impl Prefetch {
    /// Number of waiting jobs.
    pub(in crate::webhooks) fn waiting(&self) -> usize {
        self.lanes.values().map(|held| held.waiting.len()).sum()
    }

    /// How many more jobs of a lane may be claimed. A fast lane held only by this worker may have
    /// [`AHEAD`] jobs, any other lane `most`, a failing lane one.
    pub(in crate::webhooks) fn limit(&self, lane: &Lane, most: i64) -> i64 {
        let held =
            self.lanes.get(&lane.id).map_or(0, |held| held.under_way + held.waiting.len() as i64);
        let is_fast = held == lane.sending && self.fast.contains(&lane.id);
        let most = match lane.failing {
            true => 1,
            false if is_fast && most == LANE_ATTEMPTS => AHEAD,
            false => most,
        };
        most - lane.sending
    }

    /// Takes over claimed jobs. Returns those that begin at once.
    pub(in crate::webhooks) fn add(&mut self, jobs: Vec<ClaimedJob>) -> Vec<ClaimedJob> {
        self.fast.clear();
        let mut first = Vec::new();
        for claimed in jobs {
            let held = self.lanes.entry(claimed.subscription).or_default();
            if held.under_way < LANE_ATTEMPTS {
                held.under_way += 1;
                first.push(claimed);
            } else {
                held.waiting.push_back(claimed);
            }
        }
        first
    }

    /// The next job of a lane, if it may begin now.
    pub(in crate::webhooks) fn next(&mut self, lane: i64, moment: Moment) -> Option<ClaimedJob> {
        let held = self.lanes.get_mut(&lane).filter(|held| held.under_way < LANE_ATTEMPTS)?;
        let claimed = held.waiting.pop_front_if(|claimed| moment.suits(claimed))?;
        held.under_way += 1;
        Some(claimed)
    }

    /// Notes the end of an attempt. A failure sends the waiting jobs of its lane back: none may
    /// begin before the failure is settled.
    pub(in crate::webhooks) fn end(&mut self, ended: &Ended, now: Millis) {
        let lane = ended.subscription;
        let Some(held) = self.lanes.get_mut(&lane) else { return };
        held.under_way -= 1;
        if !ended.attempt.is_success() {
            self.back.extend(held.waiting.drain(..));
        } else if (0..=FAST_MS).contains(&(now - ended.begun)) {
            self.fast.insert(lane);
        }
    }

    /// Marks waiting jobs that must return to the queue at this moment. `None` marks all of them:
    /// the worker stops.
    pub(in crate::webhooks) fn withdraw(&mut self, moment: Option<Moment>) {
        for held in self.lanes.values_mut() {
            if !held
                .waiting
                .iter()
                .all(|claimed| moment.is_some_and(|moment| moment.suits(claimed)))
            {
                self.back.extend(held.waiting.drain(..));
            }
        }
        self.lanes.retain(|_, held| held.under_way > 0 || !held.waiting.is_empty());
    }

    /// The jobs to return, sorted by lane.
    pub(in crate::webhooks) fn back(&self) -> &[ClaimedJob] {
        &self.back
    }

    /// The jobs in [`Prefetch::back`] were returned.
    pub(in crate::webhooks) fn given_back(&mut self) {
        self.back.clear();
    }
}
