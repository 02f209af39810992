//! One row or several: shown as they come back, removed one by one

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

/// Sends, and prints what comes back: one record or several.
pub(super) async fn print(out: &Output, client: &Client, ask: Ask) -> Done {
    let answer = client.send(ask).await?;
    if let Some(etag) = &answer.etag {
        out.detail(&format!("ETag: {etag}"));
    }
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    // Without paging there is no meta.
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

/// Removes rows after a question; stops at the first that cannot be removed.
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
            out.note(&format!("Deleted before that: {}", ids[..done].join(", ")));
            failure.exit = Exit::Partly;
            return Err(failure.fact("deleted", ids[..done].to_vec()));
        }
    }
    out.done(&json!({"deleted": ids}), &format!("Deleted: {}", ids.join(", ")))
}
