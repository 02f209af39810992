//! A request as handlers see it, and who made it.

use cms_core::{
    Actor, Cms, Code, Error, Result,
    accounts::{Rights, SessionUser},
    keys::{KeyHolder, Right},
};
use serde_json::{Map, Value as Json};

use super::limit::Client;
use crate::{
    idempotency,
    kept::Kept,
    reply::Reply,
    request::{Canonical, bad},
};

/// Who calls.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    Anonymous,
    /// Through the in-process client: whoever can open the site's folder.
    Operator,
    Key(KeyHolder),
    User {
        user: SessionUser,
        /// The session came in a cookie, which browsers send by themselves.
        by_cookie: bool,
    },
}

/// Marks a request of the in-process client; it cannot come over the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsOperator;

/// A request that has passed the gate, as handlers see it.
pub(crate) struct Call<'a> {
    pub(crate) cms: &'a Cms,
    pub(crate) kept: &'a Kept,
    pub(crate) client: Client,
    pub(crate) request: &'a Canonical,
    pub(crate) caller: &'a Caller,
    pub(crate) body: Option<Json>,
    pub(crate) repetition: Option<idempotency::Ticket>,
}

impl Caller {
    pub(crate) fn actor(&self) -> Actor {
        match self {
            Self::Key(key) => Actor::Key { id: key.id, name: key.name.clone() },
            Self::User { user, .. } => user.actor(),
            _ => Actor::Operator,
        }
    }

    /// The permissions that the caller may pass on to others. A key without the row `*` has none.
    pub(crate) fn permissions(&self) -> Rights {
        match self {
            Self::Operator => Rights::Admin,
            Self::Key(key) if key.rights.contains(&Right::everything()) => Rights::Admin,
            Self::Anonymous | Self::Key(_) => Rights::default(),
            Self::User { user, .. } => user.rights.clone(),
        }
    }
}

impl<'a> Call<'a> {
    /// The body as a JSON object.
    pub(crate) fn object(&self) -> Result<&Map<String, Json>> {
        self.body
            .as_ref()
            .and_then(Json::as_object)
            .ok_or_else(|| Error::new(Code::BadJson, "A JSON object is expected."))
    }

    /// The body as a type of its own.
    pub(crate) fn typed<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        // Only objects: serde would take an array for a struct as well, and then rights would not
        // see the table in it.
        let body = match &self.body {
            None => Json::Object(Map::new()),
            Some(object @ Json::Object(_)) => object.clone(),
            Some(_) => return Err(Error::new(Code::BadJson, "A JSON object is expected.")),
        };
        T::deserialize(body)
            .map_err(|e| Error::new(Code::ValidationFailed, format!("The body does not fit: {e}.")))
    }

    /// The number in `id`.
    pub(crate) fn id(&self) -> Result<i64> {
        self.request.required("id")?.parse().map_err(|_| bad("id is a whole number."))
    }

    /// Begins a change on behalf of the caller.
    pub(crate) async fn change(&self) -> Result<cms_core::Change> {
        self.cms.change(self.caller.actor()).await
    }

    /// Ends a change, keeping the reply for a repetition. `secret`: the reply must not be kept.
    pub(crate) async fn commit(
        &self,
        mut change: cms_core::Change,
        reply: Reply,
        secret: bool,
    ) -> Result<Reply> {
        if let Some(ticket) = &self.repetition {
            self.cms.idempotency().remember(&mut change, ticket.remember(&reply, secret)).await?;
        }
        change.commit().await?;
        Ok(reply)
    }
}
