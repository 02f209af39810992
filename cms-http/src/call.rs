//! A request as handlers see it, and who made it.

use std::net::{IpAddr, SocketAddr};

use cms_core::{
    Actor, Cms, Result,
    access::{self, Access, Right, Rights},
    accounts::SessionUser,
    keys::KeyHolder,
};
use http::HeaderName;
use serde::Serialize;

use crate::{
    describe::Described,
    idempotency,
    metrics::Metrics,
    replies::Replies,
    request::Canonical,
    streams::Streams,
    success::{Answers, Success},
};

pub(crate) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The cookie that holds a session's token.
pub(crate) const SESSION_COOKIE: &str = "cms_session";

/// The address of the peer, to be set as a request extension by whoever accepts connections.
/// Without it the limiter counts all requests as one client's.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Marks a request of a visitor who has logged in at the embedding server's front end: a request
/// extension that this server sets. Such a request is never answered from the cache.
#[derive(Clone, Copy, Debug)]
pub struct FrontendLogin;

/// Marks a request of the in-process client; it cannot come over the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsOperator;

/// Who is at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    /// The address that counts, also behind trusted proxies.
    pub(crate) address: IpAddr,
    /// Somebody we do not trust says that they passed the request on: then the address is not the
    /// client's.
    pub(crate) passed_on: bool,
}

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

/// A request that has passed the gate, as handlers see it.
pub(crate) struct Call<'a> {
    pub(crate) cms: &'a Cms,
    pub(crate) metrics: &'a Metrics,
    pub(crate) replies: &'a Replies,
    pub(crate) streams: &'a Streams,
    pub(crate) client: Client,
    pub(crate) request: &'a Canonical,
    pub(crate) caller: &'a Caller,
    /// How the operation answers.
    pub(crate) answers: Answers,
    /// Whether the parameter `action` has selected the operation.
    pub(crate) selects: bool,
    pub(crate) path_parameters: Vec<(String, String)>,
    /// Every operation that is served.
    pub(crate) operations: &'a [Described],
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

    /// Whether the caller may read a content table; handlers ask this for tables that the address
    /// does not name.
    pub(crate) fn may_read(&self, cms: &Cms, table: &str) -> bool {
        const ITEM: &str = "/api/backend/item";
        let query = [("table".to_owned(), table.to_owned())];
        let call = access::KeyCall { method: "GET", path: ITEM, query: &query, body_table: None };
        match self {
            Self::Anonymous => false,
            Self::Operator => true,
            Self::Key(key) => key.rights.iter().any(|right| right.allows(&call)),
            Self::User { user, .. } => cms.allows(&user.rights, Access::Table, "GET", Some(table)),
        }
    }

    /// Whether the caller may subscribe to everything, and so may see what is sent: records of
    /// every table.
    pub(crate) fn may_see_payloads(&self) -> bool {
        const WEBHOOKS: &str = "/api/backend/webhooks";
        let call = access::KeyCall { method: "POST", path: WEBHOOKS, query: &[], body_table: None };
        match self {
            Self::Anonymous => false,
            Self::Operator => true,
            Self::Key(key) => key.rights.iter().any(|right| right.allows(&call)),
            Self::User { user, .. } => user.rights.may("webhooks_subscriptions_edit"),
        }
    }

    /// The rows of a key's rights that the caller may pass on.
    pub(crate) fn rights(&self, cms: &Cms) -> Vec<Right> {
        match self {
            Self::Anonymous => Vec::new(),
            Self::Operator => vec![Right::everything()],
            Self::Key(key) => key.rights.clone(),
            Self::User { user, .. } => cms.rows_of(&user.rights),
        }
    }

    /// Whose repetitions of a request are the same request; None: nobody is known.
    pub(crate) fn repeats_as(&self) -> Option<String> {
        match self {
            Self::Anonymous => None,
            Self::Operator => Some("operator".to_owned()),
            Self::Key(key) => Some(format!("key:{}", key.id)),
            Self::User { user, .. } => Some(format!("user:{}", user.id)),
        }
    }
}

impl<'a> Call<'a> {
    /// Begins a change on behalf of the caller.
    pub(crate) async fn change(&self) -> Result<cms_core::Change> {
        self.cms.change(self.caller.actor()).await
    }

    /// Ends a change, keeping the reply for a repetition. `secret`: the reply must not be kept.
    pub(crate) async fn commit<T: Serialize>(
        &self,
        mut change: cms_core::Change,
        success: impl Into<Success<T>>,
        secret: bool,
    ) -> Result<Success<T>> {
        let mut success = success.into();
        if let Some(ticket) = &self.repetition {
            let reply = success.reply(self.answers)?;
            self.cms.idempotency().remember(&mut change, ticket.remember(&reply, secret)).await?;
            success = Success::written(reply);
        }
        change.commit().await?;
        Ok(success)
    }
}
