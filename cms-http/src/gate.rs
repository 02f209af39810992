//! The one order of every request: identity, rights, body, repetition, handler.
//!
//! The limiter and the origin check come before identity, the response cache after it.

use std::time::Duration;

use bytes::Bytes;
use cms_core::{
    Actor, Cms, Code, Error, Result,
    keys::{self, KeyHolder, Right},
};
use http::{HeaderMap, Method, StatusCode, Uri, header};
use serde_json::{Map, Value as Json};

use crate::{
    body, idempotency,
    reply::Reply,
    request::{Canonical, bad},
    routes::{self, Access, Route},
};

/// Who calls.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    Anonymous,
    /// Through the in-process client: whoever can open the site's folder.
    Operator,
    Key(KeyHolder),
}

/// Marks a request of the in-process client; it cannot come over the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsOperator;

/// A request that has passed the gate, as handlers see it.
pub(crate) struct Call<'a> {
    pub(crate) cms: &'a Cms,
    pub(crate) request: &'a Canonical,
    pub(crate) caller: &'a Caller,
    pub(crate) body: Option<Json>,
    pub(crate) repetition: Option<idempotency::Ticket>,
}

impl Caller {
    pub(crate) fn actor(&self) -> Actor {
        match self {
            Self::Key(key) => Actor::Key { id: key.id, name: key.name.clone() },
            _ => Actor::Operator,
        }
    }

    /// What the caller may pass on to others.
    pub(crate) fn rights(&self) -> Vec<Right> {
        match self {
            Self::Anonymous => Vec::new(),
            Self::Operator => vec![Right::everything()],
            Self::Key(key) => key.rights.clone(),
        }
    }

    pub(crate) fn may(&self, call: &keys::Call) -> bool {
        match self {
            Self::Anonymous => false,
            Self::Operator => true,
            Self::Key(key) => key.rights.iter().any(|right| right.allows(call)),
        }
    }
}

impl<'a> Call<'a> {
    /// The body as a JSON object.
    pub(crate) fn object(&self) -> Result<&Map<String, Json>> {
        self.body.as_ref().and_then(Json::as_object).ok_or_else(|| Error::new(Code::BadJson, "A JSON object is expected."))
    }

    /// The body as a type of its own.
    pub(crate) fn typed<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        let body = self.body.clone().unwrap_or_else(|| Json::Object(Map::new()));
        T::deserialize(body).map_err(|e| Error::new(Code::ValidationFailed, format!("The body does not fit: {e}.")))
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
    pub(crate) async fn commit(&self, mut change: cms_core::Change, reply: Reply, secret: bool) -> Result<Reply> {
        if let Some(ticket) = &self.repetition {
            change.remember(ticket.remember(&reply, secret)).await?;
        }
        change.commit().await?;
        Ok(reply)
    }
}

/// Runs a request. The caller is returned beside the outcome, for the log.
pub(crate) async fn pass<B>(
    cms: &Cms,
    method: Method,
    uri: &Uri,
    headers: HeaderMap,
    operator: bool,
    body: B,
) -> (Caller, Result<Reply>, Option<String>)
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut caller = if operator { Caller::Operator } else { Caller::Anonymous };
    let mut allow = None;
    let outcome = run(cms, method, uri, headers, body, &mut caller, &mut allow).await;
    (caller, outcome, allow)
}

async fn run<B>(
    cms: &Cms,
    method: Method,
    uri: &Uri,
    headers: HeaderMap,
    body: B,
    caller: &mut Caller,
    allow: &mut Option<String>,
) -> Result<Reply>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let request = Canonical::new(method, uri, headers)?;
    check_host(cms, uri, &request)?;
    let route = routes::find(&request.path);
    let open = route.map_or(!request.path.starts_with("/api/"), |route| route.access == Access::Open);
    if !open {
        identify(cms, &request, caller).await?;
        admit(route, &request, caller)?;
    }
    let judged_by_body = request.path.starts_with("/api/backend/actions/") && route.is_some();
    let mut read_body = None;
    if judged_by_body && !matches!(caller, Caller::Anonymous) {
        read_body = Some(expect_json(cms, &request, body).await?);
    } else {
        judge(cms, route, &request, caller, None, open)?;
        let handler = route.and_then(|route| route.handler(request.method.as_str()));
        if handler.is_some() && takes_body(&request) {
            read_body = Some(expect_json(cms, &request, body).await?);
        }
    }
    if judged_by_body {
        let table =
            read_body.as_ref().and_then(|(_, json)| json.as_ref()).and_then(|json| json.get("table")).and_then(Json::as_str);
        judge(cms, route, &request, caller, table, open)?;
    }
    let route = route.ok_or_else(|| Error::new(Code::NotFound, "There is nothing at this address."))?;
    let Some(handler) = route.handler(request.method.as_str()) else {
        *allow = Some(route.allow());
        return Err(Error::new(Code::MethodNotAllowed, format!("{} takes {}.", route.path, route.allow())));
    };
    let (raw, json) = read_body.unwrap_or_default();
    let repetition = match idempotency::ticket(&request, caller, &raw)? {
        Some(ticket) => match ticket.earlier_reply(cms).await? {
            Some(reply) => return Ok(reply),
            None => Some(ticket),
        },
        None => None,
    };
    let call = Call { cms, request: &request, caller, body: json, repetition };
    let reply = handler(&call).await;
    if matches!(&reply, Err(e) if e.code() == Code::MethodNotAllowed) {
        *allow = Some("GET, HEAD".to_owned());
    }
    reply.map(|reply| conditional(&request, reply))
}

/// `If-None-Match` (RFC 9110, 13.1.2): the caller has this state already.
fn conditional(request: &Canonical, reply: Reply) -> Reply {
    let is_read = request.method == Method::GET || request.method == Method::HEAD;
    let (Some(etag), Some(sent), true) = (reply.headers.get(header::ETAG), request.headers.get(header::IF_NONE_MATCH), is_read)
    else {
        return reply;
    };
    let (etag, sent) = (etag.to_str().unwrap_or_default(), sent.to_str().unwrap_or_default());
    let known = sent.trim() == "*" || sent.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag);
    if !known || reply.status != StatusCode::OK {
        return reply;
    }
    let mut unchanged = Reply { status: StatusCode::NOT_MODIFIED, body: Bytes::new(), ..reply };
    unchanged.headers.remove(header::CONTENT_TYPE);
    unchanged
}

fn check_host(cms: &Cms, uri: &Uri, request: &Canonical) -> Result<()> {
    let allowed = &cms.settings().allowed_hosts;
    if allowed.is_empty() {
        return Ok(());
    }
    let host =
        uri.host().map(str::to_owned).or_else(|| request.header("host").ok().flatten().map(str::to_owned)).unwrap_or_default();
    let bare = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(host.as_str(), |(name, _)| name);
    if allowed.iter().any(|known| known.eq_ignore_ascii_case(bare) || known.eq_ignore_ascii_case(&host)) {
        return Ok(());
    }
    Err(Error::new(Code::UnknownHost, "This service does not answer for that host: see allowed_hosts."))
}

async fn identify(cms: &Cms, request: &Canonical, caller: &mut Caller) -> Result<()> {
    if let Some(sent) = request.header("x-api-key")? {
        *caller = Caller::Key(cms.keys().identify(sent).await?);
    }
    Ok(())
}

/// Who is not known does not learn more than that.
fn admit(route: Option<&Route>, request: &Canonical, caller: &Caller) -> Result<()> {
    if !matches!(caller, Caller::Anonymous) || route.is_some_and(|route| route.access == Access::Public) {
        return Ok(());
    }
    if request.path.starts_with("/api/backend/") {
        return Err(Error::new(Code::LoginRequired, "Log in, or send a key with a right for this endpoint in X-Api-Key."));
    }
    Err(Error::new(Code::ApiKeyMissing, "Send an API key in the header X-Api-Key."))
}

/// Rights come before existence: only who may call learns whether something is there.
fn judge(
    cms: &Cms,
    route: Option<&Route>,
    request: &Canonical,
    caller: &Caller,
    body_table: Option<&str>,
    open: bool,
) -> Result<()> {
    let Caller::Key(key) = caller else { return Ok(()) };
    if open {
        return Ok(());
    }
    let call = keys::Call { method: request.method.as_str(), path: &request.path, query: &request.query, body_table };
    let allowed = caller.may(&call);
    cms.keys().note_use(key.id, !allowed);
    if allowed {
        return Ok(());
    }
    let at = route.map_or("this address", |route| route.path);
    Err(Error::new(
        Code::ApiKeyForbidden,
        format!("The key {:?} has no right for {} on {at} with these parameters.", key.name, request.method),
    ))
}

fn takes_body(request: &Canonical) -> bool {
    request.method == Method::POST || request.method == Method::PATCH
}

type ReadBody = (Bytes, Option<Json>);

/// The body as JSON. Actions without arguments may leave it out.
async fn expect_json<B>(cms: &Cms, request: &Canonical, body: B) -> Result<ReadBody>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let limits = &cms.settings().http;
    let bytes = body::read(body, limits.body_limit_bytes, Duration::from_secs(limits.request_timeout_s)).await?;
    if bytes.is_empty() {
        return Ok((bytes, None));
    }
    let kind = request.header("content-type")?.unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence != "application/json" && !(essence.starts_with("application/") && essence.ends_with("+json")) {
        return Err(Error::new(Code::UnsupportedMediaType, "Send JSON, with Content-Type: application/json."));
    }
    let json = serde_json::from_slice(&bytes).map_err(|e| Error::new(Code::BadJson, format!("The body is not JSON: {e}.")))?;
    Ok((bytes, Some(json)))
}
