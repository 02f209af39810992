//! A request as handlers see it, and its caller.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{OnceLock, atomic::AtomicBool},
    time::Duration,
};

use cms_core::{
    Cms, Error, Result,
    access::RecordAct,
    traffic::idempotency::{Claim, in_progress},
};
use http::{Extensions, HeaderName, header};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::{
    body::Memory,
    caller::{Caller, Kind, Waits},
    demand::Demand,
    describe::Described,
    idempotency,
    metrics::Metrics,
    mount::Mount,
    replies::Replies,
    reply::{JSON, Reply},
    request::{Canonical, bad},
    streams::Streams,
    success::{Answers, Success},
    wire::{Data, OneOrPage, Operation},
};

/// How long a repeated request waits for the first one to finish.
const REPEAT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest reply that is kept for repetitions of work outside of a change, in bytes.
const MOST_KEPT: usize = 1 << 20;
/// How often a waiting repetition looks whether the first request has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The address of the peer. Whoever accepts connections sets it as a request extension. Without
/// it, the limiter counts all requests as those of one client.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Marks a request of a visitor who has logged in at the embedding server's front end. That
/// server sets it as a request extension. The cache never answers such a request.
#[derive(Clone, Copy, Debug)]
pub struct FrontendLogin;

/// What the limiter counts a request by, instead of its address, key or user: for example the
/// tenant of a logged-in user. The embedding server sets it as a request extension. Never derive
/// it from what a client may choose: each request could then name a full bucket. Invalid keys and
/// sessions still count against the address.
///
/// ```
/// let mut request = http::Request::get("/api/pages").body(())?;
/// request.extensions_mut().insert(cms_http::LimitKey("tenant 7".to_owned()));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LimitKey(pub String);

/// Marks a request of the in-process client; it cannot come over the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsOperator;

/// Marks a request of the in-process client that shows a session. It is judged as that user's,
/// but needs no host, and the limiter does not count it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InProcess;

/// Why a request of the in-process client failed: an extension of its response. For callers over
/// the network only the log holds the cause.
#[derive(Clone, Debug)]
pub(crate) struct Cause(pub(crate) String);

/// The client at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    /// The client's address; behind trusted proxies, the one that they pass on.
    pub(crate) address: IpAddr,
    /// Whether the address is known; if not, `address` is loopback.
    pub(crate) is_known: bool,
}

/// The declaration of a plugin's endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredBy {
    pub(crate) plugin: &'static str,
    pub(crate) model_path: &'static str,
    pub(crate) public: bool,
}

/// A request that has passed the gate, as handlers see it.
pub(crate) struct Call<'a> {
    pub(crate) cms: &'a Cms,
    pub(crate) mount: &'a Mount,
    pub(crate) metrics: &'a Metrics,
    pub(crate) replies: &'a Replies,
    pub(crate) streams: &'a Streams,
    /// Whether the service is about to stop.
    pub(crate) stopping: &'a AtomicBool,
    pub(crate) client: Client,
    pub(crate) request: &'a Canonical,
    /// The caller as the gate found them.
    pub(crate) caller_at_gate: &'a Caller,
    /// The caller as judged again, once a change has begun or a call without one has asked.
    pub(crate) caller_rejudged: OnceLock<Caller>,
    pub(crate) demand: Demand,
    /// How the operation answers.
    pub(crate) answers: Answers,
    /// Whether the parameter `action` has selected the operation.
    pub(crate) selects: bool,
    pub(crate) path_parameters: Vec<(String, String)>,
    /// Every operation of the service except those of plugins.
    pub(crate) operations: &'a [Described],
    /// The operations that plugins declare.
    pub(crate) declared: &'a [Described],
    /// What another request would demand. Writes the first spelling of its path into the request.
    pub(crate) demand_of: &'a (dyn Fn(&mut Canonical) -> Result<Demand> + Sync),
    pub(crate) repetition: Option<idempotency::Ticket>,
    /// The memory of the body, for work that outlives the call.
    pub(crate) memory: Memory,
    /// The plugin's declaration that the request was judged by.
    pub(crate) endpoint: Option<DeclaredBy>,
    /// What layers of the embedding server have added.
    pub(crate) extensions: &'a Extensions,
}

/// Whether a reply is fully described by its status, its JSON and its entity tag.
fn is_plain(reply: &Reply) -> bool {
    let is_kept = |name: &HeaderName| [header::CONTENT_TYPE, header::ETAG].contains(name);
    let kind = reply.headers.get(header::CONTENT_TYPE);
    reply.headers.keys().all(is_kept) && kind.is_none_or(|kind| *kind == JSON)
}

impl<'a> Call<'a> {
    /// The caller, with the rights that were read last.
    pub(crate) fn caller(&self) -> &Caller {
        self.caller_rejudged.get().unwrap_or(self.caller_at_gate)
    }

    /// Whether the request comes from this machine. Any header that says that the request was
    /// passed on, from a trusted proxy or not, makes the answer no.
    pub(crate) fn is_from_here(&self) -> bool {
        const PASSED_ON: [&str; 6] =
            ["forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"];
        let proxy_header = &self.cms.settings().proxy_header;
        let mut names = self.request.headers.keys().map(HeaderName::as_str);
        let is_passed_on = names.any(|name| {
            PASSED_ON.contains(&name)
                || name.starts_with("x-forwarded")
                || name.eq_ignore_ascii_case(proxy_header)
        });
        self.client.is_known && self.client.address.is_loopback() && !is_passed_on
    }

    /// Refuses filters together with the parameter that names one row. A key's right may bind
    /// such a filter, so ignoring it would widen the right.
    pub(crate) fn names_one(&self, parameter: &str) -> Result<()> {
        let mut names = self.request.query.iter().map(|(name, _)| name.as_str());
        match names.find(|name| ![parameter, "limit", "cursor"].contains(name)) {
            None => Ok(()),
            Some(name) => Err(bad(format!(
                "{parameter} selects one row, {name} is for the list: send only one of them."
            ))),
        }
    }

    /// The row that the query names by its id, or else a page. Only one of the futures runs.
    pub(crate) async fn one_or_page<T, One>(
        &self,
        one: Option<impl Future<Output = Result<One>>>,
        page: impl Future<Output = Result<cms_core::Page<T>>>,
    ) -> Result<OneOrPage<T, One>> {
        let Some(one) = one else { return page.await.map(OneOrPage::page) };
        self.names_one("id")?;
        one.await.map(OneOrPage::one)
    }

    /// Begins a change on behalf of the caller, and judges the caller again under it: reading the
    /// body or waiting for other changes may have taken long.
    pub(crate) async fn change(&self) -> Result<cms_core::Change> {
        self.begin(Waits::default()).await
    }

    /// As [`Call::change`], for a change of users or groups.
    pub(crate) async fn change_of_users(&self) -> Result<cms_core::Change> {
        self.begin(Waits { of: Some(Kind::Users), ..Waits::default() }).await
    }

    /// As [`Call::change_of_users`], for a change that checks a password or a code
    /// from this network.
    pub(crate) async fn change_with_password(&self, network: &str) -> Result<cms_core::Change> {
        let waits = Waits { of: Some(Kind::Users), network: Some(network), repeats: None };
        self.begin(waits).await
    }

    /// As [`Call::change`], for a change of keys.
    pub(crate) async fn change_of_keys(&self) -> Result<cms_core::Change> {
        self.begin(Waits { of: Some(Kind::Keys), ..Waits::default() }).await
    }

    async fn begin(&self, waits: Waits<'_>) -> Result<cms_core::Change> {
        let ticket = self.repetition.as_ref();
        let waits = Waits { repeats: ticket.map(idempotency::Ticket::names), ..waits };
        let (mut change, caller) = self.caller_at_gate.change(self.cms, waits).await?;
        self.admit(caller)?;
        if let Some(ticket) = ticket
            && ticket.is_answered(self.cms, &mut change).await?
        {
            // Wait for the first request's commit: its reply counts only from then on.
            change.commit().await?;
            return Err(in_progress());
        }
        Ok(change)
    }

    /// Runs work that is no part of a change, such as that of a plugin's handler, once for an
    /// `Idempotency-Key`. The work goes on when its caller hangs up, so that a repetition finds the
    /// reply. Refusals, streamed replies and replies longer than [`MOST_KEPT`] are not kept. Of a
    /// reply that is not plain JSON, or has other headers, only the fact that it was given is kept.
    pub(crate) async fn once(
        &self,
        work: impl Future<Output = Result<Reply>> + Send + 'static,
    ) -> Result<Reply> {
        let Some(ticket) = &self.repetition else { return work.await };
        let claim = self.turn(ticket).await?;
        let (ticket, memory) = (ticket.clone(), self.memory.clone());
        let rights = self.caller().digest(self.cms);
        let worked = async move {
            let _memory = memory;
            // A failure releases the claim, so that the next request may try.
            let reply = claim.during(work).await?;
            let whole = reply.body.whole().filter(|body| body.len() <= MOST_KEPT);
            let is_refusal = reply.status.is_client_error() || reply.status.is_server_error();
            if whole.is_some() && !is_refusal {
                claim.keep(ticket.remember(&reply, rights, !is_plain(&reply))).await;
            }
            Ok(reply)
        };
        tokio::spawn(worked.in_current_span()).await.map_err(Error::internal)?
    }

    /// Claims the request. Waits at most [`REPEAT_TIMEOUT`] while an earlier one is
    /// being worked on.
    async fn turn(&self, ticket: &idempotency::Ticket) -> Result<Claim> {
        let began = Instant::now();
        loop {
            let mut change = self.change().await?;
            if let Some(claim) = ticket.claim(self.cms, &mut change).await? {
                change.commit().await?;
                return Ok(claim);
            }
            drop(change);
            // Reads only: waiting requests must not occupy the one writer of SQLite.
            while ticket.is_under_way(self.cms).await? {
                if began.elapsed() >= REPEAT_TIMEOUT {
                    return Err(in_progress());
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }

    /// A kept reply, reduced to what the caller may see now.
    pub(crate) async fn replay(&self, earlier: idempotency::Earlier) -> Result<Reply> {
        // Reading the body may have taken long.
        self.judge_again().await?;
        earlier.reply_for(&self.caller().digest(self.cms))
    }

    /// Judges the caller again. Work on a body without a change must begin with this.
    pub(crate) async fn judge_again(&self) -> Result<()> {
        self.admit(self.caller_at_gate.rejudged(self.cms).await?)
    }

    fn admit(&self, caller: Caller) -> Result<()> {
        self.demand.judge(self.cms, self.request, &caller)?;
        // May be set already: an earlier change of this call has judged the same rights.
        let _ = self.caller_rejudged.set(caller);
        Ok(())
    }

    /// Refuses columns that no button of the caller writes. Keys pass: their rows are
    /// bound elsewhere.
    pub(crate) fn admit_columns<'n>(
        &self,
        table: &str,
        act: RecordAct,
        columns: impl IntoIterator<Item = &'n String>,
    ) -> Result<()> {
        let Some(rights) = self.caller().user_rights() else { return Ok(()) };
        let columns: Vec<&str> = columns.into_iter().map(String::as_str).collect();
        self.cms.admit_columns(rights, table, act, &columns)
    }

    /// As [`Call::admit_columns`], for a new record. A caller that may only make versions must
    /// name a record that exists.
    pub(crate) async fn admit_record(
        &self,
        change: &mut cms_core::Change,
        table: &str,
        record: &Map<String, Json>,
    ) -> Result<()> {
        self.admit_columns(table, RecordAct::Create, record.keys())?;
        let Some(rights) = self.caller().user_rights() else { return Ok(()) };
        let columns: Vec<&str> = record.keys().map(String::as_str).collect();
        if self.cms.makes_versions_only(rights, table, &columns) {
            self.cms.items().admit_version(change, table, record).await?;
        }
        Ok(())
    }

    /// Whether the caller may read the row `id` by the operation `O`. Callers that may only write
    /// see nothing but the id.
    pub(crate) fn may_read<O: Operation>(&self, id: i64) -> bool {
        self.caller().may_read_row::<O>(self.cms, id)
    }

    /// The row that a write made or changed, if the caller may read it by `O`; otherwise its id.
    pub(crate) fn shown<O: Operation, T: Serialize>(&self, id: i64, data: T) -> Success<Data<T>> {
        match self.may_read::<O>(id) {
            true => Data { data }.into(),
            false => Success::only_id(id),
        }
    }

    /// As [`Call::shown`], for a row with a secret that only this reply holds. Callers that may
    /// not read the row get its id and the secret.
    pub(crate) fn shown_once<O: Operation, T: Serialize>(
        &self,
        id: i64,
        data: T,
        (name, secret): (&str, &str),
    ) -> Result<Success<T>> {
        if self.may_read::<O>(id) {
            return Ok(data.into());
        }
        let only = json!({"data": {"id": id, name: secret}});
        Ok(Success::json(only.to_string()))
    }

    /// Keeps a reply for a repetition. `secret`: keeps only that there was one.
    pub(crate) async fn keep<T: Serialize>(
        &self,
        change: &mut cms_core::Change,
        success: impl Into<Success<T>>,
        secret: bool,
    ) -> Result<Success<T>> {
        let success = success.into();
        let Some(ticket) = &self.repetition else { return Ok(success) };
        let reply = success.reply(self.answers)?;
        let kept = ticket.remember(&reply, self.caller().digest(self.cms), secret);
        self.cms.idempotency().remember(change, kept).await?;
        Ok(Success::written(reply))
    }

    /// Commits a change and keeps the reply for a repetition, as [`Call::keep`].
    pub(crate) async fn commit<T: Serialize>(
        &self,
        mut change: cms_core::Change,
        success: impl Into<Success<T>>,
        secret: bool,
    ) -> Result<Success<T>> {
        let success = self.keep(&mut change, success, secret).await?;
        change.commit().await?;
        Ok(success)
    }
}
