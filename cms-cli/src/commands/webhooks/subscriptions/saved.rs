//! What is printed after a subscription was saved

use cms_http::wire::{Notes, webhooks::ShownSubscription};
use serde_json::{Value as Json, json};

use crate::{
    output::{Done, Output},
    reply,
};

/// Prints the warnings about a subscription.
pub(super) fn warn(out: &Output, notes: Option<&Notes>) {
    for warning in notes.into_iter().flat_map(|notes| &notes.warnings) {
        out.note(&format!("warning: {}: {}", warning.field, warning.message));
    }
}

/// Prints a subscription with its secret; with `-q` only the secret. Callers who may not see the
/// subscription get its id and the secret.
pub(super) fn secret(
    out: &Output,
    body: &str,
    made: Result<ShownSubscription, (Json, String)>,
) -> Done {
    if out.json || !out.quiet {
        match &made {
            Ok(made) => reply::show(out, body, made)?,
            Err((id, secret)) => reply::show(out, body, &json!({"id": id, "secret": secret}))?,
        }
        out.note("The secret is shown this once. The receiver checks deliveries with it.");
        return Ok(());
    }
    Ok(out.line(&made.map_or_else(|(_, secret)| secret, |made| made.secret))?)
}
