//! `/api/backend/webhooks` and what hangs below it

use cms_core::{
    Error, FieldError, Result,
    webhooks::{
        JobFilter, NewSubscription, Redeliver, Subscription, SubscriptionPatch, WebhookSecret,
    },
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::{
    call::Call,
    reply::Reply,
    request::{bad, moment},
};

pub(crate) async fn read(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "limit", "cursor"])?;
    if call.request.parameter("id").is_some() {
        return Reply::of(StatusCode::OK, &call.cms.webhooks().get(call.id()?).await?);
    }
    let paging = call.request.paging()?;
    Reply::page(&call.cms.webhooks().list(&paging).await?)
}

pub(crate) async fn create(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let new: NewSubscription = call.typed()?;
    let warning = call.cms.webhooks().look_up(&new.url).await?;
    let mut change = call.change().await?;
    let (subscription, secret) = call.cms.webhooks().create(&mut change, new).await?;
    call.commit(
        change,
        warned(StatusCode::CREATED, &with_secret(&subscription, &secret)?, warning)?,
        true,
    )
    .await
}

pub(crate) async fn update(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let (id, patch): (_, SubscriptionPatch) = (call.id()?, call.typed()?);
    let warning = match &patch.url {
        Some(url) => call.cms.webhooks().look_up(url).await?,
        None => None,
    };
    let mut change = call.change().await?;
    let subscription = call.cms.webhooks().update(&mut change, id, patch).await?;
    call.commit(change, warned(StatusCode::OK, &subscription, warning)?, false).await
}

/// A record, beside it what its owner should know.
fn warned(
    status: StatusCode,
    record: &impl Serialize,
    warning: Option<FieldError>,
) -> Result<Reply> {
    match warning {
        Some(warning) => Reply::with_meta(status, record, &json!({"warnings": [warning]})),
        None => Reply::of(status, record),
    }
}

pub(crate) async fn delete(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let id = call.id()?;
    let mut change = call.change().await?;
    call.cms.webhooks().delete(&mut change, id).await?;
    call.commit(change, Reply::no_content(), false).await
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rotation {
    grace_s: i64,
}

pub(crate) async fn rotate(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let (id, rotation): (_, Rotation) = (call.id()?, call.typed()?);
    let mut change = call.change().await?;
    let (subscription, secret) =
        call.cms.webhooks().rotate_secret(&mut change, id, rotation.grace_s).await?;
    call.commit(change, Reply::of(StatusCode::OK, &with_secret(&subscription, &secret)?)?, true)
        .await
}

/// Only replies to creation and rotation hold the secret of a webhook.
fn with_secret(subscription: &Subscription, secret: &WebhookSecret) -> Result<Json> {
    let mut record = serde_json::to_value(subscription).map_err(Error::internal)?;
    record["secret"] = secret.expose().into();
    Ok(record)
}

/// What becomes of the jobs that were held.
#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Held {
    #[default]
    Replay,
    Drop,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Activation {
    held: Held,
}

pub(crate) async fn activate(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let (id, activation): (_, Activation) = (call.id()?, call.typed()?);
    let mut change = call.change().await?;
    let (subscription, held) = call
        .cms
        .webhooks()
        .activate(&mut change, id, matches!(activation.held, Held::Replay))
        .await?;
    let mut record = serde_json::to_value(&subscription).map_err(Error::internal)?;
    record["held"] = held.into();
    call.commit(change, Reply::of(StatusCode::OK, &record)?, false).await
}

pub(crate) async fn ping(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    Reply::of(StatusCode::OK, &call.cms.webhooks().ping(call.id()?).await?)
}

pub(crate) async fn queue(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "status", "subscription", "limit", "cursor"])?;
    let webhooks = call.cms.webhooks();
    if call.request.parameter("id").is_some() {
        return Reply::of(StatusCode::OK, &webhooks.job(call.id()?).await?);
    }
    let paging = call.request.paging()?;
    Reply::page(&webhooks.jobs(&filter(call)?, &paging).await?)
}

/// How full the queue is.
pub(crate) async fn stats(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    Reply::of(StatusCode::OK, &call.cms.webhooks().depth().await?)
}

/// Removes settled jobs, 1,000 at most.
pub(crate) async fn purge(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["status"])?;
    let mut change = call.change().await?;
    let removed = call.cms.webhooks().purge(&mut change, call.request.required("status")?).await?;
    call.commit(change, Reply::of(StatusCode::OK, &json!({"removed": removed}))?, false).await
}

pub(crate) async fn retry(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let id = call.id()?;
    let mut change = call.change().await?;
    let job = call.cms.webhooks().retry_now(&mut change, id).await?;
    call.commit(change, Reply::of(StatusCode::OK, &job)?, false).await
}

pub(crate) async fn cancel(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let id = call.id()?;
    let mut change = call.change().await?;
    let job = call.cms.webhooks().cancel(&mut change, id).await?;
    call.commit(change, Reply::of(StatusCode::OK, &job)?, false).await
}

pub(crate) async fn deliveries(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "subscription", "event", "status", "since", "limit", "cursor"])?;
    let webhooks = call.cms.webhooks();
    if call.request.parameter("id").is_some() {
        let mut delivery = webhooks.delivery(call.id()?).await?;
        if !call.caller.may_see_payloads() {
            // The answer too: many receivers repeat what they were sent.
            (delivery.payload, delivery.response) = (None, None);
        }
        return Reply::of(StatusCode::OK, &delivery);
    }
    let paging = call.request.paging()?;
    Reply::page(&webhooks.deliveries(&filter(call)?, &paging).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Redelivery {
    #[serde(default)]
    ids: Option<Vec<i64>>,
    #[serde(default)]
    filter: Option<FilterBody>,
    #[serde(default)]
    expected: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilterBody {
    #[serde(default)]
    subscription: Option<i64>,
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    since: Option<String>,
}

pub(crate) async fn redeliver(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let which = match call.typed()? {
        Redelivery { ids: Some(ids), filter: None, expected: None } => Redeliver::Ids(ids),
        Redelivery {
            ids: None,
            filter: Some(FilterBody { subscription, event, status, since }),
            expected: Some(expected),
        } => {
            let since = since.as_deref().map_or(Ok(0), moment);
            let since = since.map_err(|error| {
                Error::invalid_field("filter.since", "format", error.detail().to_owned())
            })?;
            let (event, status) = (plain("event", event)?, plain("status", status)?);
            Redeliver::Filter { filter: JobFilter { subscription, event, status, since }, expected }
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
    call.commit(change, Reply::of(StatusCode::OK, &json!({"queued": queued}))?, false).await
}

/// No event and no status has control characters, and PostgreSQL takes no NUL.
fn plain(name: &str, text: Option<String>) -> Result<Option<String>> {
    match text {
        Some(text) if text.contains(char::is_control) => {
            Err(bad(format!("{name} holds a control character.")))
        }
        text => Ok(text),
    }
}

fn filter(call: &Call<'_>) -> Result<JobFilter> {
    let text = |name: &str| plain(name, call.request.parameter(name).map(str::to_owned));
    let subscription = call.request.parameter("subscription").map(str::parse).transpose();
    Ok(JobFilter {
        subscription: subscription.map_err(|_| bad("subscription is a whole number."))?,
        event: text("event")?,
        status: text("status")?,
        since: call.request.parameter("since").map_or(Ok(0), moment)?,
    })
}
