//! The one order of every request. Each step is a file; it returns what it found, or refuses. The
//! first two are done before the others begin: see [`Visit`].
//!
//! ```text
//! visit        the request in its one canonical form: all steps see the same
//! sender       the address that counts, also behind trusted proxies
//! limit        takes from the buckets; the credential is looked up before, to choose them
//! origin       which page calls, and whether it may
//! identity     who calls; token: by a session's token
//! cache        replies kept for visitors
//! rights       what the caller may do
//! content      the body
//! conditional  replies that the caller has already
//! findings     what every reply tells, also of a refusal
//! ```

mod cache;
mod conditional;
mod content;
mod findings;
mod identity;
mod limit;
mod origin;
mod rights;
mod sender;
mod token;
mod visit;

use std::sync::OnceLock;

use cms_core::{Cms, Code, Error, Result};
use tokio::sync::OwnedSemaphorePermit;

use content::Sent;
pub(crate) use findings::Findings;
pub(crate) use visit::Visit;

use crate::{
    call::{Call, Peer},
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
        return Ok(conditional::answer(visit, reply));
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
    let (sent, demand) = if content::decides_rights(visit) && rights::may_act(visit, caller) {
        let sent = content::read(cms, kept, visit, body).await?;
        let demand = rights::judge(cms, visit, caller, sent.named(visit))?;
        (sent, demand)
    } else {
        let demand = rights::judge(cms, visit, caller, Named::default())?;
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
    let ticket = idempotency::ticket(cms, &visit.request, caller.repeats_as(), sent.bytes())?;
    let Sent { raw, content, source, memory } = sent;
    drop(raw);
    let demand_of = |other: &mut Canonical| rights::demand_of(&visit.declared, other);
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
        found.allow = Some("GET, HEAD".to_owned());
    }
    Ok(conditional::answer(visit, reply?))
}

/// The turn to make the reply to a read. Writes wait for nobody.
async fn turn(kept: &Kept, visit: &Visit) -> Result<Option<OwnedSemaphorePermit>> {
    match visit.peer {
        Some(Peer(peer)) if visit.is_read() => kept.reply_budget.turn(peer).await,
        _ => Ok(None),
    }
}
