//! What a handler of an endpoint gets and answers.

use std::{fmt, net::IpAddr, sync::Arc};

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, LOCATION},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value as Json;

use super::{Begin, SiteRef, manifest::Method};
use crate::{Actor, Change, Error, Result, access::HeldPermissions, items::Items};

/// Answers an endpoint.
pub(crate) type EndpointHandler =
    Arc<dyn Fn(EndpointCall) -> BoxFuture<'static, Result<EndpointReply>> + Send + Sync>;

/// An endpoint's handler, and the tables that its replies are made from.
#[derive(Clone)]
pub(crate) struct Answering {
    pub(crate) handler: EndpointHandler,
    pub(crate) tables: Vec<String>,
}

/// A request for an endpoint, as the server hands it over: only servers make one.
pub struct EndpointRequest {
    /// The method; GET for HEAD.
    pub method: Method,
    /// The path as it is declared, such as `/api/orders/{id}/pay`.
    pub path: String,
    /// The parameters of path and query.
    pub query: Vec<(String, String)>,
    /// The headers.
    pub headers: HeaderMap,
    /// What layers of the embedding application have added.
    pub extensions: Extensions,
    /// The address that counts as the client's; None where no network is between.
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

    /// The path as it is declared, such as `/api/orders/{id}/pay`: its parameters are among those
    /// of the query, and the base path of a mount is no part of it.
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

    /// The first header of this name; None also for one that is no visible ASCII.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.headers.get(name)?.to_str().ok()
    }

    /// What a layer of the embedding application has put into the request's extensions.
    #[must_use]
    pub fn extension<T: Clone + Send + Sync + 'static>(&self) -> Option<&T> {
        self.request.extensions.get()
    }

    /// The client's address, also behind trusted proxies; None where no network is between, or the
    /// embedding server passes no addresses on.
    #[must_use]
    pub fn client(&self) -> Option<IpAddr> {
        self.request.client
    }

    /// Who calls: a visitor, the holder of a key, a user, the operator.
    #[must_use]
    pub fn actor(&self) -> &Actor {
        &self.request.actor
    }

    /// The permissions of a user, as they were when the call began; all for the operator and for
    /// a key with the row `*`. Visitors and other keys have none: their rights name endpoints.
    #[must_use]
    pub fn rights(&self) -> &HeldPermissions {
        &self.request.rights
    }

    /// The bytes of the body: what signatures are made over. Bodies of DELETE are not read.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.request.body
    }

    /// The body; null without one, and for another type than JSON.
    #[must_use]
    pub fn body(&self) -> &Json {
        self.request.json.as_ref().unwrap_or(&Json::Null)
    }

    /// The body as a value of your own.
    ///
    /// # Errors
    /// `validation_failed`, which tells the caller what does not fit.
    pub fn body_as<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(self.body())
            .map_err(|error| Error::invalid_field("body", "format", error.to_string()))
    }

    /// Records of content tables. No rights limit them: whoever may call sees what you answer.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Begins a change on behalf of the caller.
    ///
    /// # Errors
    /// The refusal of a caller who was revoked meanwhile. `internal_error` when it waits for a
    /// change that this call holds and that lies idle. As every write.
    #[track_caller]
    pub fn change(&self) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        self.request.begin.change()
    }
}

/// What an endpoint answers. JSON is `{"data": …}` with status 200:
/// [`Handlers::endpoint`](super::Handlers::endpoint) takes it as it is.
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
    /// The first thing that cannot be sent.
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
    /// The same, part by part: each is asked for when the one before has gone out.
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

    /// Bytes of this type with status 200. Browsers show them as they are: escape what others have
    /// written.
    pub fn bytes(media_type: &str, bytes: impl Into<Bytes>) -> Self {
        let reply = Self::new(StatusCode::OK, ReplyBody::Bytes(bytes.into()));
        reply.header(CONTENT_TYPE.as_str(), media_type)
    }

    /// Parts of this type with status 200, each sent when the one before has gone out. The reply
    /// is broken off after an error, and when its caller is revoked meanwhile.
    pub fn stream(media_type: &str, parts: BoxStream<'static, Result<Bytes>>) -> Self {
        let reply = Self::new(StatusCode::OK, ReplyBody::Stream(parts));
        reply.header(CONTENT_TYPE.as_str(), media_type)
    }

    /// 204, without a body.
    pub fn empty() -> Self {
        Self::new(StatusCode::NO_CONTENT, ReplyBody::Bytes(Bytes::new()))
    }

    /// 303: look there, with GET (RFC 9110, 15.4.4).
    pub fn redirect(to: &str) -> Self {
        Self::empty().status(303).header(LOCATION.as_str(), to)
    }

    /// Another status, 200 to 599.
    pub fn status(mut self, status: u16) -> Self {
        match StatusCode::from_u16(status) {
            Ok(known) if (200..600).contains(&status) => self.status = known,
            _ => return self.faulty(Error::internal(format!("{status} is no status of a reply"))),
        }
        self
    }

    /// Adds a header; another `Content-Type` takes the place of the one before. A reply with a
    /// header that cannot be sent is a 500, and the log has the cause.
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
    /// `internal_error` for what cannot be sent.
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
