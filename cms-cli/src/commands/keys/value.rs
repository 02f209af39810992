//! The value of a key, which is shown once

use std::path::PathBuf;

use cms_core::keys::ApiKey;
use cms_http::{
    client::Client,
    wire::{Data, Operation, keys::ShownKey},
};

use serde_json::{Value as Json, json};

use crate::{
    output::{Done, Failure, Output, SecretFile, record::Record, table},
    reply,
};

/// Calls an operation that makes a value, and prints the value or writes it into `file`.
pub(super) async fn obtain<O: Operation<Reply = Data<ShownKey>>>(
    out: &Output,
    client: &Client,
    query: &O::Query,
    body: &O::Body,
    file: Option<PathBuf>,
) -> Done {
    // Created first: a value that cannot be written down would be lost.
    let file = file.map(SecretFile::reserve).transpose()?;
    match reply::call_once::<O>(client, query, body).await {
        Ok((answer, Ok(made))) => show(out, &answer.body, &made.data, file),
        Ok((answer, Err((id, value)))) => show_value(out, &answer.body, &id, &value, file),
        Err(failure) => Err(SecretFile::given_up(file, failure)),
    }
}

/// Shows a value to who may see no more of its key.
fn show_value(out: &Output, body: &str, id: &Json, value: &str, file: Option<SecretFile>) -> Done {
    if let Some(mut file) = file {
        file.write(&[value])?;
        let place = file.path().display();
        let told = format!("The key {id} is in {place}; it is shown nowhere else.");
        return out.done(&json!({"id": id}), &told);
    }
    if out.json {
        return Ok(out.line(body)?);
    }
    out.note(&format!("The key {id}, shown this once: keep it now. You may see no more of it."));
    Ok(out.line(value)?)
}

fn show(out: &Output, body: &str, made: &ShownKey, file: Option<SecretFile>) -> Done {
    let ApiKey { id, name, .. } = &made.record;
    if let Some(mut file) = file {
        file.write(&[&made.key])?;
        let place = file.path().display();
        let without = serde_json::to_value(&made.record).map_err(Failure::unexpected)?;
        return out
            .done(&without, &format!("The key {id} is in {place}; it is shown nowhere else."));
    }
    if out.json {
        return Ok(out.line(body)?);
    }
    out.note(&format!("The key {id} ({name}), shown this once: keep it now."));
    out.line(&made.key)?;
    if out.table && !out.quiet {
        out.note("");
        let columns = ["id", "name", "prefix", "active", "expires_on", "rights"];
        table::records(out, &columns, &[Record::of(&made.record)?], Record::shown)?;
    }
    Ok(())
}
