//! Raises an event from outside the service: through the API, or from the embedding program.

use serde_json::{Map, Value as Json};

use super::catalogue::{sql, unknown_event};
use crate::{
    Actor, AuditEntry, Change, Emitted, Error, Result,
    events::{EventData, JudgedEvent, judge},
    webhooks::Webhooks,
};

impl Change {
    /// Raises an event whose data has a type, for example an order, a registration, a newsletter
    /// or a deployment that the embedding program knows of. The event is recorded with an entry in
    /// the audit log. The payload filter applies, and [`Webhooks::event`] shows the schema. For
    /// the events that they declare, plugins have types of their own.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?;
    /// # let mut settings = cms_core::settings::Settings::default();
    /// # settings.dirs.data = folder.path().to_owned();
    /// # let cms = cms_core::Cms::open(settings).await?;
    /// use cms_core::{Actor, events::{Order, OrderCreated}};
    ///
    /// // With what else the program writes: committed together, or not at all.
    /// let mut change = cms.change(Actor::Visitor).await?;
    /// let claim = serde_json::json!({"name": "orders", "value": 1});
    /// let claim = claim.as_object().ok_or("no object")?;
    /// cms.items().create(&mut change, "settings", claim).await?;
    /// let order = Order { total: Some("249.90".into()), ..Order::new(7) };
    /// change.raise(&OrderCreated { order }).await?;
    /// change.commit().await?;
    ///
    /// // Alone, in a change of its own.
    /// let order = OrderCreated { order: Order::new("A-8") };
    /// let event = cms.webhooks().raise(Actor::System, &order).await?;
    /// assert_eq!(event.queued, 0, "nobody has subscribed yet");
    ///
    /// // What does not fit the schema is refused, and nothing is recorded.
    /// let order = OrderCreated { order: Order { total: Some("much".into()), ..Order::new(9) } };
    /// let refused = cms.webhooks().raise(Actor::System, &order).await.err().ok_or("raised")?;
    /// assert_eq!(refused.code().as_str(), "validation_failed");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `unknown_event` when the event is not declared; as [`Change::emit`].
    pub async fn raise<E: EventData>(&mut self, data: &E) -> Result<Emitted> {
        registered(self, typed(data)?).await
    }
}

impl Webhooks {
    /// As [`Change::raise`], in a change of its own on behalf of an operator, a visitor or the
    /// system. To commit an event together with other writes, use [`Change::raise`]. Keys and
    /// users raise events only in their own changes, which check their permissions again.
    ///
    /// # Errors
    /// `validation_failed` for a key or a user, field `actor`; as [`Change::raise`] and
    /// [`Change::commit`].
    pub async fn raise<E: EventData>(&self, actor: Actor, data: &E) -> Result<Emitted> {
        if actor.is_caller() {
            let message = "an operator, a visitor or the system is expected: begin a change of a \
                           key or a user with `Keys::change` or `Accounts::change`, and raise the \
                           event there";
            return Err(Error::invalid_field("actor", "type", message));
        }
        let judged = typed(data)?;
        let mut change = self.0.base.change(actor).await?;
        let emitted = registered(&mut change, judged).await?;
        change.commit().await?;
        Ok(emitted)
    }

    /// Judges an event for [`Webhooks::emit`]. Refuses events that only the service raises: those
    /// of items, pages, media, forms, funnels and logins.
    ///
    /// # Errors
    /// `unknown_event`; as [`Change::emit`].
    pub async fn judge(&self, event: &str, data: Map<String, Json>) -> Result<JudgedEvent> {
        if sql::named(self.0.base.db(), event).await?.is_empty() {
            return Err(unknown_event("event".to_owned(), event));
        }
        judge(event, data.into())
    }

    /// Raises an event that was [judged](Webhooks::judge).
    ///
    /// # Errors
    /// As every write: `unavailable`, `internal_error`.
    pub async fn emit(&self, change: &mut Change, judged: JudgedEvent) -> Result<Emitted> {
        audited(change, judged).await
    }
}

fn typed<E: EventData>(data: &E) -> Result<JudgedEvent> {
    let data = serde_json::to_value(data).map_err(|error| {
        Error::invalid_field("data", "type", format!("JSON is expected: {error}"))
    })?;
    judge(E::NAME, data)
}

async fn registered(change: &mut Change, judged: JudgedEvent) -> Result<Emitted> {
    if sql::named(&mut *change, &judged.event).await?.is_empty() {
        return Err(unknown_event("event".to_owned(), &judged.event));
    }
    audited(change, judged).await
}

async fn audited(change: &mut Change, judged: JudgedEvent) -> Result<Emitted> {
    let emitted = change.emit_judged(judged).await?;
    let entry = AuditEntry { action: "emit", table: "events", id: &emitted.id, columns: &[] };
    change.audit(entry).await?;
    Ok(emitted)
}
