//! Looks up a webhook's host while the webhook is being saved.

use crate::{Error, FieldError, Result, outbound::Refused, webhooks::Webhooks};

impl Webhooks {
    /// Looks up the URL's host and applies the address rule of every attempt. Call it before
    /// [`Webhooks::create`] and [`Webhooks::update`] get their change: a look-up takes up to 5 s,
    /// and no other writer should wait that long. Returns a warning when the name is not found,
    /// because it may be found later. URLs that those two methods refuse are left to them.
    ///
    /// # Errors
    /// `validation_failed` when the name has a forbidden address.
    pub async fn look_up(&self, url: &str) -> Result<Option<FieldError>> {
        let sender = &self.0.http;
        let Ok(url) = sender.rule().check_url(url) else { return Ok(None) };
        let host = url.host_str().unwrap_or_default();
        match sender.look_up(&url).await {
            Ok(()) => Ok(None),
            Err(Refused::Unknown(why) | Refused::Unanswered(why)) => {
                let message = format!("{host} is not found ({why}): deliveries fail until it is");
                Ok(Some(FieldError { field: "url".to_owned(), code: "unresolved", message }))
            }
            Err(Refused::Forbidden(why)) => Err(Error::invalid_field(
                "url",
                "address",
                format!("{host}: {why}; webhooks.allow_cidrs opens networks"),
            )),
        }
    }
}
