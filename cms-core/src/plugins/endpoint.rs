//! What handlers answer: the call of an endpoint's handler and its reply, and the call for custom
//! content of buttons.

use std::{fmt, net::IpAddr, sync::Arc};

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, LOCATION},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value as Json;

use super::{Begin, manifest::Method};
use crate::{Actor, Change, Error, Result, access::HeldPermissions, ground::SiteRef, items::Items};

/// Answers an endpoint.
pub(crate) type EndpointHandler =
    Arc<dyn Fn(EndpointCall) -> BoxFuture<'static, Result<EndpointReply>> + Send + Sync>;

/// An endpoint's handler, and the tables that its replies are made from.
#[derive(Clone)]
pub(crate) struct Answering {
    pub(crate) handler: EndpointHandler,
    pub(crate) tables: Vec<String>,
}

/// A request for an endpoint, as a server passes it on. Only servers create one.
pub struct EndpointRequest {
    /// The method; GET for HEAD.
    pub method: Method,
    /// The path as it is declared, such as `/api/orders/{id}/pay`.
    pub path: String,
    /// The parameters of path and query.
    pub query: Vec<(String, String)>,
    /// The headers.
    pub headers: HeaderMap,
    /// Extensions that layers of the embedding application added.
    pub extensions: Extensions,
    /// The client's address. `None`: there is no network in between.
    pub client: Option<IpAddr>,
    /// Who calls.
    pub actor: Actor,
    /// The caller's permissions.
    pub rights: HeldPermissions,
    /// The body as it was sent.
    pub body: Bytes,
    /// The body, if it is JSON.
    pub json: Option<Json>,
    /// Begins a change on behalf of the caller.
    pub begin: Begin,
}

/// One call of an endpoint, as its handler sees it.
#[derive(Clone)]
pub struct EndpointCall {
    request: Arc<EndpointRequest>,
    items: Items,
    pub(crate) site: SiteRef,
}

impl EndpointCall {
    pub(super) fn new(request: EndpointRequest, items: Items, site: SiteRef) -> Self {
        Self { request: Arc::new(request), items, site }
    }

    /// The method. HEAD is GET.
    #[must_use]
    pub fn method(&self) -> Method {
        self.request.method
    }

    /// The path as it is declared, such as `/api/orders/{id}/pay`, without the base path of a
    /// mount. [`query`](Self::query) has its parameters.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.request.path
    }

    /// The parameters of path and query, each name once.
    #[must_use]
    pub fn query(&self) -> &[(String, String)] {
        &self.request.query
    }

    /// A parameter of path or query.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut query = self.request.query.iter();
        query.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The headers, credentials included: keep them out of logs.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.request.headers
    }

    /// The first header of this name. `None` also when its value is not visible ASCII.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.headers.get(name)?.to_str().ok()
    }

    /// An extension of the request that a layer of the embedding application added.
    #[must_use]
    pub fn extension<T: Clone + Send + Sync + 'static>(&self) -> Option<&T> {
        self.request.extensions.get()
    }

    /// The client's address, also behind trusted proxies. `None`: there is no network in between,
    /// or the embedding server passes on no addresses.
    #[must_use]
    pub fn client(&self) -> Option<IpAddr> {
        self.request.client
    }

    /// The caller: a visitor, the holder of a key, a user or the operator.
    #[must_use]
    pub fn actor(&self) -> &Actor {
        &self.request.actor
    }

    /// The permissions of a user when the call began. The operator, and a key with the row `*`,
    /// have all. Visitors and other keys have none, because their rights name endpoints.
    #[must_use]
    pub fn rights(&self) -> &HeldPermissions {
        &self.request.rights
    }

    /// The bytes of the body, as signatures need them. Bodies of DELETE are not read.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.request.body
    }

    /// The body as JSON; null without a body, and for types other than JSON.
    #[must_use]
    pub fn body(&self) -> &Json {
        self.request.json.as_ref().unwrap_or(&Json::Null)
    }

    /// The body, converted to your own type.
    ///
    /// # Errors
    /// `validation_failed`, which tells the caller which member does not fit.
    pub fn body_as<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(self.body())
            .map_err(|error| Error::invalid_field("body", "format", error.to_string()))
    }

    /// Records of content tables, without limits by rights: the caller sees what you answer.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Begins a change on behalf of the caller.
    ///
    /// # Errors
    /// An error when the caller's access was revoked meanwhile. `internal_error` when the change
    /// would wait for another change that this call holds and that is idle. As every write.
    #[track_caller]
    pub fn change(&self) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        self.request.begin.change()
    }
}

/// The reply of an endpoint. A JSON value becomes `{"data": …}` with status 200, and
/// [`Handlers::endpoint`](super::Handlers::endpoint) accepts it directly.
///
/// ```
/// use cms_core::plugins::EndpointReply;
///
/// let paid = EndpointReply::data(&serde_json::json!({"order": 7})).status(201);
/// let paid = paid.header("x-receipt", "R-7");
/// let page = EndpointReply::bytes("text/html; charset=utf-8", "<h1>Thank you</h1>");
/// let elsewhere = EndpointReply::redirect("https://pay.example.org/7");
/// ```
#[must_use]
pub struct EndpointReply {
    status: StatusCode,
    headers: HeaderMap,
    body: ReplyBody,
    /// The first part of the reply that cannot be sent.
    fault: Option<Error>,
}

/// Headers of the connection and of framing (RFC 9110, 7.6.1; RFC 9113, 8.2.2).
const SERVERS: [&str; 6] =
    ["connection", "content-length", "keep-alive", "trailer", "transfer-encoding", "upgrade"];

/// The body of an [`EndpointReply`].
pub enum ReplyBody {
    /// A JSON value, which is wrapped in `data`.
    Data(String),
    /// Bytes of the type in `Content-Type`; none for an empty reply.
    Bytes(Bytes),
    /// The same, part by part. Each part is requested after the previous one was sent.
    Stream(BoxStream<'static, Result<Bytes>>),
}

impl EndpointReply {
    fn new(status: StatusCode, body: ReplyBody) -> Self {
        Self { status, headers: HeaderMap::new(), body, fault: None }
    }

    /// `{"data": …}` with status 200.
    pub fn data(value: &impl Serialize) -> Self {
        match serde_json::to_string(value) {
            Ok(json) => Self::new(StatusCode::OK, ReplyBody::Data(json)),
            Err(error) => Self::empty().faulty(Error::internal(error)),
        }
    }

    /// Bytes of this type with status 200. Browsers render them as they are, so escape text that
    /// others have written.
    pub fn bytes(media_type: &str, bytes: impl Into<Bytes>) -> Self {
        let reply = Self::new(StatusCode::OK, ReplyBody::Bytes(bytes.into()));
        reply.header(CONTENT_TYPE.as_str(), media_type)
    }

    /// Parts of this type with status 200, each sent after the previous one. The reply is cut off
    /// after an error, and when the caller's access is revoked.
    pub fn stream(media_type: &str, parts: BoxStream<'static, Result<Bytes>>) -> Self {
        let reply = Self::new(StatusCode::OK, ReplyBody::Stream(parts));
        reply.header(CONTENT_TYPE.as_str(), media_type)
    }

    /// 204, without a body.
    pub fn empty() -> Self {
        Self::new(StatusCode::NO_CONTENT, ReplyBody::Bytes(Bytes::new()))
    }

    /// 303: the client follows with GET (RFC 9110, 15.4.4).
    pub fn redirect(to: &str) -> Self {
        Self::empty().status(303).header(LOCATION.as_str(), to)
    }

    /// Sets the status, 200 to 599.
    pub fn status(mut self, status: u16) -> Self {
        match StatusCode::from_u16(status) {
            Ok(known) if (200..600).contains(&status) => self.status = known,
            _ => return self.faulty(Error::internal(format!("{status} is no status of a reply"))),
        }
        self
    }

    /// Adds a header; `Content-Type` replaces the previous one. A reply with a header that cannot
    /// be sent becomes a 500, and the cause is logged.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let both = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        match both {
            Some((name, _)) if SERVERS.contains(&name.as_str()) => {
                self.faulty(Error::internal(format!("the header {name} is the server's")))
            }
            Some((name, value)) if name == CONTENT_TYPE => {
                self.headers.insert(name, value);
                self
            }
            Some((name, value)) => {
                self.headers.append(name, value);
                self
            }
            None => self.faulty(Error::internal(format!("{name:?} cannot be a header"))),
        }
    }

    fn faulty(self, fault: Error) -> Self {
        Self { fault: self.fault.or(Some(fault)), ..self }
    }

    /// Status, headers and body, for the server that sends them.
    ///
    /// # Errors
    /// `internal_error` for a reply that cannot be sent.
    pub fn into_parts(self) -> Result<(StatusCode, HeaderMap, ReplyBody)> {
        let is_bare = matches!(&self.body, ReplyBody::Bytes(bytes) if bytes.is_empty());
        match self.fault {
            Some(fault) => Err(fault),
            None if [204, 304].contains(&self.status.as_u16()) && !is_bare => {
                Err(Error::internal(format!("a reply with status {} has no body", self.status)))
            }
            None => Ok((self.status, self.headers, self.body)),
        }
    }
}

impl From<Json> for EndpointReply {
    fn from(value: Json) -> Self {
        Self::data(&value)
    }
}

impl fmt::Debug for EndpointReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointReply").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Makes custom content.
pub(crate) type ContentHandler =
    Arc<dyn Fn(ContentCall) -> BoxFuture<'static, Result<Json>> + Send + Sync>;

/// One call for custom content.
#[derive(Clone)]
pub struct ContentCall {
    pub(crate) row: Option<String>,
    pub(crate) items: Items,
    pub(crate) site: SiteRef,
}

impl ContentCall {
    /// The id of the row that the button belongs to; `None` in a header.
    #[must_use]
    pub fn row(&self) -> Option<&str> {
        self.row.as_deref()
    }

    /// Records of content tables, without limits by rights: everyone who sees the button sees
    /// the result.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_sent_is_a_fault() {
        let reply = || EndpointReply::data(&1);
        assert!(reply().status(201).header("x-a", "b").into_parts().is_ok());
        for (faulty, why) in [
            (reply().status(101), "a status in between"),
            (reply().status(99), "no status"),
            (reply().header("a b", "c"), "a name"),
            (reply().header("a", "b\r\nc: d"), "a second header"),
            (reply().header("Content-Length", "3"), "the server's"),
            (reply().header("transfer-encoding", "chunked"), "the server's"),
            (reply().status(204), "a body without room for one"),
            (EndpointReply::bytes("a\nb", ""), "a type"),
            (EndpointReply::redirect("/a\r\n"), "an address"),
        ] {
            assert!(faulty.into_parts().is_err(), "{why}");
        }
    }
}
