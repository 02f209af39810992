//! Prints the rows in a reply, and deletes rows

use cms_http::client::{Ask, Client};
use serde::Deserialize;
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output, record::Record, table},
    prompt,
    reply::One,
};

#[derive(Deserialize)]
struct Several {
    data: Vec<Record>,
}

/// Sends a request and prints the rows in the reply: one or several.
pub(super) async fn print(out: &Output, client: &Client, ask: Ask) -> Done {
    let answer = client.send(ask).await?;
    if let Some(etag) = &answer.etag {
        out.detail(&format!("ETag: {etag}"));
    }
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    // The reply to several new rows has no meta.
    let several: Result<Several, _> = serde_json::from_str(&answer.body);
    match several {
        Ok(several) => Ok(table::records(out, &[], &several.data, Record::shown)?),
        Err(_) => Ok(table::record(
            out,
            &serde_json::from_str::<One>(&answer.body).map_err(Failure::unexpected)?.data,
            Record::shown,
        )?),
    }
}

/// Deletes rows after a question. Stops at the first failure.
pub(super) async fn delete(
    flags: &Flags,
    out: &Output,
    client: &Client,
    table: &str,
    ids: &[String],
) -> Done {
    prompt::confirm(
        flags,
        &format!("Delete {} of {table}? This cannot be undone.", ids.join(", ")),
    )?;
    for (done, id) in ids.iter().enumerate() {
        if let Err(error) = client
            .send(Ask::delete("/api/backend/item").query("table", table).query("id", id))
            .await
        {
            let mut failure = Failure::from(error);
            if done == 0 {
                return Err(failure);
            }
            out.note(&format!("Deleted before the failure: {}", ids[..done].join(", ")));
            failure.exit = Exit::Partly;
            return Err(failure.fact("deleted", ids[..done].to_vec()));
        }
    }
    out.done(&json!({"deleted": ids}), &format!("Deleted: {}", ids.join(", ")))
}
