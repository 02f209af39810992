//! One record.

use cms_http::client::{Ask, Client};

use super::envelope::One;
use crate::output::{
    Done, Failure, Output,
    record::{Record, Shown},
    table,
};

/// Sends a request and prints the record in the reply.
pub(crate) async fn record(out: &Output, client: &Client, ask: Ask) -> Done {
    record_as(out, client, ask, Record::shown).await
}

/// [`record`] with another way to show columns.
pub(crate) async fn record_as(out: &Output, client: &Client, ask: Ask, shown: Shown) -> Done {
    body(out, &client.send(ask).await?.body, shown)
}

/// Prints the record in a body.
pub(crate) fn body(out: &Output, body: &str, shown: Shown) -> Done {
    if out.json {
        return Ok(out.line(body)?);
    }
    let one: One = serde_json::from_str(body).map_err(Failure::unexpected)?;
    Ok(table::record(out, &one.data, shown)?)
}
