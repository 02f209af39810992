//! One record.

use cms_http::client::{Ask, Client};

use super::envelope::One;
use crate::output::{
    Done, Failure, Output,
    record::{Record, Shown},
    table,
};

/// Sends, and prints the record that comes back.
pub(crate) async fn record(out: &Output, client: &Client, ask: Ask) -> Done {
    record_as(out, client, ask, Record::shown).await
}

/// As [`record`], with columns shown in another way.
pub(crate) async fn record_as(out: &Output, client: &Client, ask: Ask, shown: Shown) -> Done {
    body(out, &client.send(ask).await?.body, shown)
}

/// Prints the record of a body.
pub(crate) fn body(out: &Output, body: &str, shown: Shown) -> Done {
    if out.json {
        return Ok(out.line(body)?);
    }
    let one: One = serde_json::from_str(body).map_err(Failure::unexpected)?;
    Ok(table::record(out, &one.data, shown)?)
}
