//! The one way to write: a transaction with an actor. Its commit writes the rows, their events,
//! the audit rows, the epochs of the tables and the idempotency record together, or nothing. The
//! file is long because their order at a commit is one idea.

mod guards;
mod holders;
pub(crate) mod many;
mod outcome;
mod reader;

use std::{collections::BTreeSet, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Clock, Error, Millis, Random, Result,
    db::{
        Cached, Db, DbTable, Dialect, Epochs, FromRow, Hold, Lock, SnapshotVersion, Sql, Step, Tx,
        Value, args,
    },
    events::{self, Event, JudgedEvent, Outbox, Payload},
};
pub(crate) use guards::{Guard, Guards, Judge, async_hook, bounded, limited};
use holders::Holder;
pub(crate) use holders::{Call, Holders};
pub use outcome::Outcome;
pub(crate) use reader::Reader;
use serde_json::json;

pub(crate) mod sql {
    crate::db::statements! {
        AUDIT = "insert into cms_audit (actor_kind, actor_id, actor_name, action, table_name, \
                 row_id, columns, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)";
    }
}

/// On whose behalf a change is made. The audit log records the actor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Actor {
    /// The service itself, at its start and in background work.
    System,
    /// A person with access to the site's folder, through the command line or an embedding program.
    Operator,
    /// Somebody without key and login, at a public endpoint.
    Visitor,
    /// The holder of an API key.
    Key {
        /// Id of the key.
        id: i64,
        /// Its label.
        name: String,
    },
    /// A backend user.
    User {
        /// Id of the user.
        id: i64,
        /// The user's name.
        name: String,
    },
    /// A user of the embedding application, for whom the site has no row.
    Application {
        /// What the application calls the user.
        name: String,
    },
}

impl Actor {
    /// Whether the actor's rights can be revoked.
    pub(crate) fn is_caller(&self) -> bool {
        matches!(self, Self::Key { .. } | Self::User { .. } | Self::Application { .. })
    }

    /// Whether nobody waits for a reply: true for background work and for commands.
    pub(crate) fn is_patient(&self) -> bool {
        matches!(self, Self::System | Self::Operator)
    }

    /// Kind, id and name, as tables keep them.
    pub(crate) fn columns(&self) -> (&'static str, Option<i64>, Option<&str>) {
        match self {
            Self::System => ("system", None, None),
            Self::Operator => ("operator", None, None),
            Self::Visitor => ("visitor", None, None),
            Self::Key { id, name } => ("key", Some(*id), Some(name)),
            Self::User { id, name } => ("user", Some(*id), Some(name)),
            Self::Application { name } => ("application", None, Some(name)),
        }
    }
}

/// One write of a change, for the audit log.
#[derive(Clone, Debug)]
pub struct AuditEntry<'a> {
    /// `create`, `update`, `delete`, `rotate`...
    pub action: &'static str,
    /// The table, by its outward name.
    pub table: &'a str,
    /// The row's id.
    pub id: &'a str,
    /// The columns written.
    pub columns: &'a [&'a str],
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Emitted {
    /// Its id; receivers see it as `webhook-id`.
    pub id: String,
    /// Number of jobs queued for it, held ones included.
    pub queued: u64,
}

/// A transaction on behalf of an [`Actor`]. Dropping it without [`Change::commit`] undoes
/// everything. After a statement that the database refused, nothing more can be done under it on
/// either engine: drop the change and begin a new one.
pub struct Change {
    tx: Tx,
    actor: Actor,
    /// Whether the actor's rights are still to be read under this change.
    unjudged: bool,
    /// The state of the file that this change began in.
    snapshot_version: Option<SnapshotVersion>,
    clock: Clock,
    random: Random,
    now: Millis,
    touched: BTreeSet<String>,
    /// Whether the commit wakes other processes.
    announced: bool,
    epochs: Arc<Epochs>,
    /// Whether the commit wakes the worker of this process.
    queued: bool,
    /// Whether it raises no events.
    silent: bool,
    /// Ids of the events.
    emitted: Vec<String>,
    /// How many handlers of events led to it.
    depth: i64,
    /// A statement or a hook failed: nothing more may be done.
    failed: bool,
    /// The hooks that run under it, the outermost first.
    hooks: Vec<String>,
    /// The guards asked before its acts; none for what the service does by itself.
    guards: Option<Guards>,
    /// Whether the act that the guards are asked about raises no event.
    unheard: bool,
    outbox: Outbox,
    /// Its holder, if a program began it.
    holder: Option<Holder>,
    _hold: Hold,
}

/// How deep hooks may nest.
const MAX_HOOKS: usize = 8;

impl Change {
    pub(crate) async fn begin(
        db: &Db,
        clock: &Clock,
        random: &Random,
        outbox: &Outbox,
        actor: Actor,
        patient: bool,
    ) -> Result<Self> {
        Hold::expect_none()?;
        let tx = db.begin(patient).await?;
        Ok(Self {
            snapshot_version: tx.snapshot_version(db),
            tx,
            unjudged: actor.is_caller(),
            actor,
            clock: clock.clone(),
            random: random.clone(),
            now: clock.now(),
            touched: BTreeSet::new(),
            announced: false,
            epochs: db.shared_epochs(),
            queued: false,
            silent: false,
            emitted: Vec::new(),
            depth: 0,
            failed: false,
            hooks: Vec::new(),
            guards: None,
            unheard: false,
            outbox: outbox.clone(),
            holder: None,
            _hold: Hold::begin(),
        })
    }

    /// Beside another change of its task, this change gives up early when it waits for a row on
    /// PostgreSQL: the other change may lie idle until this one ends.
    pub(crate) async fn held_by(mut self, holder: Holder) -> Result<Self> {
        if let Some(setting) = self.dialect().shorten_lock_timeout()
            && holder.has_other()
        {
            Box::pin(self.script(setting)).await?;
        }
        self.holder = Some(holder);
        Ok(self)
    }

    /// Gives its events at least this depth.
    pub(crate) fn at_depth(self, depth: i64) -> Self {
        Self { depth: self.depth.max(depth), ..self }
    }

    /// Asks these guards before each act.
    pub(crate) fn guarded_by(self, guards: &Guards) -> Self {
        Self { guards: Some(guards.clone()), ..self }
    }

    /// Waits until no other change holds `lock`, and holds it until this change ends.
    pub(crate) async fn lock(&mut self, lock: Lock) -> Result<()> {
        let done = self.tx()?.lock(lock).await;
        self.noted(done)
    }

    /// The transaction, for a statement. Refuses one after a failure: PostgreSQL takes none then,
    /// SQLite would.
    fn tx(&mut self) -> Result<&mut Tx> {
        if let Some(holder) = &self.holder {
            holder.used(!self.failed);
        }
        match self.failed {
            true => Err(Error::internal(
                "an earlier statement or hook of this change failed: drop the change and begin a \
                 new one",
            )),
            false => Ok(&mut self.tx),
        }
    }

    fn noted<T>(&mut self, done: Result<T>) -> Result<T> {
        if let Some(holder) = &self.holder {
            holder.used(false);
        }
        self.failed |= done.as_ref().is_err_and(Error::is_by_database);
        match &self.holder {
            Some(holder) => done.map_err(|error| holder.explained(error)),
            None => done,
        }
    }

    /// Marks the change as failed: it takes no further statement and cannot be committed.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }

    /// Notes that a hook begins. [`Change::end_hook`] notes its end.
    ///
    /// # Errors
    /// `internal_error` when hooks that write nest too deep.
    pub(crate) fn begin_hook(&mut self, name: &str) -> Result<()> {
        self.hooks.push(name.to_owned());
        match self.hooks.len() > MAX_HOOKS {
            true => Err(Error::internal(format!(
                "hooks run within each other without end: {}",
                self.hooks.join(" → ")
            ))),
            false => Ok(()),
        }
    }

    pub(crate) fn end_hook(&mut self) {
        self.hooks.pop();
    }

    /// As [`Change::lock`], but refuses when this wait, or any later wait of the change, takes
    /// longer than `patience`.
    pub(crate) async fn lock_within(&mut self, lock: Lock, patience: Millis) -> Result<()> {
        let done = self.tx()?.lock_within(lock, patience).await;
        self.noted(done)
    }

    /// The engine's dialect of SQL.
    pub(crate) fn dialect(&self) -> Dialect {
        self.tx.dialect()
    }

    /// Describes a table or view as this change has left it; `None` when there is none of that
    /// name.
    pub(crate) async fn describe(&mut self, table: &str) -> Result<Option<DbTable>> {
        let dialect = self.dialect();
        Ok(DbTable::of(dialect, self.all(dialect.columns(), args![table]).await?))
    }

    /// Tells the engine to plan all further statements as searches by key.
    pub(crate) async fn search_by_key(&mut self) -> Result<()> {
        match self.dialect().search_by_key() {
            Some(settings) => self.script(settings).await,
            None => Ok(()),
        }
    }

    /// Lets this change wait for something outside the database, such as a bucket, longer than
    /// `database.idle_in_transaction_s`. Nobody else may need the rows that it holds meanwhile.
    pub(crate) async fn extend_idle_timeout(&mut self) -> Result<()> {
        match self.dialect().extend_idle_timeout() {
            Some(setting) => self.script(setting).await,
            None => Ok(()),
        }
    }

    /// On whose behalf the change is made.
    pub(crate) fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Whether the act that guards are asked about raises no event.
    pub(crate) fn is_unheard(&self) -> bool {
        self.unheard
    }

    /// Whether the change raises no events.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent
    }

    /// Changes the actor: a login learns its user only within the change.
    pub(crate) fn act_as(&mut self, actor: Actor) {
        self.actor = actor;
    }

    /// The cached record of a caller, if nothing was committed since it was read. Nobody can
    /// commit until this change ends.
    pub(crate) fn cached_if_current<T: Clone>(&self, seen: &Cached<T>) -> Option<T> {
        self.snapshot_version.filter(|version| seen.is_of(*version)).map(|_| seen.record.clone())
    }

    /// Notes that the caller's record was read under this change and is good.
    pub(crate) fn judged(&mut self) {
        self.unjudged = false;
    }

    /// Makes the commit wake the worker of this process.
    pub(crate) fn wake_worker(&mut self) {
        self.queued = true;
    }

    /// The time of this change, in milliseconds. All its rows carry this time.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    pub(crate) async fn all<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Vec<T>> {
        let done = self.tx()?.all(sql, args).await;
        self.noted(done)
    }

    /// Reads why a statement failed. Called only on SQLite, which takes reads after a failure.
    pub(crate) async fn all_after_failure<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Vec<T>> {
        self.tx.all(sql, args).await
    }

    pub(crate) async fn optional<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Option<T>> {
        Ok(self.all(sql, args).await?.into_iter().next())
    }

    pub(crate) async fn one<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<T> {
        self.optional(sql, args).await?.ok_or_else(|| Error::internal(sqlx::Error::RowNotFound))
    }

    pub(crate) async fn run(&mut self, sql: impl Into<Sql>, args: Vec<Value>) -> Result<u64> {
        let done = self.tx()?.run(sql, args).await;
        self.noted(done)
    }

    /// Runs several statements in one trip; see [`Tx::steps`]. Returns the number of rows that the
    /// last one changed.
    pub(crate) async fn steps(&mut self, steps: Vec<Step>) -> Result<u64> {
        let done = self.tx()?.steps(steps).await;
        self.noted(done)
    }

    /// As [`Change::steps`] and [`Change::audit`], in one trip to the database.
    pub(crate) async fn steps_audited(
        &mut self,
        mut steps: Vec<Step>,
        entry: AuditEntry<'_>,
    ) -> Result<()> {
        steps.push(self.audit_step(entry));
        self.steps(steps).await.map(drop)
    }

    /// As [`Change::run`], for a statement that must change a row that this change has read or
    /// locked.
    ///
    /// # Errors
    /// `internal_error` when no row changed: the statement is wrong.
    pub(crate) async fn run_one(&mut self, sql: impl Into<Sql>, args: Vec<Value>) -> Result<()> {
        let sql = sql.into();
        let name = sql.name();
        match self.run(sql, args).await? {
            0 => Err(Error::internal(format!("{name} changed no row"))),
            _ => Ok(()),
        }
    }

    pub(crate) async fn script(&mut self, sql: impl Into<Sql>) -> Result<()> {
        let done = self.tx()?.script(sql).await;
        self.noted(done)
    }

    /// Raises no event from here on, whatever this change writes. Rows, audit rows and epochs are
    /// written as usual, and [`Change::emit`] returns the id of an event that is not recorded.
    /// The audit log records that rows of `table` were written without events. The caller must
    /// check who may ask for this.
    pub async fn without_events(&mut self, table: &str) -> Result<()> {
        self.silent = true;
        self.audit(AuditEntry { action: "no_events", table, id: "*", columns: &[] }).await
    }

    /// Records an event, and queues a job for every subscription that listens. The payload filter
    /// removes members that look like secrets. Plugins raise their declared events here;
    /// [`Change::raise`] takes typed data. Nothing is sent before the commit, and nothing after a
    /// dropped change.
    ///
    /// # Errors
    /// `validation_failed` for a name with control characters or more than 300 bytes, for an event
    /// that the service raises itself (`reserved`), and for data that does not fit the event's
    /// schema or is nested more than 100 levels deep; `payload_too_large` for data of more than
    /// 1 MiB; as every write: `unavailable`, `internal_error`.
    pub async fn emit(&mut self, event: &str, data: serde_json::Value) -> Result<Emitted> {
        self.emit_judged(events::judge(event, data)?).await
    }

    /// As [`Change::emit`], for an event that was already judged.
    pub(crate) async fn emit_judged(&mut self, judged: JudgedEvent) -> Result<Emitted> {
        self.record(&judged.event, judged.data, None, None).await
    }

    /// Asks the guards about an act whose event is not raised, because nobody may learn of it.
    pub(crate) async fn ask<P: Payload>(&mut self, event: Event<P>, data: &P) -> Result<()> {
        self.unheard = true;
        let asked = self.ask_guards(event.name, &json!(data)).await;
        self.unheard = false;
        asked
    }

    /// Raises an event of the service.
    pub(crate) async fn raise_own<P: Payload>(
        &mut self,
        event: Event<P>,
        data: &P,
    ) -> Result<Emitted> {
        self.record(event.name, json!(data), None, None).await
    }

    /// As [`Change::raise_own`] and [`Change::audit`], in one trip to the database. The payload is
    /// deleted with the subject.
    pub(crate) async fn raise_about<P: Payload>(
        &mut self,
        subject: Option<String>,
        event: Event<P>,
        data: &P,
        entry: Option<AuditEntry<'_>>,
    ) -> Result<Emitted> {
        let audit = entry.map(|entry| self.audit_step(entry));
        self.record(event.name, json!(data), subject, audit).await
    }

    /// As [`Change::raise_about`], for the events of items, whose names contain the table.
    pub(crate) async fn emit_audited(
        &mut self,
        event: &str,
        data: serde_json::Value,
        entry: AuditEntry<'_>,
    ) -> Result<Emitted> {
        let audit = self.audit_step(entry);
        self.record(event, data, None, Some(audit)).await
    }

    async fn record(
        &mut self,
        event: &str,
        data: serde_json::Value,
        subject: Option<String>,
        beside: Option<Step>,
    ) -> Result<Emitted> {
        if !events::is_name(event) {
            return Err(Error::invalid_field(
                "event",
                "format",
                "1 to 300 bytes without control characters, such as shop.order_paid",
            ));
        }
        self.ask_guards(event, &data).await?;
        let id = self.random.uuid_v7(&self.clock)?;
        if self.silent {
            if let Some(beside) = beside {
                self.steps(vec![beside]).await?;
            }
            return Ok(Emitted { id, queued: 0 });
        }
        let [event, jobs] = Outbox::add(&id, event, self.now, data, subject, self.depth);
        let steps = [Some(event), beside, Some(jobs)].into_iter().flatten().collect();
        let queued = self.steps(steps).await?;
        self.queued |= queued > 0;
        self.emitted.push(id.clone());
        Ok(Emitted { id, queued })
    }

    /// Writes an audit row: the actor, the action, the row.
    pub async fn audit(&mut self, entry: AuditEntry<'_>) -> Result<()> {
        let Step(sql, args) = self.audit_step(entry);
        self.run(sql, args).await.map(drop)
    }

    /// Notes a written row: its table changes, and the audit log gets a row.
    pub(crate) async fn audit_row(
        &mut self,
        action: &'static str,
        table: &str,
        id: i64,
        columns: &[&str],
    ) -> Result<()> {
        self.touch(table);
        self.audit(AuditEntry { action, table, id: &id.to_string(), columns }).await
    }

    /// As [`Change::audit_row`], for rows that every process keeps in memory.
    pub(crate) async fn audit_announced(
        &mut self,
        action: &'static str,
        table: &str,
        id: i64,
        columns: &[&str],
    ) -> Result<()> {
        self.announce(table);
        self.audit_row(action, table, id, columns).await
    }

    fn audit_step(&self, entry: AuditEntry<'_>) -> Step {
        let (kind, id, name) = self.actor.columns();
        let columns = json!(entry.columns).to_string();
        let args = args![kind, id, name, entry.action, entry.table, entry.id, columns, self.now];
        Step(sql::AUDIT, args)
    }

    /// Notes that rows of `table` change. The commit raises the table's epoch, so that no cache
    /// serves old rows.
    pub fn touch(&mut self, table: &str) {
        if !self.touched.contains(table) {
            self.touched.insert(table.to_owned());
        }
    }

    /// As [`Change::touch`], for rows that every process keeps in memory: the commit wakes the
    /// other processes.
    pub(crate) fn announce(&mut self, table: &str) {
        self.announced = true;
        self.touch(table);
    }

    /// Commits everything, or nothing.
    ///
    /// # Errors
    /// `unavailable` when the database cannot write. `conflict` or `database_error` when a deferred
    /// rule or trigger of a table refuses the change. `internal_error` after a statement or a hook
    /// that failed, and for a change on behalf of a key or a user who was not judged again under
    /// it: begin such a change with [`Keys::change`](crate::keys::Keys::change) or
    /// [`Accounts::change`](crate::accounts::Accounts::change).
    pub async fn commit(mut self) -> Result<()> {
        self.tx()?;
        if self.unjudged {
            return Err(Error::internal("a change of a caller who was not judged again"));
        }
        let has_events = !self.emitted.is_empty();
        self.move_late_events().await?;
        if let (true, Some(notify)) = (self.announced, self.dialect().notify()) {
            self.script(notify).await?;
        }
        let raised = self.tx.commit(self.touched).await.map_err(outcome::deferred)?;
        self.epochs.committed(&raised);
        if self.queued {
            self.outbox.ring();
        }
        if has_events {
            self.outbox.tell();
        }
        Ok(())
    }
}

pub(crate) fn is_unique_violation(error: &Error) -> bool {
    matches!(error.database(), Some(sqlx::Error::Database(e)) if e.is_unique_violation())
}
