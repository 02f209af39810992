//! The one order of every request: limiter, origin, identity, cache, rights, body, repetition,
//! handler.

mod cache;
mod content;
mod limit;
mod origin;
mod rights;

use std::sync::Arc;

use bytes::Bytes;
use cms_core::{Cms, Code, Error, Result, access::Access, traffic::limiter::Quota};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use serde_json::Value as Json;

pub(crate) use cache::is_session;
pub(crate) use limit::{LIMIT, REMAINING, address, headers as quota_headers};
pub(crate) use origin::{Sharing, headers as sharing_headers};

use crate::{
    call::{Call, Caller, Peer},
    idempotency,
    kept::Kept,
    replies::{Asked, Entry},
    reply::Reply,
    request::Canonical,
    routes::{self, Route},
};

/// A request as it comes in.
pub(crate) struct Arrival {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) peer: Option<Peer>,
    pub(crate) operator: bool,
    pub(crate) logged_in: bool,
}

/// A request's way through the gate: the outcome, and what every reply carries whatever the
/// outcome.
pub(crate) struct Passage {
    pub(crate) caller: Caller,
    pub(crate) outcome: Result<Reply>,
    pub(crate) allow: Option<String>,
    pub(crate) quota: Option<Quota>,
    pub(crate) sharing: Sharing,
    /// The kept reply that it is, and the path it is kept for: the same request may take it without
    /// this way.
    pub(crate) found: Option<(String, Arc<Entry>)>,
}

/// Runs a request.
pub(crate) async fn pass<B>(cms: &Cms, kept: &Kept, arrival: Arrival, body: B) -> Passage
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let caller = if arrival.operator { Caller::Operator } else { Caller::Anonymous };
    let outcome = Ok(Reply::no_content());
    let mut passage =
        Passage { caller, outcome, allow: None, quota: None, sharing: Sharing::None, found: None };
    passage.outcome = passage.run(cms, kept, arrival, body).await;
    passage
}

impl Passage {
    async fn run<B>(&mut self, cms: &Cms, kept: &Kept, arrival: Arrival, body: B) -> Result<Reply>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Arrival { method, uri, mut headers, peer, operator, logged_in } = arrival;
        asked_host(&uri, &mut headers);
        let client = limit::client(cms, &kept.proxy_header, peer, &headers);
        let origin = if operator { Ok(None) } else { origin::judge(cms, &headers).await };
        let request = Canonical::new(method, &uri, headers);
        // A request that cannot be read is counted too.
        let path = request.as_ref().map_or_else(|_| uri.path(), |request| request.path.as_str());
        let action = request.as_ref().ok().and_then(|request| request.parameter("action"));
        let route =
            routes::find(path, action).filter(|route| operator || route.access != Access::Operator);
        let open = route.map_or(!path.starts_with("/api/"), |route| route.access == Access::Open);
        let identified = match &request {
            Ok(request) if !open && !operator => rights::identify(cms, request, route).await,
            _ => Ok(self.caller.clone()),
        };
        if !open && !operator {
            self.sharing =
                origin.as_ref().ok().cloned().flatten().map_or(Sharing::Varies, Sharing::With);
            self.quota = limit::take(cms, &identified, client.address, path).await;
            if let Some(refusal) = self.quota.as_ref().and_then(limit::refusal) {
                return Err(refusal);
            }
        }
        let origin = if open { None } else { origin? };
        let from_page = origin.is_some();
        let request = request?;
        if origin.is_none() && !operator {
            origin::judge_referer(cms, &request).await?;
        }
        check_host(cms, &request)?;
        if let Some(reply) = origin.and_then(|_| origin::preflight(&request)) {
            return Ok(reply);
        }
        self.caller = identified?;
        if !open {
            rights::admit(route, &request, &self.caller)?;
            rights::check_forgery(&request, &self.caller, from_page)?;
        }
        let (raw, json) = self.judged_body(cms, route, &request, open, body).await?;
        let route =
            route.ok_or_else(|| Error::new(Code::NotFound, "There is nothing at this address."))?;
        let Some(method) = route.method(request.method.as_str()) else {
            self.allow = Some(route.allow());
            return Err(Error::new(
                Code::MethodNotAllowed,
                format!("{} takes {}.", route.path, route.allow()),
            ));
        };
        let repetition = match idempotency::ticket(cms, &request, self.caller.repeats_as(), &raw)? {
            Some(ticket) => match Box::pin(ticket.earlier_reply(cms)).await? {
                Some(reply) => return Ok(reply),
                None => Some(ticket),
            },
            None => None,
        };
        let call = Call {
            cms,
            metrics: &kept.metrics,
            replies: &kept.replies,
            client,
            request: &request,
            caller: &self.caller,
            answers: method.answers,
            selects: route.action.is_some(),
            path_parameters: route.parameters(&request.path),
            operations: routes::described(),
            repetition,
        };
        let rules = match cache::key(&request, route, &self.caller, logged_in) {
            Some(key) => Some((key, cms.cache().rules().await?))
                .filter(|(_, rules)| rules.may_keep(&request.path)),
            None => None,
        };
        let reply = match rules {
            Some((key, rules)) => {
                let asked = Asked { key, path: &request.path, tables: route.tables, rules: &rules };
                let found = kept.replies.get(cms, asked, || (method.handler)(&call, None)).await;
                found.map(|(reply, entry)| {
                    self.found = entry.filter(|_| !open).map(|entry| (request.path.clone(), entry));
                    reply
                })
            }
            None => (method.handler)(&call, json).await,
        };
        if matches!(&reply, Err(e) if e.code() == Code::MethodNotAllowed) {
            self.allow = Some("GET, HEAD".to_owned());
        }
        reply.map(|reply| conditional(&request, reply))
    }

    /// Judges the caller's rights, then reads the body. Actions name their table in the body, so
    /// there it is read first.
    async fn judged_body<B>(
        &self,
        cms: &Cms,
        route: Option<&Route>,
        request: &Canonical,
        open: bool,
        body: B,
    ) -> Result<content::ReadBody>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let handled = route.is_some_and(|route| route.method(request.method.as_str()).is_some());
        let expected = handled && content::takes_body(request);
        if expected
            && request.path.starts_with("/api/backend/actions/")
            && rights::may_act(request, &self.caller)
        {
            let read = content::expect_json(cms, request, body).await?;
            let table = read.1.as_ref().and_then(|json| json.get("table")).and_then(Json::as_str);
            rights::judge(cms, route, request, &self.caller, table)?;
            return Ok(read);
        }
        if !open {
            rights::judge(cms, route, request, &self.caller, None)?;
        }
        if expected {
            content::expect_json(cms, request, body).await
        } else {
            Ok((Bytes::new(), None))
        }
    }
}

/// `If-None-Match` (RFC 9110, 13.1.2): the caller has this state already.
fn conditional(request: &Canonical, reply: Reply) -> Reply {
    let is_read = request.method == Method::GET || request.method == Method::HEAD;
    let (Some(etag), true) = (reply.headers.get(header::ETAG), is_read) else { return reply };
    let is_known =
        request.headers.get_all(header::IF_NONE_MATCH).iter().any(|line| names(line, etag));
    if reply.status != StatusCode::OK || !is_known {
        return reply;
    }
    Reply {
        status: StatusCode::NOT_MODIFIED,
        headers: unchanged_headers(reply.headers),
        body: Bytes::new(),
    }
}

/// Whether a line of `If-None-Match` names the state of this tag, or any.
pub(crate) fn names(line: &HeaderValue, etag: &HeaderValue) -> bool {
    let named = || {
        let (line, etag) = (line.to_str().unwrap_or_default(), etag.to_str().unwrap_or_default());
        line.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
    };
    // Nearly always it is the one tag that we have sent.
    line == etag || named()
}

/// The headers of a reply without its body.
pub(crate) fn unchanged_headers(mut headers: HeaderMap) -> HeaderMap {
    headers.remove(header::CONTENT_TYPE);
    headers
}

/// The host that a request line names counts, whatever the header beside it says (RFC 9112, 3.2.2).
fn asked_host(uri: &Uri, headers: &mut HeaderMap) {
    if let Some(host) =
        uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok())
    {
        headers.insert(header::HOST, host);
    }
}

fn check_host(cms: &Cms, request: &Canonical) -> Result<()> {
    let allowed = &cms.settings().allowed_hosts;
    if allowed.is_empty() {
        return Ok(());
    }
    let host = request.header(&header::HOST).ok().flatten().unwrap_or_default();
    let bare = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(host, |(name, _)| name);
    if allowed
        .iter()
        .any(|known| known.eq_ignore_ascii_case(bare) || known.eq_ignore_ascii_case(host))
    {
        return Ok(());
    }
    Err(Error::new(
        Code::UnknownHost,
        "This service does not answer for that host: see allowed_hosts.",
    ))
}
