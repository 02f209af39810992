//! `/api/backend/webhooks` and what hangs below it

use cms_core::{
    Error, FieldError, Result,
    webhooks::{
        Attempt, AttemptDetail, Depth, Job, JobFilter, NewSubscription, Pinged, Redeliver,
        Subscription, SubscriptionPatch,
    },
};

use crate::{
    call::Call,
    request::{bad, moment},
    success::Success,
    wire::{
        Data, Done, NoBody, Noted, OneOrPage, OnlyId,
        envelope::Notes,
        keys::Grace,
        parameters::{ById, NoQuery, OneOrList},
        webhooks::{
            Activated, Activation, Held, OfStatus, Queue, Queued, Read, Redelivery,
            RedeliveryFilter, Removed, ShownSubscription, WhichDeliveries, WhichJobs,
        },
    },
};

pub(crate) async fn read(call: &Call<'_>, asked: OneOrList) -> Result<OneOrPage<Subscription>> {
    let (webhooks, query) = (call.cms.webhooks(), asked.list.query("id")?);
    call.one_or_page(asked.id.map(|id| webhooks.get(id)), webhooks.list(&query)).await
}

pub(crate) async fn create(
    call: &Call<'_>,
    _: NoQuery,
    new: NewSubscription,
) -> Result<Success<Noted<ShownSubscription>>> {
    let webhooks = call.cms.webhooks();
    let warning = webhooks.look_up(&new.url).await?;
    let mut change = call.change().await?;
    let (record, secret) = webhooks.create(&mut change, new).await?;
    let (id, secret) = (record.id, secret.expose());
    let made = noted(ShownSubscription { record, secret: secret.to_owned() }, warning);
    call.commit(change, call.shown_once::<Read, _>(id, made, ("secret", secret))?, true).await
}

pub(crate) async fn update(
    call: &Call<'_>,
    which: ById,
    patch: SubscriptionPatch,
) -> Result<Success<Noted<Subscription>>> {
    let webhooks = call.cms.webhooks();
    let warning = match &patch.url {
        Some(url) => webhooks.look_up(url).await?,
        None => None,
    };
    let mut change = call.change().await?;
    let (subscription, left) = webhooks.update(&mut change, which.id, patch).await?;
    let made = match call.may_read::<Read>(which.id) {
        true => noted(subscription, warning.into_iter().chain(left)).into(),
        false => {
            let left = left.map(|left| FieldError::new(left.field, left.code, REMOVED));
            let told = noted(OnlyId { id: which.id }, warning.into_iter().chain(left));
            Success::json(serde_json::to_string(&told).map_err(Error::internal)?)
        }
    };
    call.commit(change, made, false).await
}

/// What happens to custom headers, for callers that may not know which there are.
const REMOVED: &str = "the address has another origin: all are removed; send them for the new one";

/// A record with the warnings for its owner.
fn noted<T>(data: T, warnings: impl IntoIterator<Item = FieldError>) -> Noted<T> {
    let warnings: Vec<_> = warnings.into_iter().map(|warning| (&warning).into()).collect();
    Noted { data, meta: (!warnings.is_empty()).then_some(Notes { warnings }) }
}

pub(crate) async fn delete(call: &Call<'_>, which: ById) -> Result<Success<Done>> {
    let mut change = call.change().await?;
    call.cms.webhooks().delete(&mut change, which.id).await?;
    call.commit(change, Done, false).await
}

pub(crate) async fn rotate(
    call: &Call<'_>,
    which: ById,
    grace: Grace,
) -> Result<Success<Data<ShownSubscription>>> {
    let mut change = call.change().await?;
    let (record, secret) =
        call.cms.webhooks().rotate_secret(&mut change, which.id, grace.grace_s).await?;
    let (id, secret) = (record.id, secret.expose());
    let data = ShownSubscription { record, secret: secret.to_owned() };
    call.commit(change, call.shown_once::<Read, _>(id, Data { data }, ("secret", secret))?, true)
        .await
}

pub(crate) async fn activate(
    call: &Call<'_>,
    which: ById,
    activation: Activation,
) -> Result<Success<Data<Activated>>> {
    let mut change = call.change().await?;
    let replay = activation.held == Held::Replay;
    let (record, held) = call.cms.webhooks().activate(&mut change, which.id, replay).await?;
    call.commit(change, call.shown::<Read, _>(which.id, Activated { record, held }), false).await
}

pub(crate) async fn ping(call: &Call<'_>, which: ById, _: NoBody) -> Result<Data<Pinged>> {
    call.judge_again().await?;
    call.cms.webhooks().ping(which.id).await.map(|data| Data { data })
}

pub(crate) async fn queue(call: &Call<'_>, asked: WhichJobs) -> Result<OneOrPage<Job>> {
    let webhooks = call.cms.webhooks();
    let mut filter = JobFilter::default();
    filter.subscription = asked.subscription;
    filter.status = plain("status", asked.status)?;
    filter.event_id = plain("event_id", asked.event_id)?;
    let paging = asked.limit.after(asked.cursor, asked.count);
    call.one_or_page(asked.id.map(|id| webhooks.job(id)), webhooks.jobs(&filter, &paging)).await
}

/// How full the queue is.
pub(crate) async fn stats(call: &Call<'_>, _: NoQuery) -> Result<Data<Depth>> {
    call.cms.webhooks().depth().await.map(|data| Data { data })
}

/// Removes settled jobs, at most 1,000.
pub(crate) async fn purge(call: &Call<'_>, which: OfStatus) -> Result<Success<Data<Removed>>> {
    let mut change = call.change().await?;
    let removed = call.cms.webhooks().purge(&mut change, &which.status).await?;
    call.commit(change, Data { data: Removed { removed } }, false).await
}

pub(crate) async fn retry(call: &Call<'_>, which: ById, _: NoBody) -> Result<Success<Data<Job>>> {
    let mut change = call.change().await?;
    let job = call.cms.webhooks().retry_now(&mut change, which.id).await?;
    call.commit(change, call.shown::<Queue, _>(which.id, job), false).await
}

pub(crate) async fn cancel(call: &Call<'_>, which: ById, _: NoBody) -> Result<Success<Data<Job>>> {
    let mut change = call.change().await?;
    let job = call.cms.webhooks().cancel(&mut change, which.id).await?;
    call.commit(change, call.shown::<Queue, _>(which.id, job), false).await
}

pub(crate) async fn deliveries(
    call: &Call<'_>,
    asked: WhichDeliveries,
) -> Result<OneOrPage<Attempt, AttemptDetail>> {
    let webhooks = call.cms.webhooks();
    if let Some(id) = asked.id {
        call.names_one("id")?;
        let mut delivery = webhooks.delivery(id).await?;
        if !call.caller().may_see_payloads(call.cms) {
            // Hide the response too: many receivers repeat what they were sent.
            (delivery.payload, delivery.response) = (None, None);
        }
        return Ok(OneOrPage::one(delivery));
    }
    let mut filter = JobFilter::default();
    filter.job = asked.job;
    filter.event_id = plain("event_id", asked.event_id)?;
    filter.submission = asked.submission;
    filter.subscription = asked.subscription;
    filter.event = plain("event", asked.event)?;
    filter.status = plain("status", asked.status)?;
    filter.since = asked.since.map_or(0, |since| since.0);
    filter.until = asked.until.map(|until| until.0);
    let paging = asked.limit.after(asked.cursor, asked.count);
    let page = webhooks.deliveries(&filter, &paging).await?;
    Ok(OneOrPage::page(page))
}

pub(crate) async fn redeliver(
    call: &Call<'_>,
    _: NoQuery,
    which: Redelivery,
) -> Result<Success<Data<Queued>>> {
    let which = match which {
        Redelivery { ids: Some(ids), filter: None, expected: None } => Redeliver::Ids(ids),
        Redelivery { ids: None, filter: Some(filter), expected: Some(expected) } => {
            Redeliver::Filter { filter: selected(filter)?, expected }
        }
        _ => {
            return Err(Error::invalid_field(
                "ids",
                "required",
                "either ids, or filter and expected",
            ));
        }
    };
    let ids = call.cms.webhooks().chosen(&which).await?;
    let mut change = call.change().await?;
    let queued = call.cms.webhooks().redeliver(&mut change, &ids).await?;
    call.commit(change, Data { data: Queued { queued } }, false).await
}

fn selected(filter: RedeliveryFilter) -> Result<JobFilter> {
    let RedeliveryFilter { event_id, submission, subscription, event, status, since, until } =
        filter;
    let time = |field: &str, text: Option<String>| {
        let time = text.as_deref().map(moment).transpose();
        time.map_err(|error| Error::invalid_field(field, "format", error.detail().to_owned()))
    };
    let mut selected = JobFilter::default();
    selected.event_id = plain("event_id", event_id)?;
    (selected.submission, selected.subscription) = (submission, subscription);
    selected.event = plain("event", event)?;
    selected.status = plain("status", status)?;
    selected.since = time("filter.since", since)?.unwrap_or_default();
    selected.until = time("filter.until", until)?;
    Ok(selected)
}

/// Refuses control characters: no event and no status has any, and PostgreSQL refuses NUL.
fn plain(name: &str, text: Option<String>) -> Result<Option<String>> {
    match text {
        Some(text) if text.contains(char::is_control) => {
            Err(bad(format!("{name} holds a control character.")))
        }
        text => Ok(text),
    }
}
