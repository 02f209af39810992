//! Jobs that are claimed and wait in this worker until one of their lane has ended: a busy lane
//! pays one claim and one settlement for many deliveries, and still has few attempts under way.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    sql::queue::Lane,
    task::{Ended, Moment, ROOM, Task},
};
use crate::Millis;

/// Jobs of a brisk lane that one worker holds at most.
const AHEAD: i64 = 32;
/// A success that is there no later than this after the attempt began shows that its lane is brisk:
/// what is claimed ahead of it begins within [`PATIENCE_MS`].
const BRISK_MS: Millis = 100;

/// What a worker holds of each lane.
#[derive(Default)]
pub(in crate::webhooks) struct Ahead {
    lanes: HashMap<i64, Held>,
    /// Lanes that were brisk since the last claim.
    brisk: HashSet<i64>,
    /// Jobs that will not begin here.
    back: Vec<Task>,
}

#[derive(Default)]
struct Held {
    under_way: i64,
    waiting: VecDeque<Task>,
}

impl Ahead {
    /// Jobs that wait.
    pub(in crate::webhooks) fn waiting(&self) -> usize {
        self.lanes.values().map(|held| held.waiting.len()).sum()
    }

    /// How many jobs of a lane may be claimed: of a brisk one of which all are here many, of others
    /// as many as may be under way, which is `most`, or one after a failure.
    pub(in crate::webhooks) fn room(&self, lane: &Lane, most: i64) -> i64 {
        let held =
            self.lanes.get(&lane.id).map_or(0, |held| held.under_way + held.waiting.len() as i64);
        let is_brisk = held == lane.sending && self.brisk.contains(&lane.id);
        let most = match lane.failing {
            true => 1,
            false if is_brisk && most == ROOM => AHEAD,
            false => most,
        };
        most - lane.sending
    }

    /// Takes what was claimed. Returns what begins at once.
    pub(in crate::webhooks) fn add(&mut self, tasks: Vec<Task>) -> Vec<Task> {
        self.brisk.clear();
        let mut first = Vec::new();
        for task in tasks {
            let held = self.lanes.entry(task.subscription).or_default();
            if held.under_way < ROOM {
                held.under_way += 1;
                first.push(task);
            } else {
                held.waiting.push_back(task);
            }
        }
        first
    }

    /// The next job of a lane in which an attempt has ended.
    pub(in crate::webhooks) fn next(&mut self, lane: i64, moment: Moment) -> Option<Task> {
        let held = self.lanes.get_mut(&lane).filter(|held| held.under_way < ROOM)?;
        let task = held.waiting.pop_front_if(|task| moment.suits(task))?;
        held.under_way += 1;
        Some(task)
    }

    /// An attempt has ended. After a failure nothing of its lane begins before that is written
    /// down.
    pub(in crate::webhooks) fn end(&mut self, ended: &Ended, now: Millis) {
        let lane = ended.subscription;
        let Some(held) = self.lanes.get_mut(&lane) else { return };
        held.under_way -= 1;
        if !ended.attempt.is_success() {
            self.back.extend(held.waiting.drain(..));
        } else if (0..=BRISK_MS).contains(&(now - ended.begun)) {
            self.brisk.insert(lane);
        }
    }

    /// Takes out what has to be given back at this moment; None: at the stop, all that waits.
    pub(in crate::webhooks) fn withdraw(&mut self, moment: Option<Moment>) {
        for held in self.lanes.values_mut() {
            if !held.waiting.iter().all(|task| moment.is_some_and(|moment| moment.suits(task))) {
                self.back.extend(held.waiting.drain(..));
            }
        }
        self.lanes.retain(|_, held| held.under_way > 0 || !held.waiting.is_empty());
    }

    /// What was taken out, lane by lane.
    pub(in crate::webhooks) fn back(&self) -> &[Task] {
        &self.back
    }

    /// That is written down.
    pub(in crate::webhooks) fn given_back(&mut self) {
        self.back.clear();
    }
}
