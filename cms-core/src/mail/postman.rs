//! The postman sends mails: the queue of mails, run by the engine of queues.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::{
    CLAIMS, Inner, Mails,
    outbox::{self, LEASE_MS, Outgoing},
    round::{Plan, Round, Route, round, settle},
    rules::LocalRest,
};
use crate::{
    Change, Result,
    base::Base,
    db::{Lock, args},
    jobs::{Counters, Engine, Flight, Outcomes, Queue, Until},
};

/// Maximum number of mails under way.
const SLOTS: usize = 16;
/// How long a finished round waits for others to share its transaction.
const GATHER: Duration = Duration::from_millis(5);

/// How long a stopping postman waits for mail servers, which scan a message before they answer.
/// Service managers wait for 90 s.
pub(super) const LONGEST_END: Duration = Duration::from_secs(60);

/// Sends mails. Several may run in one process or many.
pub struct Postman(Engine<Outbox>);

impl Mails {
    /// A postman that sends queued mails.
    #[must_use]
    pub fn postman(&self) -> Postman {
        Postman(Engine::new(Outbox {
            site: self.0.clone(),
            knows_unsendable: false,
            rest: LocalRest::default(),
            free: 0,
            ends: Arc::default(),
        }))
    }

    /// Rounds of this process since its start, by outcome.
    #[must_use]
    pub fn outcomes(&self) -> Outcomes {
        self.0.counters.outcomes()
    }

    /// `running` when this process sends mails, `none` when other processes do.
    #[must_use]
    pub fn postman_state(&self) -> &'static str {
        self.0.counters.workers.state()
    }

    /// The number of waiting mails, and by how many milliseconds the first of them is late. The
    /// figures may be one second old.
    pub async fn waiting(&self) -> Result<(i64, i64)> {
        let (base, now) = (&self.0.base, self.0.base.clock().now());
        let db = base.db().clone();
        let read = async move { db.one(outbox::WAITING, args![]).await };
        let (count, since) = self.0.waiting.get(now, read).await?;
        Ok((count, since.map_or(0, |since| (now - since).max(0))))
    }
}

impl Postman {
    /// Sends due mails, then settles until nothing is under way: for tests, and for programs that
    /// drive the postman themselves.
    ///
    /// # Errors
    /// As every write; rounds that are not settled are kept for the next call.
    pub async fn step(&mut self) -> Result<Outcomes> {
        self.0.step().await
    }

    /// Repeats [`Postman::step`] until a step counts no round, at most `most` times. Returns the
    /// number of counted rounds.
    pub(crate) async fn steps(&mut self, most: usize) -> Result<u64> {
        self.0.steps(most).await
    }

    /// Works until `stop` turns true; with `drain`, also ends once no due mail can be sent. Rounds
    /// under way finish and are settled.
    pub async fn run(self, stop: watch::Receiver<bool>, drain: bool) -> Until {
        self.0.run(stop, drain).await
    }
}

/// The queue of mails.
struct Outbox {
    site: Arc<Inner>,
    /// Whether the log already says that mails cannot be sent.
    knows_unsendable: bool,
    /// The rest after faults of this machine.
    rest: LocalRest,
    /// Mails that the turn may claim.
    free: usize,
    /// Set when the postman ends: rounds under way then try no further provider.
    ends: Arc<AtomicBool>,
}

impl Queue for Outbox {
    type Job = (Outgoing, Route);
    type Ended = Round;

    const NAME: &'static str = "mails";
    const POLL_INTERVAL: Duration = Duration::from_millis(500);
    const FOLLOWS_EVENTS: bool = false;
    const LONGEST_END: Duration = LONGEST_END;
    const CLAIMS: Lock = CLAIMS;
    /// Settling writes the health of providers, which other postmen write too.
    const SETTLES_UNDER_LOCK: bool = true;

    fn base(&self) -> &Base {
        &self.site.base
    }

    fn counters(&self) -> &Counters {
        &self.site.counters
    }

    fn ended(&mut self, round: &mut Round) -> Option<(Outgoing, Route)> {
        let outcomes = round.attempts.iter().map(|attempt| attempt.outcome);
        self.rest.note(outcomes, round.verdict, self.site.base.clock().now());
        None
    }

    /// Whether a slot is free, a mail is due and somebody can send it.
    async fn is_due(&mut self, flight: &Flight<Round>) -> Result<bool> {
        let (base, now) = (&self.site.base, self.site.base.clock().now());
        let under_way = flight.under_way.len();
        self.free = self.rest.places(SLOTS - under_way.min(SLOTS), under_way, now);
        if self.free == 0 || !outbox::is_due(base.db(), now).await? {
            return Ok(false);
        }
        if !self.site.can_send() {
            if !self.knows_unsendable {
                self.knows_unsendable = true;
                let why = "mails wait: set mail.from and a provider, such as mail.smtp_url";
                tracing::warn!(why);
            }
            return Ok(false);
        }
        let health = outbox::health(base.db()).await?;
        Ok(Plan::new(self.site.names(), &health, now).places(SLOTS) > 0)
    }

    async fn settle(&mut self, change: &mut Change, rounds: &mut [Round]) -> Result<Outcomes> {
        settle(&self.site, change, rounds).await
    }

    async fn claim(&mut self, change: &mut Change) -> Result<Vec<(Outgoing, Route)>> {
        let returned = outbox::reclaim(change).await?;
        if returned > 0 {
            tracing::warn!(returned, "mails whose postman died or was too slow are due again");
        }
        let health = outbox::health(&mut *change).await?;
        let mut plan = Plan::new(self.site.names(), &health, change.now());
        let claimed = outbox::claim(change, plan.places(self.free)).await?;
        let routed: Vec<_> = claimed.into_iter().map(|mail| (mail, plan.next())).collect();
        // While a probe runs, no other mail tries its provider.
        let probes = routed.iter().flat_map(|(_, route)| &route.probes);
        let probed: BTreeSet<_> =
            probes.filter_map(|place| self.site.chain.get(*place)).map(|p| p.name).collect();
        for name in probed {
            if let Some(health) = health.get(name) {
                let health = health.clone().probed(change.now() + LEASE_MS);
                outbox::save_health(change, name, &health, None).await?;
            }
        }
        Ok(routed)
    }

    fn attempt(&self, (mail, route): (Outgoing, Route)) -> BoxFuture<'static, Round> {
        let (site, ends) = (self.site.clone(), self.ends.clone());
        Box::pin(async move { round(&site, mail, route, &ends).await })
    }

    fn broken((mail, route): (Outgoing, Route)) -> Round {
        Round::broken(mail, route)
    }

    fn gathering(&self) -> Duration {
        GATHER
    }

    fn end(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}
