//! The postman sends mails: claims what is due, settles what has ended.

use std::{
    collections::BTreeSet,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::{sync::watch, task::JoinSet};

use super::{
    Round,
    plan::{Plan, Route},
    round, settle,
};
use crate::{
    Actor, Change, Millis, Result,
    db::watched,
    jobs::{self, Until},
    mail::{
        CLAIMS, MailOutcomes, Mails, State,
        outgoing::Outgoing,
        rules::local::LocalRest,
        sql::outbox::{self, LEASE_MS},
    },
};

/// Mails under way at most.
const SLOTS: usize = 16;
/// How often the outbox is looked at.
const POLL: Duration = Duration::from_millis(500);
/// How long a finished round waits for others to share its transaction.
const GATHER: Duration = Duration::from_millis(5);
/// How long the end waits for the database.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an end waits for mail servers that scan a message: service managers wait for 90 s.
pub(in crate::mail) const LONGEST_END: Duration = Duration::from_secs(60);

/// Sends mails. Several may run in one process or many.
pub struct Postman {
    site: Arc<State>,
    under_way: JoinSet<Round>,
    /// Finished rounds that are not settled yet.
    ended: Vec<Round>,
    /// Whether the log knows that mails cannot be sent.
    told: bool,
    /// Faults of this machine.
    rest: LocalRest,
    /// Whether the postman ends: rounds under way ask no further provider.
    ends: Arc<AtomicBool>,
}

impl Mails {
    /// A postman that sends queued mails.
    #[must_use]
    pub fn postman(&self) -> Postman {
        Postman {
            site: self.0.clone(),
            under_way: JoinSet::new(),
            ended: Vec::new(),
            told: false,
            rest: LocalRest::default(),
            ends: Arc::default(),
        }
    }
}

impl Postman {
    /// Sends what is due, then settles until nothing is under way: for tests, and for programs that
    /// drive the postman themselves.
    ///
    /// # Errors
    /// As every write; rounds that are not settled are kept for the next call.
    pub async fn step(&mut self) -> Result<MailOutcomes> {
        let (mut all, _) = watched(self.turn(true)).await?;
        while !self.under_way.is_empty() || !self.ended.is_empty() {
            self.wait().await;
            let (counted, _) = watched(self.turn(false)).await?;
            all.sent += counted.sent;
            all.retried += counted.retried;
            all.failed += counted.failed;
            all.put_back += counted.put_back;
            all.lost += counted.lost;
        }
        Ok(all)
    }

    /// Works until `stop` turns true; with `drain`, also until nothing is due that can be sent.
    /// Rounds under way finish and are settled.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>, drain: bool) -> Until {
        let site = self.site.clone();
        let _working = site.counters.postmen.begin();
        while !*stop.borrow() {
            let turned = tokio::select! {
                turned = watched(self.turn(true)) => turned,
                // What was claimed meanwhile is sent when its lease ends.
                () = jobs::stopped(stop.clone(), SHUTDOWN_TIMEOUT) => break,
            };
            match turned {
                // The settled rounds may have ended the rest of a provider: look once more.
                Ok((_, true)) if drain && self.under_way.is_empty() => continue,
                Ok(_) if drain && self.under_way.is_empty() => return Until::Drained,
                Ok(_) => {}
                Err(error) if site.base.db().is_closed() => {
                    tracing::debug!(%error, "the site is closed");
                    return Until::Stopped;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot read or write the mail outbox; trying again");
                    tokio::time::sleep(POLL).await;
                }
            }
            tokio::select! {
                () = self.wait(), if !self.under_way.is_empty() => {}
                () = tokio::time::sleep(POLL) => {}
                // A dropped sender never stops the postman.
                () = async {
                    if stop.changed().await.is_err() {
                        std::future::pending().await
                    }
                } => {}
            }
        }
        self.finish().await;
        Until::Stopped
    }

    /// Waits for rounds under way. What cannot be settled is sent again when its lease ends.
    async fn finish(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let until = tokio::time::Instant::now() + LONGEST_END;
        while !self.under_way.is_empty() || !self.ended.is_empty() {
            if !self.under_way.is_empty()
                && tokio::time::timeout_at(until, self.wait()).await.is_err()
            {
                let mails = self.under_way.len();
                tracing::warn!(mails, "mail servers did not answer before the stop");
                self.under_way.abort_all();
            }
            let settled = tokio::time::timeout(SHUTDOWN_TIMEOUT, watched(self.turn(false))).await;
            if !matches!(settled, Ok(Ok(_))) {
                tracing::warn!(mails = self.ended.len(), "finished mails were not settled");
                return;
            }
        }
    }

    /// Waits for a round to end, then briefly for others. Cancel-safe: no finished round is lost.
    async fn wait(&mut self) {
        self.join().await;
        let others = async {
            while !self.under_way.is_empty() {
                self.join().await;
            }
        };
        let _ = tokio::time::timeout(GATHER, others).await;
    }

    async fn join(&mut self) {
        if let Some(Ok(round)) = self.under_way.join_next().await {
            self.ended.push(round);
        }
    }

    /// Settles finished rounds and begins due ones, in one change. Returns also whether there were
    /// any. After an error the finished rounds are kept for the next turn.
    async fn turn(&mut self, claims: bool) -> Result<(MailOutcomes, bool)> {
        while let Some(joined) = self.under_way.try_join_next() {
            self.ended.extend(joined);
        }
        let site = self.site.clone();
        let claims = claims && self.may_claim().await?;
        if self.ended.is_empty() && !claims {
            return Ok((MailOutcomes::default(), false));
        }
        let mut change = site.base.change(Actor::System).await?;
        change.search_by_key().await?;
        // Before any row: whoever holds the lock may wait for rows, never the other way round.
        change.lock(CLAIMS).await?;
        let counted = settle(&site, &mut change, &self.ended).await?;
        let claimed = match claims {
            true => self.claim(&mut change).await?,
            false => Vec::new(),
        };
        change.commit().await?;
        let moved = !self.ended.is_empty() || !claimed.is_empty();
        let now = site.base.clock().now();
        for round in self.ended.drain(..) {
            let outcomes = round.attempts.iter().map(|attempt| attempt.outcome);
            self.rest.note(outcomes, round.verdict, now);
        }
        site.counters.note(&counted);
        claimed.into_iter().for_each(|(mail, route)| self.begin(mail, route));
        Ok((counted, moved))
    }

    /// Whether a slot is free, a mail is due and somebody can send it.
    async fn may_claim(&mut self) -> Result<bool> {
        let (base, now) = (&self.site.base, self.site.base.clock().now());
        if self.free(now) == 0 || !outbox::is_due(base.db(), now).await? {
            return Ok(false);
        }
        if !self.site.can_send() {
            if !self.told {
                self.told = true;
                let why = "mails wait: set mail.from and a provider, such as mail.smtp_url";
                tracing::warn!(why);
            }
            return Ok(false);
        }
        let health = outbox::health(base.db()).await?;
        Ok(Plan::new(self.site.names(), &health, now).places(SLOTS) > 0)
    }

    /// How many mails may begin now.
    fn free(&self, now: Millis) -> usize {
        let under_way = self.under_way.len();
        self.rest.places(SLOTS - under_way.min(SLOTS), under_way, now)
    }

    async fn claim(&self, change: &mut Change) -> Result<Vec<(Outgoing, Route)>> {
        let returned = outbox::reclaim(change).await?;
        if returned > 0 {
            tracing::warn!(returned, "mails whose postman died or was too slow are due again");
        }
        let health = outbox::health_in(change).await?;
        let mut plan = Plan::new(self.site.names(), &health, change.now());
        let most = plan.places(self.free(change.now()));
        let claimed = outbox::claim(change, most).await?;
        let routed: Vec<_> = claimed.into_iter().map(|mail| (mail, plan.next())).collect();
        // Until a probe has ended nobody else tries its provider.
        let probes = routed.iter().flat_map(|(_, route)| &route.probes);
        let probed: BTreeSet<_> =
            probes.filter_map(|place| self.site.chain.get(*place)).map(|p| p.name).collect();
        for name in probed {
            if let Some(health) = health.get(name) {
                let health = health.clone().probed(change.now() + LEASE_MS);
                outbox::note(change, name, &health, None).await?;
            }
        }
        Ok(routed)
    }

    fn begin(&mut self, mail: Outgoing, route: Route) {
        let (site, ends) = (self.site.clone(), self.ends.clone());
        self.under_way.spawn(watched(async move {
            let kept = (mail.clone(), route.clone());
            // A panic counts as a failed round; otherwise the mail would come back forever.
            let made = AssertUnwindSafe(round(&site, mail, route, &ends)).catch_unwind().await;
            made.unwrap_or_else(|_| {
                tracing::error!(mail = kept.0.id, "the service failed while it sent a mail");
                Round::broken(kept.0, kept.1)
            })
        }));
    }
}
