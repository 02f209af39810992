//! `cms webhooks explain`: who would get an event, through `/api/backend/webhooks/explain`

use std::path::PathBuf;

use clap::Args;
use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use crate::{
    input,
    output::{Done, Output, record::text, table},
    reply::LARGEST_PAGE,
};

#[derive(Args, Debug)]
#[command(after_help = "Example:
  echo '{\"order\": {\"id\": 7}}' | cms webhooks explain order.created --data -

Nothing is written, sent or signed.")]
pub(crate) struct ExplainArgs {
    /// Name of the event (cms events list)
    event: String,
    /// File with its data, a JSON object; - for standard input
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
}

pub(super) async fn run(out: &Output, client: &Client, args: ExplainArgs) -> Done {
    let data = args.data.as_deref().map_or(Ok(json!({})), input::object)?;
    let ask = Ask::post("/api/backend/webhooks/explain")
        .json(&json!({"event": args.event, "data": data}));
    let mut whole = Json::Null;
    let mut cursor = None;
    loop {
        let ask = ask.clone().query("limit", LARGEST_PAGE).maybe("cursor", cursor.as_ref());
        let mut page = client.send(ask).await?.json()?;
        cursor = page["meta"]["next"].as_str().map(str::to_owned);
        match (
            whole["data"]["subscriptions"].as_array_mut(),
            page["data"]["subscriptions"].as_array_mut(),
        ) {
            (Some(all), Some(more)) => all.append(more),
            _ => whole = page,
        }
        if cursor.is_none() {
            break;
        }
    }
    whole["meta"]["next"] = Json::Null;
    if out.json { Ok(out.line(&whole.to_string())?) } else { show(out, &whole["data"]) }
}

fn show(out: &Output, explained: &Json) -> Done {
    let members = |value: &Json| value.as_object().cloned().unwrap_or_default();
    let elements = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let removed = elements(&explained["removed"]).iter().map(text).collect::<Vec<_>>().join(", ");
    let headers = members(&explained["headers"]);
    let mut rows: Vec<_> =
        headers.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
    rows.push(("body", text(&explained["body"])));
    rows.push((
        "removed from data",
        if removed.is_empty() { "nothing".to_owned() } else { removed },
    ));
    table::pairs(out, &rows)?;
    let subscriptions = elements(&explained["subscriptions"]);
    if subscriptions.is_empty() {
        out.note("There are no subscriptions, so nobody would get the event.");
        return Ok(());
    }
    out.line("")?;
    let columns = ["id", "name", "outcome", "reason"];
    let rows: Vec<Vec<_>> =
        subscriptions.iter().map(|one| columns.map(|column| text(&one[column])).into()).collect();
    Ok(table::rows(out, &columns, &rows)?)
}
