//! The parts that every room shares: database, clock, randomness, settings and vault.

use std::{panic::Location, sync::Arc};

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use crate::{
    Actor, Change, Clock, Error, Millis, Random, Result, Vault,
    change::{Call, Guards, Holders},
    db::Db,
    events::Outbox,
    ground::{Cursors, List, ListName},
    settings::Settings,
};

/// The base of every room. Clones share everything.
#[derive(Clone)]
pub(crate) struct Base(Arc<Parts>);

/// The parts of a [`Base`].
pub(crate) struct Parts {
    pub(crate) db: Db,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) settings: Settings,
    /// The time zone that `settings.timezone` names.
    pub(crate) zone: TimeZone,
    pub(crate) vault: Vault,
    pub(crate) cursors: Cursors,
    pub(crate) outbox: Outbox,
    /// Guards that judge acts of callers, in addition to their rights.
    pub(crate) guards: Guards,
    /// Tasks of programs that hold an open change.
    pub(crate) holders: Holders,
}

impl Base {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Begins a change on behalf of `actor`.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached; in a handler, as [`Base::held`].
    pub(crate) async fn change(&self, actor: Actor) -> Result<Change> {
        let (patient, is_own) = (actor.is_patient(), actor == Actor::System);
        let change = self.begin(actor, patient).await?;
        Ok(if is_own { change } else { change.guarded_by(&self.0.guards) })
    }

    /// As [`Base::change`] by the service itself, while a request waits for it.
    pub(crate) async fn change_in_time(&self) -> Result<Change> {
        Ok(self.begin(Actor::System, false).await?.guarded_by(&self.0.guards))
    }

    /// Waits for a change that a program begins at this place of its source, in a call of a
    /// handler (`by`) or else in its task.
    ///
    /// # Errors
    /// `internal_error` when that call or task already holds an idle change: the wait would
    /// never end.
    pub(crate) async fn held(
        &self,
        by: Option<Call>,
        at: &'static Location<'static>,
        begin: impl Future<Output = Result<Change>>,
    ) -> Result<Change> {
        let change = self.0.holders.begin_watched(by, begin).await?;
        let depth = Call::present().or(by).map_or(0, Call::depth);
        change.at_depth(depth).held_by(self.0.holders.enter(by, at)).await
    }

    async fn begin(&self, actor: Actor, patient: bool) -> Result<Change> {
        let Parts { db, clock, random, outbox, holders, .. } = &*self.0;
        if let Some(call) = Call::present() {
            // A program's handler waits here, through whatever function it has called.
            let begin = Change::begin(db, clock, random, outbox, actor, patient);
            let change = Box::pin(holders.begin_watched(None, begin)).await?;
            return change.at_depth(call.depth()).held_by(holders.unlisted()).await;
        }
        Change::begin(db, clock, random, outbox, actor, patient).await
    }

    pub(crate) fn db(&self) -> &Db {
        &self.0.db
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub(crate) fn random(&self) -> &Random {
        &self.0.random
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn zone(&self) -> &TimeZone {
        &self.0.zone
    }

    /// The day of a moment in the site's time zone.
    pub(crate) fn day(&self, at: Millis) -> Result<Date> {
        let at = Timestamp::from_millisecond(at).map_err(Error::internal)?;
        Ok(at.to_zoned(self.zone().clone()).date())
    }

    pub(crate) fn vault(&self) -> &Vault {
        &self.0.vault
    }

    pub(crate) fn cursors(&self) -> &Cursors {
        &self.0.cursors
    }

    /// A list whose pages have cursors.
    pub(crate) fn list(&self, name: ListName) -> List<'_> {
        List::new(&self.0.cursors, name)
    }

    pub(crate) fn guards(&self) -> &Guards {
        &self.0.guards
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }
}
