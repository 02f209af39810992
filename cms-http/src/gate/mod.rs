//! The fixed order of steps for every request. Each step has a file, and either returns what it
//! found or refuses the request. [`Visit`] is made before the other steps begin.
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
//! [`Findings`] are what every reply reports, refusals too.

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

/// Runs a request. Fills `found` on the way, so that refusals report it too.
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
    // Refuse only after all of this is known: pages that may call must be able to read
    // every refusal.
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
    // Boxed, so that kept replies do not carry the size of what follows.
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
        let allow = route.allow(visit.methods_here);
        let place = if visit.methods_here.is_some() { "This path" } else { route.path };
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
        caller_at_gate: caller,
        caller_rejudged: OnceLock::new(),
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
        return call.replay(earlier).await;
    }
    // Take the turn before a fill that others may wait for.
    let turn = turn(kept, visit).await?;
    if turn.is_some() {
        // Waiting for the turn may have taken long: the caller may be revoked by now.
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
        return call.replay(first).await;
    }
    if refused_as == Some(Code::MethodNotAllowed) {
        // Only the handler knows whether a table is read-only, or has records that others make.
        let table = visit.request.parameter("table").and_then(|name| cms.tables().find(name));
        let is_changed = table.is_some_and(|table| table.writable());
        found.allow = Some(if is_changed { "GET, HEAD, PATCH" } else { "GET, HEAD" }.to_owned());
    }
    let reply = reply?;
    Ok(if cache::is_hooked(cms, visit) { reply } else { cache::conditional(visit, reply) })
}

/// Refuses tags in `If-Match`: the caller would believe that they protect something.
fn refuse_tags(request: &Canonical) -> Result<()> {
    match IfMatch::parse(request.header(&header::IF_MATCH)?)? {
        IfMatch::Tags(_) => {
            let detail = "What you change has no entity tag: leave If-Match out.";
            Err(Error::new(Code::Stale, detail))
        }
        _ => Ok(()),
    }
}

/// The turn to make the reply to a read. Writes never wait for a turn.
async fn turn(kept: &Kept, visit: &Visit) -> Result<Option<OwnedSemaphorePermit>> {
    match visit.peer {
        Some(Peer(peer)) if visit.is_read() => kept.reply_budget.turn(peer).await,
        _ => Ok(None),
    }
}

/// What every reply to a request reports, refusals too.
pub(crate) struct Findings {
    pub(crate) caller: Caller,
    quota: Option<Quota>,
    sharing: Sharing,
    /// The methods that the route takes.
    allow: Option<String>,
}

impl Findings {
    /// The findings at the beginning, before any step.
    pub(crate) fn of(operator: bool) -> Self {
        let caller = if operator { Caller::Operator } else { Caller::Anonymous };
        Self { caller, quota: None, sharing: Sharing::None, allow: None }
    }

    /// Adds the headers that report the findings.
    pub(crate) fn add_headers(&self, mut reply: Reply) -> Reply {
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
