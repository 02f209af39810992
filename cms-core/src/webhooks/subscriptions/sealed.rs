//! Secrets and header values as the database keeps them.

use std::collections::BTreeMap;

use reqwest::Url;

use super::{MASK, sql};
use crate::{
    FieldError, MAX_LIMIT, Result,
    webhooks::{Webhooks, rules::sign::WebhookSecret},
};

impl Webhooks {
    /// Encrypts header values; a masked value keeps the present one.
    pub(super) fn sealed(
        &self,
        id: i64,
        headers: &BTreeMap<String, String>,
        present: &[(String, String)],
    ) -> Result<Vec<(String, String)>> {
        let seal = |(name, value): (&String, &String)| {
            let kept =
                present.iter().find(|(known, _)| value == MASK && known.eq_ignore_ascii_case(name));
            let sealed = match kept {
                Some((_, sealed)) => sealed.clone(),
                None => self.0.base.vault().seal(&header_context(id), value.as_bytes())?,
            };
            Ok((name.to_ascii_lowercase(), sealed))
        };
        headers.iter().map(seal).collect()
    }

    pub(super) fn seal_secret(&self, id: i64, secret: &WebhookSecret) -> Result<String> {
        self.0.base.vault().seal(&secret_context(id), secret.expose().as_bytes())
    }
}

impl Webhooks {
    /// Whether each secret and header value of the first subscriptions opens.
    pub(crate) async fn secrets_open(&self) -> Result<Vec<bool>> {
        let (base, mut opens) = (&self.0.base, Vec::new());
        let mut open = |context: &str, sealed: &str| {
            opens.push(base.vault().open(context, sealed).is_ok());
        };
        for (id, secret) in sql::old_secrets(base.db()).await? {
            open(&secret_context(id), &secret);
        }
        for stored in sql::first(base.db(), MAX_LIMIT).await? {
            open(&secret_context(stored.id), &stored.secret);
            for (_, value) in &stored.custom_headers {
                open(&header_context(stored.id), value);
            }
        }
        Ok(opens)
    }
}

/// Whether the second address belongs to another receiver: its scheme, host or port differ.
pub(super) fn is_elsewhere(old: &str, new: &str) -> bool {
    let origin = |url: &str| Url::parse(url).ok().map(|url| url.origin());
    origin(old) != origin(new)
}

/// What the owner should know of headers that another receiver must not get.
pub(super) fn left_behind(headers: &[(String, String)]) -> Option<FieldError> {
    let names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
    (!names.is_empty()).then(|| FieldError {
        field: "custom_headers".to_owned(),
        code: "removed",
        message: format!(
            "the address has another origin: {} removed; send the values again for the new one",
            names.join(", ")
        ),
    })
}

/// The vault's context for a secret: it can be decrypted for this subscription only.
pub(in crate::webhooks) fn secret_context(id: i64) -> String {
    format!("webhook_subscriptions.secret:{id}")
}

pub(in crate::webhooks) fn header_context(id: i64) -> String {
    format!("webhook_subscriptions.custom_headers:{id}")
}
