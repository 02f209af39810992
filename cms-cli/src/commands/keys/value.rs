//! The value of a key, which is shown once

use std::path::PathBuf;

use cms_core::keys::ApiKey;
use cms_http::{
    client::Client,
    wire::{Data, Operation, keys::ShownKey},
};

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
    match reply::call::<O>(client, query, body).await {
        Ok((answer, made)) => show(out, &answer.body, &made.data, file),
        Err(failure) => Err(SecretFile::given_up(file, failure)),
    }
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
