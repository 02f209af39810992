//! The one order of every request. Each step is a file; it returns what it found, or refuses. The
//! first is done before the others begin: see [`Visit`].
//!
//! ```text
//! visit     the request in its one canonical form: all steps see the same; the address that
//!           counts, also behind trusted proxies
//! limit     takes from the buckets; the credential is looked up before, to choose them
//! origin    which page calls, and whether it may
//! identity  who calls, also by a session's token, and what the caller may do
//! cache     replies kept for visitors, and those that the caller has already
//! content   the body
//! ```
//!
//! [`Findings`] are what every reply tells, also of a refusal.

mod cache;
mod content;
mod identity;
mod limit;
mod origin;
mod visit;

use std::sync::OnceLock;

use cms_core::{Cms, Code, Error, Result, items::IfMatch, traffic::limiter::bucket::Quota};
use http::{HeaderValue, header};
use tokio::sync::OwnedSemaphorePermit;

pub(crate) use visit::Visit;

use self::{content::Sent, origin::Sharing};
use crate::{
    call::{Call, Peer},
    caller::Caller,
    demand::Named,
    idempotency,
    kept::Kept,
    replies::Lookup,
    reply::Reply,
    request::Canonical,
    routes,
    wire::Content,
};

/// Runs a request. `found` is filled on the way, so that a refusal tells it as well.
pub(crate) async fn pass<B>(
    cms: &Cms,
    kept: &Kept,
    visit: &mut Visit,
    body: B,
    found: &mut Findings,
) -> Result<Reply>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // Nothing is refused before all of this is known: a page that may call reads every refusal.
    let page = origin::page(cms, visit).await;
    found.sharing = origin::Sharing::of(visit, &page);
    let source = cache::source(cms, visit);
    let credential = identity::credential(cms, visit, source).await;

    found.quota = limit::take(cms, visit, &credential).await;
    limit::admit(found.quota.as_ref())?;

    let page = origin::admit(page)?;
    visit.admit(cms)?;
    origin::admit_referer(cms, visit, &page).await?;
    if let Some(reply) = origin::preflight(visit, &page) {
        return Ok(reply);
    }

    let (caller, changes) = identity::admit(visit, credential, &page)?;
    found.caller = caller;
    let caller = &found.caller;

    let lookup = cache::lookup(cms, visit, caller, changes).await?;
    if let Some(lookup) = lookup.as_ref().filter(|lookup| lookup.is_by_visitor())
        && let Some(reply) = kept.replies.find(lookup)
    {
        return Ok(cache::conditional(visit, reply));
    }
    // In a box, so that a kept reply does not carry the room of what follows.
    Box::pin(act(cms, kept, visit, lookup, body, found)).await
}

/// Judges the rights and runs the handler.
async fn act<B>(
    cms: &Cms,
    kept: &Kept,
    visit: &Visit,
    lookup: Option<Lookup<'_>>,
    body: B,
    found: &mut Findings,
) -> Result<Reply>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let caller = &found.caller;
    let (sent, demand) = if content::decides_rights(visit) && identity::may_act(visit, caller) {
        let sent = content::read(cms, kept, visit, body).await?;
        let demand = identity::judge(cms, visit, caller, sent.named(visit))?;
        (sent, demand)
    } else {
        let demand = identity::judge(cms, visit, caller, Named::default())?;
        (content::read(cms, kept, visit, body).await?, demand)
    };

    let (route, operation) = visit.operation()?;
    let Some(operation) = operation else {
        let allow = route.allow(visit.here);
        let place = if visit.here.is_some() { "This path" } else { route.path };
        let detail = format!("{place} takes {allow}.");
        found.allow = Some(allow);
        return Err(Error::new(Code::MethodNotAllowed, detail));
    };
    if operation.changes_untagged() {
        refuse_tags(&visit.request)?;
    }
    let ticket = idempotency::ticket(cms, &visit.request, caller.repeats_as(), sent.bytes())?;
    let Sent { raw, content, source, memory } = sent;
    drop(raw);
    let demand_of = |other: &mut Canonical| identity::demand_of(&visit.declared, other);
    let call = Call {
        cms,
        mount: &kept.mount,
        metrics: &kept.metrics,
        replies: &kept.replies,
        streams: &kept.streams,
        stopping: &kept.stopping,
        client: visit.client,
        request: &visit.request,
        found: caller,
        again: OnceLock::new(),
        demand,
        answers: operation.answers,
        selects: route.action.is_some(),
        path_parameters: route.parameters(&visit.request.path),
        operations: routes::described(),
        declared: &visit.declared.operations,
        demand_of: &demand_of,
        repetition: ticket,
        memory,
        endpoint: route.endpoint,
        extensions: &visit.extensions,
    };
    if let Some(ticket) = &call.repetition
        && let Some(earlier) = Box::pin(ticket.earlier_reply(cms)).await?
    {
        return call.again_shown(earlier).await;
    }
    // Before a fill that others may wait for.
    let turn = turn(kept, visit).await?;
    if turn.is_some() {
        // The caller may have been revoked meanwhile.
        call.judge_again().await?;
    }
    let reply = match &lookup {
        Some(lookup) => {
            kept.replies.get(cms, lookup, || (operation.handler)(&call, Content::Empty)).await
        }
        None => {
            let handled = (operation.handler)(&call, content);
            match source {
                Some(source) => Box::pin(source.feed(handled)).await,
                None => handled.await,
            }
        }
    };
    drop(turn);
    let refused_as = reply.as_ref().err().map(Error::code);
    if refused_as == Some(Code::InProgress)
        && let Some(ticket) = &call.repetition
        && let Some(first) = Box::pin(ticket.earlier_reply(cms)).await?
    {
        return call.again_shown(first).await;
    }
    if refused_as == Some(Code::MethodNotAllowed) {
        // The handler knows the table: one that is only read, or whose records others make.
        let table = visit.request.parameter("table").and_then(|name| cms.tables().find(name));
        let is_changed = table.is_some_and(|table| table.writable());
        found.allow = Some(if is_changed { "GET, HEAD, PATCH" } else { "GET, HEAD" }.to_owned());
    }
    Ok(cache::conditional(visit, reply?))
}

/// Refuses tags in `If-Match`: the caller believes that they protect what has none.
fn refuse_tags(request: &Canonical) -> Result<()> {
    match IfMatch::parse(request.header(&header::IF_MATCH)?)? {
        IfMatch::Tags(_) => {
            let detail = "What you change has no entity tag: leave If-Match out.";
            Err(Error::new(Code::Stale, detail))
        }
        _ => Ok(()),
    }
}

/// The turn to make the reply to a read. Writes wait for nobody.
async fn turn(kept: &Kept, visit: &Visit) -> Result<Option<OwnedSemaphorePermit>> {
    match visit.peer {
        Some(Peer(peer)) if visit.is_read() => kept.reply_budget.turn(peer).await,
        _ => Ok(None),
    }
}

/// What is found out about a request whatever becomes of it: replies tell it, refusals too.
pub(crate) struct Findings {
    pub(crate) caller: Caller,
    quota: Option<Quota>,
    sharing: Sharing,
    /// The methods that the route takes.
    allow: Option<String>,
}

impl Findings {
    /// Before anything is known.
    pub(crate) fn of(operator: bool) -> Self {
        let caller = if operator { Caller::Operator } else { Caller::Anonymous };
        Self { caller, quota: None, sharing: Sharing::None, allow: None }
    }

    /// The reply, with the headers that tell what was found.
    pub(crate) fn told(&self, mut reply: Reply) -> Reply {
        if let Some(quota) = &self.quota {
            limit::headers(quota, &mut reply.headers);
        }
        origin::headers(&self.sharing, &mut reply.headers);
        match self.allow.as_deref().map(HeaderValue::from_str) {
            Some(Ok(allow)) => {
                reply.headers.insert(header::ALLOW, allow);
                reply
            }
            _ => reply,
        }
    }
}
