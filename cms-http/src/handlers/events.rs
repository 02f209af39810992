//! `/api/backend/webhooks/events`, `/explain`, `/emit` and `/messages`: known events, a preview
//! of what would be sent, and recorded events

use cms_core::{
    Direction, Emitted, Result,
    webhooks::{DescribedEvent, Message, MessageDetail, MessageFilter, RegisteredEvent},
};
use serde_json::Value as Json;

use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, OneOrPage, Page,
        envelope::Meta,
        events::{Event, ExplainedTo, ListedEvent, Named, ToSubscriptions, WhichMessages},
        parameters::{Listing, NoQuery},
        webhooks::Read,
    },
};

pub(crate) async fn list(
    call: &Call<'_>,
    asked: Named,
) -> Result<OneOrPage<ListedEvent, DescribedEvent>> {
    let webhooks = call.cms.webhooks();
    let query = asked.list.query("name")?;
    if let Some(name) = &asked.name {
        call.names_one("name")?;
        let mut event = webhooks.event(name).await?;
        if !may_know(call, &event.entry) {
            event.hide_record();
        }
        return Ok(OneOrPage::one(event));
    }
    let Page { data, meta } = webhooks.events(&query).await?.into();
    let data = data.into_iter().map(ListedEvent::from).collect();
    Ok(OneOrPage::Page(Page { data, meta }))
}

/// Callers may know the columns of tables that they may read.
fn may_know(call: &Call<'_>, event: &RegisteredEvent) -> bool {
    let table = event.content_table.as_deref();
    table.is_none_or(|table| call.caller().may_read(call.cms, table))
}

pub(crate) async fn explain(
    call: &Call<'_>,
    listing: Listing,
    Event { event, data }: Event,
) -> Result<ExplainedTo> {
    call.judge_again().await?;
    let (explained, mut page) =
        call.cms.webhooks().explain(&event, data, &listing.paging()).await?;
    // Addresses often hold a receiver's token: show only subscriptions that the caller may read.
    page.data.retain(|one| call.may_read::<Read>(one.subscription.id));
    let total = page.total.filter(|_| call.caller().may_see_webhooks(call.cms));
    let meta = Meta { limit: page.limit, next: page.next, total };
    Ok(ExplainedTo { data: ToSubscriptions { explained, subscriptions: page.data }, meta })
}

pub(crate) async fn emit(
    call: &Call<'_>,
    _: NoQuery,
    Event { event, data }: Event,
) -> Result<Success<Data<Emitted>>> {
    // Judge before the change begins: large data takes time, and SQLite has one writer.
    let judged = call.cms.webhooks().judge(&event, data).await?;
    let mut change = call.change().await?;
    let data = call.cms.webhooks().emit(&mut change, judged).await?;
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn messages(
    call: &Call<'_>,
    asked: WhichMessages,
) -> Result<OneOrPage<Message, MessageDetail>> {
    let webhooks = call.cms.webhooks();
    if let Some(id) = &asked.id {
        call.names_one("id")?;
        let mut message = webhooks.message(id).await?;
        if !call.caller().may_see_payloads(call.cms) {
            message.payload = Json::Null;
        }
        return Ok(OneOrPage::one(message));
    }
    let mut filter = MessageFilter::default();
    filter.event = asked.event;
    filter.since = asked.since.map_or(i64::MIN, |since| since.0);
    let mut paging = asked.limit.after(asked.cursor, asked.count);
    if asked.oldest_first == Some(true) {
        paging.direction = Direction::Backward;
    }
    Ok(OneOrPage::page(webhooks.messages(&filter, &paging).await?))
}
