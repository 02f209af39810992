//! What is printed after a subscription was saved

use cms_http::wire::{envelope::Notes, webhooks::ShownSubscription};

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

/// Prints a subscription with its secret; with `-q` only the secret.
pub(super) fn secret(out: &Output, body: &str, made: &ShownSubscription) -> Done {
    if out.json || !out.quiet {
        reply::show(out, body, made)?;
        out.note("The secret is shown this once. The receiver checks deliveries with it.");
        return Ok(());
    }
    Ok(out.line(&made.secret)?)
}
