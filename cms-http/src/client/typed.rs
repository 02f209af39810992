//! Calls by the types of an operation.

use http::Method;
use serde_json::Value as Json;

use super::{Answer, Ask, Client, ClientError};
use crate::wire::{Body as _, BodyKind, Operation, ReplyKind};

impl Ask {
    /// Asks for an operation; parameters in the path are taken from the query.
    ///
    /// # Errors
    /// [`ClientError::Unexpected`] for a body that cannot be written as JSON.
    pub fn of<O: Operation>(query: &O::Query, body: &O::Body) -> Result<Self, ClientError> {
        let method = Method::from_bytes(O::METHOD.as_bytes())
            .map_err(|e| ClientError::Unexpected(e.to_string()))?;
        let mut ask = Self::new(method, O::PATH);
        let (parameters, body) = O::write(query, body).map_err(unwritten)?;
        for (name, value) in parameters {
            let hole = format!("{{{name}}}");
            if ask.path.contains(&hole) {
                ask.path = ask.path.replace(&hole, &value);
            } else {
                ask = ask.query(&name, value);
            }
        }
        ask = ask.maybe("action", O::ACTION);
        if O::Body::KIND == BodyKind::Json {
            ask.body = Some(body);
        }
        Ok(ask)
    }
}

impl Answer {
    /// The reply of an operation.
    ///
    /// # Errors
    /// [`ClientError::Unexpected`] when it is something else.
    pub fn read<O: Operation>(&self) -> Result<O::Reply, ClientError> {
        let read = match O::REPLY {
            ReplyKind::Json => O::read(&self.body),
            ReplyKind::Empty => O::read("null"),
            ReplyKind::Text(_) | ReplyKind::Events => {
                O::read(&Json::from(self.body.as_str()).to_string())
            }
        };
        read.map_err(|e| ClientError::Unexpected(format!("the reply has another form: {e}")))
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
