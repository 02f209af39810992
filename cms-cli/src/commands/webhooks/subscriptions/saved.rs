//! What is printed after a subscription was saved

use cms_http::client::Answer;
use serde_json::Value as Json;

use crate::{
    output::{
        Done, Failure, Output,
        record::{Record, text},
    },
    reply,
};

/// Prints the warnings about a subscription.
pub(super) fn warn(out: &Output, answer: &Answer) -> Done {
    for warning in answer.json()?["meta"]["warnings"].as_array().into_iter().flatten() {
        out.note(&format!("warning: {}: {}", text(&warning["field"]), text(&warning["message"])));
    }
    Ok(())
}

/// Prints a subscription with its secret; with `-q` only the secret.
pub(super) fn secret(out: &Output, body: &str) -> Done {
    if out.json || !out.quiet {
        reply::body(out, body, Record::shown)?;
        out.note("The secret is shown this once. The receiver checks deliveries with it.");
        return Ok(());
    }
    let one: Json = serde_json::from_str(body).map_err(Failure::unexpected)?;
    Ok(out.line(one["data"]["secret"].as_str().unwrap_or_default())?)
}
