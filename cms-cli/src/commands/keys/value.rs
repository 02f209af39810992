//! The value of a key, which is shown once

use std::path::PathBuf;

use cms_http::client::{Ask, Client};

use crate::{
    output::{Done, Failure, Output, SecretFile, record::Record, table},
    reply::One,
};

/// Sends a request that makes a value, and prints the value or writes it into `file`.
pub(super) async fn obtain(out: &Output, client: &Client, ask: Ask, file: Option<PathBuf>) -> Done {
    // Created first: a value that cannot be written down would be lost.
    let file = file.map(SecretFile::reserve).transpose()?;
    match client.send(ask).await {
        Ok(answer) => show(out, &answer.body, file),
        Err(error) => Err(SecretFile::given_up(file, error)),
    }
}

fn show(out: &Output, body: &str, file: Option<SecretFile>) -> Done {
    let one: One = serde_json::from_str(body).map_err(Failure::unexpected)?;
    let value = one.data.text("key");
    if let Some(mut file) = file {
        file.write(&[&value])?;
        if out.json {
            return Ok(out.line(&without_value(body)?)?);
        }
        out.note(&format!(
            "The key {} is in {}; it is shown nowhere else.",
            one.data.text("id"),
            file.path().display()
        ));
        return Ok(());
    }
    if out.json {
        return Ok(out.line(body)?);
    }
    out.note(&format!(
        "The key {} ({}), shown this once: keep it now.",
        one.data.text("id"),
        one.data.text("name")
    ));
    out.line(&value)?;
    if out.table && !out.quiet {
        out.note("");
        table::records(
            out,
            &["id", "name", "prefix", "active", "expires_on", "rights"],
            &[one.data],
            Record::shown,
        )?;
    }
    Ok(())
}

fn without_value(body: &str) -> Done<String> {
    let mut body: serde_json::Value = serde_json::from_str(body).map_err(Failure::unexpected)?;
    if let Some(record) = body["data"].as_object_mut() {
        record.remove("key");
    }
    Ok(body.to_string())
}
