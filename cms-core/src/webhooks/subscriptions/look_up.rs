//! Where the host of a webhook leads, told to whoever saves it.

use crate::{Error, FieldError, Result, outbound::Refused, webhooks::Webhooks};

impl Webhooks {
    /// Judges where a host leads now, by the rule of every attempt. To be called before
    /// [`Webhooks::create`] and [`Webhooks::update`] are given their change: a look-up takes up to
    /// 5 s, for which no other writer should wait. Returns what its owner should know: a name that
    /// is not found may be found later. What those two refuse anyway is left to them.
    ///
    /// # Errors
    /// `validation_failed` for a name with a forbidden address.
    pub async fn look_up(&self, url: &str) -> Result<Option<FieldError>> {
        let sender = &self.0.http;
        let Ok(url) = sender.rule().check_url(url) else { return Ok(None) };
        let host = url.host_str().unwrap_or_default();
        match sender.look_up(&url).await {
            Ok(()) => Ok(None),
            Err(Refused::Unknown(why)) => {
                let message =
                    format!("{host} is not found now ({why}): deliveries fail until it is");
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
