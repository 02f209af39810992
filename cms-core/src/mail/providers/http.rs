//! An attempt over the HTTP API of a provider.

use bytes::Bytes;
use serde_json::Value as Json;

use super::{
    End,
    kinds::{KINDS, Kind},
};
use crate::{
    Secret,
    mail::{address::Sender, outbox::Outgoing, rules::Outcome},
    outbound::HttpClient,
    settings::{Cidr, MailProvider, WebhookSettings},
};

/// Every network is allowed: the operator chooses the server in the settings.
const EVERYWHERE: [&str; 2] = ["0.0.0.0/0", "::/0"];

/// A provider with an HTTP API.
pub(super) struct Http {
    kind: &'static Kind,
    url: String,
    token: Option<Secret>,
    client: HttpClient,
}

impl Http {
    /// # Errors
    /// What is wrong with the settings.
    pub(super) fn new(settings: &MailProvider, timeout_s: u64) -> Result<Self, String> {
        let kind = KINDS.iter().find(|known| Some(known.name) == settings.kind.as_deref());
        let kind = kind.ok_or("its kind is unknown")?;
        let url = settings.url.clone().or_else(|| kind.url.map(str::to_owned));
        let allow_cidrs = EVERYWHERE.iter().filter_map(|net| net.parse::<Cidr>().ok()).collect();
        let rules = WebhookSettings {
            allow_cidrs,
            allow_http: true,
            timeout_s,
            ..WebhookSettings::default()
        };
        Ok(Self {
            kind,
            url: url.ok_or("its url is missing")?,
            token: settings.token.clone(),
            client: HttpClient::new(&rules).map_err(|error| error.to_string())?.keeping_all(),
        })
    }

    pub(super) fn kind(&self) -> &'static str {
        self.kind.name
    }

    /// Scheme, host and port.
    pub(super) fn server(&self) -> String {
        let origin = reqwest::Url::parse(&self.url).map(|url| url.origin().ascii_serialization());
        origin.unwrap_or_default()
    }

    pub(super) async fn send(&self, sender: &Sender, mail: &Outgoing) -> End {
        if self.kind.is_ascii_only && !mail.to.is_ascii() {
            let why = "the address has letters that this provider does not take";
            return End::because(Outcome::Refused, why);
        }
        let body = (self.kind.body)(sender, mail).to_string();
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "application/json".to_owned()),
            ("idempotency-key".to_owned(), mail.message_id.clone()),
        ];
        if let Some(token) = &self.token {
            let (name, value) = (self.kind.token)(token.expose());
            headers.push((name.to_owned(), value));
        }
        let reply = self.client.post(&self.url, headers, Bytes::from(body)).await;
        let said = reply.response.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let said = said.unwrap_or(Json::Null);
        if reply.is_local() {
            let mut reply = reply;
            let reason = reply.message();
            let is_suspect = reply.blame_receiver();
            return End { is_suspect, ..End::because(Outcome::Local, reason) };
        }
        let status = match reply.status {
            Some(status) if reply.is_whole || reply.is_success() => status,
            // The unread part may say that the account is at fault, not the mail.
            Some(status @ 400..=499) => {
                let why = format!("answered {status} without a complete body");
                return End::because(Outcome::Fault, why);
            }
            _ => return End::because(Outcome::Fault, self.without_token(&reply.message())),
        };
        if reply.is_success() {
            return match &said[self.kind.id] {
                Json::String(id) => End::sent(Some(id.clone())),
                Json::Number(id) => End::sent(Some(id.to_string())),
                _ => {
                    let why = format!("answered {status} without {:?}", self.kind.id);
                    End::because(Outcome::Fault, why)
                }
            };
        }
        let why = said[self.kind.message].as_str().unwrap_or_default();
        let why = self.without_token(format!("answered {status} {why}").trim_end());
        End::because(outcome_of(self.kind, status, &said), why)
    }

    /// Removes the token from a provider's text, which may repeat it.
    fn without_token(&self, text: &str) -> String {
        match &self.token {
            Some(token) if !token.expose().is_empty() => text.replace(token.expose(), "***"),
            _ => text.to_owned(),
        }
    }
}

/// What a status other than 2xx means.
fn outcome_of(kind: &Kind, status: u16, said: &Json) -> Outcome {
    match status {
        400..=499 if (kind.is_bad_recipient)(said) => Outcome::Recipient,
        // The account is at fault: every mail would fail.
        400..=499 if (kind.is_fault)(said) => Outcome::Fault,
        // The same mail is under way.
        409 => Outcome::Deferred,
        // The mail itself is refused: its form, its size, its content.
        400 | 413 | 415 | 422 => Outcome::Refused,
        // Credentials, address, quota, or the service itself.
        _ => Outcome::Fault,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses() {
        let bad = json!({"error": "bad_recipient"});
        let credits = json!({"code": "not_enough_credits"});
        let none = Json::Null;
        let pm = |code: u64| json!({"ErrorCode": code, "Message": "x"});
        for (kind, status, said, outcome) in [
            ("json", 422, &bad, Outcome::Recipient),
            ("json", 400, &none, Outcome::Refused),
            ("json", 409, &none, Outcome::Deferred),
            ("json", 413, &none, Outcome::Refused),
            ("json", 401, &none, Outcome::Fault),
            ("json", 402, &none, Outcome::Fault),
            ("json", 404, &none, Outcome::Fault),
            ("json", 429, &none, Outcome::Fault),
            ("json", 302, &none, Outcome::Fault),
            ("json", 500, &bad, Outcome::Fault),
            ("json", 503, &none, Outcome::Fault),
            ("postmark", 422, &pm(406), Outcome::Recipient),
            ("postmark", 422, &pm(300), Outcome::Refused),
            ("postmark", 422, &pm(400), Outcome::Fault),
            ("postmark", 422, &pm(401), Outcome::Fault),
            ("postmark", 422, &pm(405), Outcome::Fault),
            ("postmark", 422, &pm(412), Outcome::Fault),
            ("brevo", 400, &credits, Outcome::Fault),
            ("brevo", 400, &none, Outcome::Refused),
        ] {
            let kind = KINDS.iter().find(|known| known.name == kind).expect("a kind");
            assert_eq!(outcome_of(kind, status, said), outcome, "{} {status} {said}", kind.name);
        }
    }
}
