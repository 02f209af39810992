//! `cms webhooks explain`: who would get an event, through `/api/backend/webhooks/explain`

use std::path::PathBuf;

use clap::Args;
use cms_http::{
    client::Client,
    wire::{
        events::{Event, Explain, ExplainedTo, ToSubscriptions},
        parameters::{Limit, Listing},
    },
};

use crate::{
    input,
    output::{Done, Failure, Output, table},
    reply::LARGEST_PAGE,
};

#[derive(Args, Debug)]
#[command(after_help = "Example:
  echo '{\"order\": {\"id\": 7}}' | cms webhooks explain order.created --data -

Nothing is written, sent or signed.")]
pub(crate) struct ExplainArgs {
    /// Name of the event (cms events list)
    event: String,
    /// File with its data, a JSON object, to show the body too; - for standard input
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
}

pub(super) async fn run(out: &Output, client: &Client, args: ExplainArgs) -> Done {
    let data = args.data.as_deref().map(input::object).transpose()?.unwrap_or_default();
    let event = Event { event: args.event, data };
    let whole = explained(client, &event).await?;
    if !out.json {
        return show(out, &whole.data);
    }
    Ok(out.line(&serde_json::to_string(&whole).map_err(Failure::unexpected)?)?)
}

/// The explanation with the subscriptions of all pages.
async fn explained(client: &Client, event: &Event) -> Done<ExplainedTo> {
    let page = async |cursor| {
        let listing = Listing { limit: Limit(LARGEST_PAGE), cursor, count: None };
        client.call::<Explain>(&listing, event).await
    };
    let mut whole = page(None).await?;
    while let Some(cursor) = whole.meta.next.take() {
        let more = page(Some(cursor)).await?;
        whole.data.subscriptions.extend(more.data.subscriptions);
        whole.meta.next = more.meta.next;
    }
    Ok(whole)
}

fn show(out: &Output, explained: &ToSubscriptions) -> Done {
    let delivery = &explained.explained;
    let mut rows: Vec<_> =
        delivery.headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    rows.extend(delivery.body.clone().map(|body| ("body", body)));
    if let Some(removed) = &delivery.removed {
        let removed = removed.join(", ");
        let removed = if removed.is_empty() { "nothing".to_owned() } else { removed };
        rows.push(("removed from data", removed));
    }
    table::pairs(out, &rows)?;
    if explained.subscriptions.is_empty() {
        out.note("There are no subscriptions, so nobody would get the event.");
        return Ok(());
    }
    out.line("")?;
    let rows: Vec<Vec<_>> = explained
        .subscriptions
        .iter()
        .map(|one| {
            let subscription = &one.subscription;
            let name = subscription.name.clone();
            vec![subscription.id.to_string(), name, one.outcome.clone(), one.reason.clone()]
        })
        .collect();
    Ok(table::rows(out, &["id", "name", "outcome", "reason"], &rows)?)
}
