//! Secrets of subscriptions. They never stand on the command line, which others can see.

use std::path::PathBuf;

use clap::Args;
use cms_core::{Secret, webhooks::standard_signature};

use crate::{
    environment, input,
    output::{Done, Failure},
};

const VARIABLE: &str = "CMS_WEBHOOK_SECRET";

/// Flags that tell where the secrets are.
#[derive(Args, Debug)]
pub(super) struct SecretArgs {
    /// File with the secret; with several while one replaces another, one a line. Without it:
    /// CMS_WEBHOOK_SECRET in the environment
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl SecretArgs {
    /// The given secrets; empty when none are given.
    pub(super) fn given(&self) -> Done<Vec<Secret>> {
        let (text, place) = match (&self.secret_file, environment::variable(VARIABLE)) {
            (Some(file), _) => (input::text(file)?, file.display().to_string()),
            (None, Some(text)) => (text, VARIABLE.to_owned()),
            (None, None) => return Ok(Vec::new()),
        };
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let secrets: Vec<Secret> =
            lines.map(|line| checked(Secret::new(line), &place)).collect::<Done<_>>()?;
        if secrets.is_empty() {
            return Err(no_secret(&place));
        }
        Ok(secrets)
    }
}

/// Returns the secret if its form is right.
pub(super) fn checked(secret: Secret, place: &str) -> Done<Secret> {
    match standard_signature(secret.expose(), "", 0, b"") {
        Some(_) => Ok(secret),
        None => Err(no_secret(place)),
    }
}

/// The text itself is not repeated: it may be another secret.
fn no_secret(place: &str) -> Failure {
    Failure::usage(format!("{place} holds no secret of a subscription"))
        .hint("write it as cms webhooks create or rotate-secret printed it: whsec_ and base64")
}
