//! Calls typed by their operation.

use std::borrow::Cow;

use http::Method;
use serde_json::Value as Json;

use super::{
    Answer, Client, ClientError,
    ask::{Ask, JSON, encoded},
};
use crate::wire::{self, Body as _, BodyKind, Data, OnlyId, Operation, ReplyKind, Written};

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
