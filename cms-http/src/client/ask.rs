//! A call before it is sent.

use http::{HeaderName, Method, header, uri::PathAndQuery};
use serde_json::Value as Json;

use super::ClientError;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub(super) const JSON: &str = "application/json";

/// A request to be made.
#[derive(Clone, Debug)]
pub struct Ask {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) body: Option<String>,
    pub(super) content_type: &'static str,
    if_match: Option<String>,
    idempotency_key: Option<String>,
    pub(super) last_event_id: Option<String>,
}

impl Ask {
    pub(super) fn new(method: Method, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            query: Vec::new(),
            body: None,
            content_type: JSON,
            if_match: None,
            idempotency_key: None,
            last_event_id: None,
        }
    }

    /// Reads.
    #[must_use]
    pub fn get(path: &str) -> Self {
        Self::new(Method::GET, path)
    }

    /// Creates or acts.
    #[must_use]
    pub fn post(path: &str) -> Self {
        Self::new(Method::POST, path)
    }

    /// Changes.
    #[must_use]
    pub fn patch(path: &str) -> Self {
        Self::new(Method::PATCH, path)
    }

    /// Removes.
    #[must_use]
    pub fn delete(path: &str) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// Any call. `target` is the percent-encoded path and query.
    ///
    /// # Errors
    /// [`ClientError::Unexpected`] for a method or a target that no request can have.
    pub fn raw(method: &str, target: &str) -> Result<Self, ClientError> {
        let wrong = |what: &str| Err(ClientError::Unexpected(what.to_owned()));
        let Ok(method) = Method::from_bytes(method.as_bytes()) else {
            return wrong("a method such as GET, POST, PATCH or DELETE is expected");
        };
        let is_path = target.starts_with('/') && !target.contains('#');
        match target.parse::<PathAndQuery>() {
            Ok(_) if is_path => Ok(Self::new(method, target)),
            _ => wrong("a path such as /api/pages?language=en is expected, percent-encoded"),
        }
    }

    /// Adds a query parameter, which is percent-encoded.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl ToString) -> Self {
        self.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a query parameter when there is a value.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    /// Sends JSON.
    #[must_use]
    pub fn json(mut self, body: &Json) -> Self {
        self.body = Some(body.to_string());
        self
    }

    /// Sends JSON text as it is.
    #[must_use]
    pub fn text(mut self, body: String) -> Self {
        self.body = Some(body);
        self
    }

    /// Makes the call fail unless the record still has this entity tag.
    #[must_use]
    pub fn if_match(mut self, etag: Option<String>) -> Self {
        self.if_match = etag;
        self
    }

    /// With this key a repetition does nothing and gets the first reply.
    #[must_use]
    pub fn idempotency_key(mut self, key: String) -> Self {
        self.idempotency_key = Some(key);
        self
    }

    /// Method, path and query, for people and tests.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.target())
    }

    /// The body to be sent, if any.
    #[must_use]
    pub fn body(&self) -> Option<&str> {
        self.body.as_deref()
    }

    pub(super) fn target(&self) -> String {
        if self.query.is_empty() {
            self.path.clone()
        } else {
            format!("{}?{}", self.path, encoded(&self.query))
        }
    }

    pub(super) fn headers(&self) -> Vec<(header::HeaderName, String)> {
        let mut headers = vec![(header::ACCEPT, "application/json".to_owned())];
        if self.body.is_some() {
            headers.push((header::CONTENT_TYPE, self.content_type.to_owned()));
        }
        headers.extend(self.if_match.clone().map(|tag| (header::IF_MATCH, tag)));
        headers.extend(
            self.idempotency_key
                .clone()
                .map(|key| (header::HeaderName::from_static("idempotency-key"), key)),
        );
        headers.extend(self.last_event_id.clone().map(|id| (LAST_EVENT_ID, id)));
        headers
    }
}

/// Names and values as in a query or a form.
pub(super) fn encoded(pairs: &[(String, String)]) -> String {
    let encode =
        |text| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::Ask;

    #[test]
    fn any_call_goes_as_it_is_typed() {
        let line = |method, target| Ask::raw(method, target).map(|ask| ask.line()).ok();
        for target in ["/api/pages", "/api/backend/item?table=blog&filter[n][eq]=a%20b", "/"] {
            assert_eq!(line("GET", target), Some(format!("GET {target}")));
        }
        for (method, target) in [
            ("GET", "api/pages"),
            ("GET", "https://example.org/api/pages"),
            ("GET", "/api/pages#top"),
            ("GET", "/api/pages?a=b c"),
            ("GET", "/api/pages\r\nx-api-key: a"),
            ("GET", ""),
            ("G T", "/api/pages"),
            ("", "/api/pages"),
        ] {
            assert_eq!(line(method, target), None, "{method} {target:?}");
        }
    }
}
