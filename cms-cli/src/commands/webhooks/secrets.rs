//! Secrets of webhooks, from anywhere but the command line, which others can see.

use std::path::PathBuf;

use clap::Args;
use cms_core::{settings::Secret, webhooks::standard_signature};

use crate::{
    input,
    output::{Done, Failure},
};

const VARIABLE: &str = "CMS_WEBHOOK_SECRET";

/// Where the secrets are.
#[derive(Args, Debug)]
pub(super) struct SecretArgs {
    /// File with the secret, or several while one replaces another, a line each [else:
    /// CMS_WEBHOOK_SECRET in the environment]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl SecretArgs {
    /// The secrets that are given; none is no error.
    pub(super) fn given(&self) -> Done<Vec<Secret>> {
        let (text, place) = match (&self.secret_file, std::env::var(VARIABLE)) {
            (Some(file), _) => (input::text(file)?, file.display().to_string()),
            (None, Ok(text)) => (text, VARIABLE.to_owned()),
            (None, Err(_)) => return Ok(Vec::new()),
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

/// A secret that has the form of one.
pub(super) fn checked(secret: Secret, place: &str) -> Done<Secret> {
    match standard_signature(secret.expose(), "", 0, b"") {
        Some(_) => Ok(secret),
        None => Err(no_secret(place)),
    }
}

/// The text is not repeated: it may be another secret.
fn no_secret(place: &str) -> Failure {
    Failure::usage(format!("{place} holds no secret of a webhook"))
        .hint("whsec_ and base64, as `cms webhooks create` or `rotate-secret` showed it once")
}
