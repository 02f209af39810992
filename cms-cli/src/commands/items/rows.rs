//! Prints the rows in a reply, and deletes rows

use cms_http::{
    client::{Ask, Client},
    wire::{
        Data, NoBody,
        item::{Delete, OneOrMany, Which},
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output, record::Record, table},
    prompt, reply,
};

/// Sends a request and prints the rows in the reply: one or several.
pub(super) async fn print(out: &Output, client: &Client, ask: Ask) -> Done {
    let answer = client.send(ask).await?;
    if let Some(etag) = &answer.etag {
        out.detail(&format!("ETag: {etag}"));
    }
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let reply: Data<OneOrMany> = serde_json::from_str(&answer.body).map_err(Failure::unexpected)?;
    match reply.data {
        OneOrMany::One(row) => reply::show(out, &answer.body, &row),
        OneOrMany::Many(rows) => {
            let rows: Vec<Record> = rows.iter().map(Record::of).collect::<Done<_>>()?;
            Ok(table::records(out, &[], &rows, Record::shown)?)
        }
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
        let which = Which { table: table.to_owned(), id: id.clone(), language: None };
        if let Err(error) = client.call::<Delete>(&which, &NoBody).await {
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
