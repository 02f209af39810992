//! A call before it is sent, also typed by its operation.

use std::borrow::Cow;

use http::{HeaderName, Method, header, uri::PathAndQuery};
use serde_json::Value as Json;

use super::{Answer, Client, ClientError};
use crate::wire::{self, Body as _, BodyKind, Data, OnlyId, Operation, ReplyKind, Written};

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
fn encoded(pairs: &[(String, String)]) -> String {
    let encode =
        |text| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

impl Ask {
    /// The call of an operation. Moves parameters of the path there from the query.
    ///
    /// # Errors
    /// [`ClientError::Unexpected`] for a body that cannot be written as JSON.
    pub fn of<O: Operation>(query: &O::Query, body: &O::Body) -> Result<Self, ClientError> {
        let written = O::write(query, body).map_err(unwritten)?;
        Self::written((O::METHOD, O::PATH, O::ACTION), O::Body::KIND, written)
    }

    fn written(
        (method, path, action): (&str, &str, Option<&str>),
        kind: BodyKind,
        (parameters, body): Written,
    ) -> Result<Self, ClientError> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|e| ClientError::Unexpected(e.to_string()))?;
        let mut ask = Self::new(method, path);
        for (name, value) in parameters {
            let hole = format!("{{{name}}}");
            if ask.path.contains(&hole) {
                ask.path = ask.path.replace(&hole, &value);
            } else {
                ask = ask.query(&name, value);
            }
        }
        ask = ask.maybe("action", action);
        let value = |json: &str| serde_json::from_str::<Json>(json).map_err(unwritten);
        ask.body = match kind {
            BodyKind::None => None,
            BodyKind::Json => Some(body),
            BodyKind::Form => Some(encoded(&wire::query::write(&value(&body)?))),
            BodyKind::Text => value(&body)?.as_str().map(str::to_owned),
            BodyKind::Multipart | BodyKind::Octets => {
                let why = "this client sends no files: send the request with another program";
                return Err(ClientError::Unexpected(why.to_owned()));
            }
        };
        ask.content_type = kind.media_type().unwrap_or(JSON);
        Ok(ask)
    }
}

impl Answer {
    /// The reply as the type of its operation.
    ///
    /// # Errors
    /// [`ClientError::Unexpected`] when the reply is something else.
    pub fn read<O: Operation>(&self) -> Result<O::Reply, ClientError> {
        O::read(&self.as_json(O::REPLY)?).map_err(|e| self.mismatch(&e))
    }

    /// The body as the JSON of a reply of this kind.
    fn as_json(&self, kind: ReplyKind) -> Result<Cow<'_, str>, ClientError> {
        Ok(match kind {
            ReplyKind::Json | ReplyKind::Any => self.body.as_str().into(),
            ReplyKind::Empty => "null".into(),
            ReplyKind::File => {
                let why = "this client takes no files: send the request with another program";
                return Err(ClientError::Unexpected(why.to_owned()));
            }
            ReplyKind::Text(_) | ReplyKind::Events | ReplyKind::Csv => {
                Json::from(self.body.as_str()).to_string().into()
            }
        })
    }

    fn mismatch(&self, error: &serde_json::Error) -> ClientError {
        ClientError::Unexpected(match self.only_id() {
            Some(id) => format!("it is done, but you may see no more of it than its id: {id}"),
            None => format!("the reply has another form: {error}"),
        })
    }

    /// The id in a reply to a caller that may write but not read. The write has been done.
    #[must_use]
    pub fn only_id(&self) -> Option<Json> {
        let body: Data<OnlyId> = serde_json::from_str(&self.body).ok()?;
        Some(body.data.id)
    }
}

impl Answer {
    /// The id and the secret in a reply to a caller that may write but not read. The secret is in
    /// no other reply.
    #[must_use]
    pub fn only_secret(&self) -> Option<(Json, String)> {
        let body: Data<Json> = serde_json::from_str(&self.body).ok()?;
        let secret = ["key", "secret"].iter().find_map(|name| body.data.get(name)?.as_str());
        Some((body.data.get("id")?.clone(), secret?.to_owned()))
    }
}

impl Client {
    /// Calls an operation. As [`Client::send`], with types.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn call<O: Operation>(
        &self,
        query: &O::Query,
        body: &O::Body,
    ) -> Result<O::Reply, ClientError> {
        self.send(Ask::of::<O>(query, body)?).await?.read::<O>()
    }
}

fn unwritten(error: serde_json::Error) -> ClientError {
    ClientError::Unexpected(format!("the body cannot be written as JSON: {error}"))
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
