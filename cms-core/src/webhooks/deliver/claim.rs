//! Claims jobs for the time of a lease, and returns jobs whose attempt did not begin. Claimed jobs
//! wait here until an attempt of their lane ends; the memory of their bodies is bounded.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    ptr,
    sync::{Arc, Weak},
};

use zeroize::Zeroizing;

use super::{
    batch,
    queue::{self, Claimed, End, Event, LARGE, LEASE_MS, Lane},
};
use crate::{
    Change, Millis, Result, Secret,
    base::Base,
    outbound::Attempt,
    webhooks::{
        sign::WebhookSecret,
        subscriptions::{
            saving::{header_context, secret_context},
            sql as subscriptions,
        },
    },
};

/// Maximum number of lanes in one claim.
const LANES: i64 = 256;

/// Claims up to `free` jobs and up to `limit` of each lane, the least recently served lane first.
/// Jobs whose bodies have no `room` stay in the queue. The caller holds the lock on claims.
pub(super) async fn claim(
    base: &Base,
    change: &mut Change,
    (free, room): (usize, usize),
    epoch: i64,
    most: i64,
    limit: impl Fn(&Lane) -> i64,
) -> Result<Vec<ClaimedJob>> {
    let moment = Moment { now: change.now(), epoch };
    let mut left = i64::try_from(free).unwrap_or(i64::MAX);
    let returned = queue::reclaim(change).await?;
    if returned > 0 {
        tracing::warn!(returned, "jobs whose worker died or was too slow are due again");
    }
    let lanes = queue::lanes(change, LANES.min(left), most).await?;
    // Every lane gets one job before any lane gets many.
    let share = left / i64::try_from(lanes.len().max(1)).unwrap_or(1);
    let mut limits = Vec::with_capacity(lanes.len());
    for lane in &lanes {
        let limit = limit(lane).min(share.max(1)).min(left);
        left -= limit;
        limits.push((lane.id, limit));
    }
    // Lock order, as everywhere: subscriptions, then their jobs.
    batch::serve(change, &limits).await?;
    let mut by_lane = batch::claim(change, &limits, moment.now + LEASE_MS, room).await?;
    let mut claimed = Vec::new();
    for lane in lanes {
        let subscription = lane.id;
        let jobs = by_lane.remove(&subscription).unwrap_or_default();
        let target = open(base, lane).map(Arc::new).map_err(|error| Arc::from(error.with_cause()));
        let (unread, jobs): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.event.unread);
        for job in unread {
            queue::settle(change, &job, End::Returned, true, None).await?;
        }
        claimed.extend(jobs.into_iter().map(|job| ClaimedJob {
            target: target.clone(),
            subscription,
            job,
            moment,
        }));
    }
    Ok(claimed)
}

/// Returns jobs whose attempt did not begin. They wait as before, or are held if their
/// subscription is now off. The caller holds the lock on claims.
pub(super) async fn give_back(change: &mut Change, claimed: &[ClaimedJob]) -> Result<()> {
    for lane in claimed.chunk_by(|a, b| a.subscription == b.subscription) {
        let active = subscriptions::lock(change, lane[0].subscription)
            .await?
            .is_some_and(|subscription| subscription.active);
        for claimed in lane {
            queue::settle(change, &claimed.job, End::Returned, active, None).await?;
        }
    }
    Ok(())
}

/// Decrypts the secrets of a lane.
pub(super) fn open(base: &Base, lane: Lane) -> Result<Target> {
    let open = |context: &str, sealed: &str| -> Result<Zeroizing<String>> {
        let bytes = base.vault().open(context, sealed)?;
        Ok(String::from_utf8(bytes).map_err(crate::Error::internal)?.into())
    };
    let secret = |sealed: &str| -> Result<WebhookSecret> {
        let text = open(&secret_context(lane.id), sealed)?;
        WebhookSecret::parse(&Secret::new(text.as_str()))
            .ok_or_else(|| crate::Error::internal("a stored webhook secret is malformed"))
    };
    let headers = subscriptions::headers(&lane.custom_headers)?.into_iter();
    let headers = headers
        .map(|(name, sealed)| open(&header_context(lane.id), &sealed).map(|value| (name, value)));
    let old = lane.old_secret.as_ref().filter(|(_, until)| *until > base.clock().now());
    Ok(Target {
        secret: secret(&lane.secret)?,
        old_secret: old
            .map(|(sealed, until)| Ok::<_, crate::Error>((secret(sealed)?, *until)))
            .transpose()?,
        custom_headers: headers.collect::<Result<_>>()?,
        url: lane.url,
    })
}

/// Attempts under way at one subscription. Four, because all of them may fail at once. After that
/// a lane makes one attempt a second, so the ten failures that switch a subscription off take at
/// least six seconds.
pub(super) const LANE_ATTEMPTS: i64 = 4;

/// A subscription with its secrets decrypted.
pub(super) struct Target {
    pub(super) url: String,
    pub(super) secret: WebhookSecret,
    pub(super) old_secret: Option<(WebhookSecret, i64)>,
    pub(super) custom_headers: Vec<(String, Zeroizing<String>)>,
}

/// A claimed job to attempt.
#[derive(Clone)]
pub(super) struct ClaimedJob {
    /// `Err` when the secret or a header cannot be decrypted, so nothing can be signed.
    pub(super) target: Result<Arc<Target>, Arc<str>>,
    pub(super) subscription: i64,
    pub(super) job: Claimed,
    pub(super) moment: Moment,
}

/// A job that waits longer returns to the queue, because it takes a slot and an attempt may need
/// 25 of the 30 s of its lease.
const PREFETCH_TIMEOUT_MS: Millis = 1_000;

/// The moment of a claim. A waiting job may begin only while this is recent and no subscription has
/// changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) now: Millis,
    /// The epoch of the subscriptions. After a change the job's address may differ, or its
    /// subscription may be gone.
    pub(super) epoch: i64,
}

impl Moment {
    fn suits(self, claimed: &ClaimedJob) -> bool {
        self.epoch == claimed.moment.epoch
            && (0..=PREFETCH_TIMEOUT_MS).contains(&(self.now - claimed.moment.now))
    }
}

/// A finished attempt that is not settled yet.
pub(super) struct Ended {
    pub(super) subscription: i64,
    pub(super) job: Claimed,
    pub(super) attempt: Attempt,
    pub(super) begun: Millis,
    /// The slot of a quick attempt. Settling frees the slot, so that a worker that dies leaves few
    /// deliveries to be sent twice.
    pub(super) slot: Option<Arc<()>>,
    /// Milliseconds for which the lane rests, after an attempt that failed on this machine.
    pub(super) rest: Option<i64>,
}

/// Jobs of a fast lane that one worker holds at most.
const AHEAD: i64 = 32;
/// An attempt that succeeds within this time, in milliseconds, shows that its lane is fast: 32
/// jobs, four at a time, then begin within `PREFETCH_TIMEOUT_MS` of their claim.
const FAST_MS: Millis = 100;

/// The jobs that a worker holds, by lane. A busy lane pays one claim and one settlement for about
/// thirty deliveries, and still has only four attempts under way.
#[derive(Default)]
pub(super) struct Prefetch {
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
    pub(super) fn waiting(&self) -> usize {
        self.lanes.values().map(|held| held.waiting.len()).sum()
    }

    /// How many more jobs of a lane may be claimed. A fast lane held only by this worker may have
    /// [`AHEAD`] jobs, any other lane `most`, a failing lane one.
    pub(super) fn limit(&self, lane: &Lane, most: i64) -> i64 {
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
    pub(super) fn add(&mut self, jobs: Vec<ClaimedJob>) -> Vec<ClaimedJob> {
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
    pub(super) fn next(&mut self, lane: i64, moment: Moment) -> Option<ClaimedJob> {
        let held = self.lanes.get_mut(&lane).filter(|held| held.under_way < LANE_ATTEMPTS)?;
        let claimed = held.waiting.pop_front_if(|claimed| moment.suits(claimed))?;
        held.under_way += 1;
        Some(claimed)
    }

    /// Notes the end of an attempt. A failure sends the waiting jobs of its lane back: none may
    /// begin before the failure is settled.
    pub(super) fn end(&mut self, ended: &Ended, now: Millis) {
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
    pub(super) fn withdraw(&mut self, moment: Option<Moment>) {
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
    pub(super) fn back(&self) -> &[ClaimedJob] {
        &self.back
    }

    /// The jobs in [`Prefetch::back`] were returned.
    pub(super) fn given_back(&mut self) {
        self.back.clear();
    }
}

/// Bytes of large bodies after which no further large body is read.
const MOST_BYTES: usize = 64 << 20;

/// The large events of the jobs that a worker holds. Jobs of one event share it. Once these events
/// take [`MOST_BYTES`], claims leave further large ones in the queue. Small events of other
/// subscriptions are still claimed.
#[derive(Default)]
pub(super) struct Bodies(Vec<Weak<Event>>);

impl Bodies {
    /// Bytes that further large events may take.
    pub(super) fn room(&mut self) -> usize {
        self.0.retain(|event| event.strong_count() > 0);
        let taken = self.0.iter().filter_map(Weak::upgrade).map(|event| event.body.len());
        MOST_BYTES.saturating_sub(taken.sum())
    }

    /// Notes the events of claimed jobs.
    pub(super) fn note(&mut self, claimed: &[ClaimedJob]) {
        for event in claimed.iter().map(|claimed| &claimed.job.event) {
            if event.body.len() > LARGE {
                self.add(event);
            }
        }
    }

    fn add(&mut self, event: &Arc<Event>) {
        if !self.0.iter().any(|known| ptr::eq(known.as_ptr(), Arc::as_ptr(event))) {
            self.0.push(Arc::downgrade(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_takes_its_room_once_until_its_last_job_has_ended() {
        let body = vec![b'x'; MOST_BYTES / 2].into();
        let event = Arc::new(Event { body, ..Event::gone("e".to_owned()) });
        let mut bodies = Bodies::default();
        bodies.add(&event);
        bodies.add(&event.clone());
        assert_eq!(bodies.room(), MOST_BYTES / 2);
        drop(event);
        assert_eq!(bodies.room(), MOST_BYTES);
    }
}
