//! A request as handlers see it, and who made it.

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
    wire::Data,
};

/// How long a repetition waits for the work before it.
const REPEAT_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of a reply at most that is kept for repetitions of work outside of a change.
const MOST_KEPT: usize = 1 << 20;
/// How often it looks.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The address of the peer, to be set as a request extension by whoever accepts connections.
/// Without it the limiter counts all requests as one client's.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Marks a request of a visitor who has logged in at the embedding server's front end: a request
/// extension that this server sets. Such a request is never answered from the cache.
#[derive(Clone, Copy, Debug)]
pub struct FrontendLogin;

/// What the limiter counts a request by, in place of its address, key or user: the tenant of a
/// user who has logged in, for example. A request extension that the embedding server sets; never
/// from what a client may choose, or each request would have a full bucket. Keys and sessions that
/// are no good count against the address all the same.
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

/// Marks a request of the in-process client that shows a session: judged as that user's, but it
/// comes by no host, and no limiter counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InProcess;

/// Why a request of the in-process client failed: an extension of its response. Callers over the
/// network find the cause nowhere but in the log.
#[derive(Clone, Debug)]
pub(crate) struct Cause(pub(crate) String);

/// Who is at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    /// The address that counts, also behind trusted proxies.
    pub(crate) address: IpAddr,
    /// Whether the address is known; otherwise it is that of loopback.
    pub(crate) is_known: bool,
}

/// What a plugin declares an endpoint with.
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
    /// The caller as the gate found it.
    pub(crate) found: &'a Caller,
    /// The caller as judged again, when a change has begun or the call acts without one.
    pub(crate) again: OnceLock<Caller>,
    pub(crate) demand: Demand,
    /// How the operation answers.
    pub(crate) answers: Answers,
    /// Whether the parameter `action` has selected the operation.
    pub(crate) selects: bool,
    pub(crate) path_parameters: Vec<(String, String)>,
    /// Every operation that is served beside those of plugins.
    pub(crate) operations: &'a [Described],
    /// The operations that plugins declare.
    pub(crate) declared: &'a [Described],
    /// What another request would demand; it is given its first spelling.
    pub(crate) demand_of: &'a (dyn Fn(&mut Canonical) -> Result<Demand> + Sync),
    pub(crate) repetition: Option<idempotency::Ticket>,
    /// What its body takes, for work that outlives the call.
    pub(crate) memory: Memory,
    /// The plugin's declaration that the request was judged by.
    pub(crate) endpoint: Option<DeclaredBy>,
    /// What layers of the embedding server have added.
    pub(crate) extensions: &'a Extensions,
}

/// Whether status and JSON say all of a reply.
fn is_plain(reply: &Reply) -> bool {
    let is_kept = |name: &HeaderName| [header::CONTENT_TYPE, header::ETAG].contains(name);
    let kind = reply.headers.get(header::CONTENT_TYPE);
    reply.headers.keys().all(is_kept) && kind.is_none_or(|kind| *kind == JSON)
}

impl<'a> Call<'a> {
    /// The caller, with rights as they were read last.
    pub(crate) fn caller(&self) -> &Caller {
        self.again.get().unwrap_or(self.found)
    }

    /// Whether the caller sits at this machine. Any header that says that somebody passed the
    /// request on, trusted or not, makes it a caller from far away.
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

    /// Refuses filters beside the parameter that names the one thing to show. A row of a key may
    /// bind a filter, so none is passed over.
    pub(crate) fn names_one(&self, parameter: &str) -> Result<()> {
        let mut names = self.request.query.iter().map(|(name, _)| name.as_str());
        match names.find(|name| ![parameter, "limit", "cursor"].contains(name)) {
            None => Ok(()),
            Some(name) => Err(bad(format!(
                "{parameter} names the one to show, {name} chooses from the list: send either."
            ))),
        }
    }

    /// Begins a change on behalf of the caller, who is judged again under it: the body may have
    /// taken its time, and the change may have waited for others.
    pub(crate) async fn change(&self) -> Result<cms_core::Change> {
        self.begin(Waits::default()).await
    }

    /// As [`Call::change`], for a change of users or groups.
    pub(crate) async fn change_of_users(&self) -> Result<cms_core::Change> {
        self.begin(Waits { of: Some(Kind::Users), ..Waits::default() }).await
    }

    /// As [`Call::change_of_users`], for one that judges a password or a code from this network.
    pub(crate) async fn change_of_own(&self, network: &str) -> Result<cms_core::Change> {
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
        let (mut change, caller) = self.found.change(self.cms, waits).await?;
        self.admit(caller)?;
        if let Some(ticket) = ticket
            && ticket.is_answered(self.cms, &mut change).await?
        {
            // The first reply counts from its commit on, which this one waits for.
            change.commit().await?;
            return Err(in_progress());
        }
        Ok(change)
    }

    /// Does work that is no part of a change, such as that of a plugin's handler: once for an
    /// `Idempotency-Key`. Such work goes on when its caller hangs up, so that its reply is
    /// there for the repetition. Refusals, and replies that are streamed or longer than
    /// [`MOST_KEPT`], are not kept; of those that are no JSON, or say more in headers, it is kept
    /// that they were given.
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
            // Only failed work is released to the next request.
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

    /// A repetition that comes meanwhile waits, 5 s at most.
    async fn turn(&self, ticket: &idempotency::Ticket) -> Result<Claim> {
        let began = Instant::now();
        loop {
            let mut change = self.change().await?;
            if let Some(claim) = ticket.claim(self.cms, &mut change).await? {
                change.commit().await?;
                return Ok(claim);
            }
            drop(change);
            // Reads only: those who wait must not keep the one writer of SQLite busy.
            while ticket.is_under_way(self.cms).await? {
                if began.elapsed() >= REPEAT_TIMEOUT {
                    return Err(in_progress());
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }

    /// A kept reply, as far as the caller may see it now.
    pub(crate) async fn again_shown(&self, earlier: idempotency::Earlier) -> Result<Reply> {
        // The body may have taken its time.
        self.judge_again().await?;
        earlier.shown(&self.caller().digest(self.cms))
    }

    /// Judges the caller again. Whoever acts on a body without a change begins with this.
    pub(crate) async fn judge_again(&self) -> Result<()> {
        self.admit(self.found.again(self.cms).await?)
    }

    fn admit(&self, caller: Caller) -> Result<()> {
        self.demand.judge(self.cms, self.request, &caller)?;
        // Set already: an earlier change of this call found no less.
        let _ = self.again.set(caller);
        Ok(())
    }

    /// Refuses columns that no button writes which the caller holds. Rows of keys have bounds of
    /// their own.
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

    /// As [`Call::admit_columns`], for a new record: who may only make versions must name a record
    /// that exists.
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

    /// Whether the caller may read the row `id` at `path`, which has the access of this route: who
    /// may only write is shown nothing but the id.
    pub(crate) fn may_read(&self, path: &str, id: i64) -> bool {
        let access = self.demand.route.map(|(_, access)| access);
        access.is_some_and(|access| self.caller().may_read_row(self.cms, (path, access), id))
    }

    /// The row at `path` that a write has made or changed, for who may read it; its id for all
    /// others.
    pub(crate) fn shown<T: Serialize>(&self, path: &str, id: i64, data: T) -> Success<Data<T>> {
        match self.may_read(path, id) {
            true => Data { data }.into(),
            false => Success::only_id(id),
        }
    }

    /// As [`Call::shown`], with a secret that only this reply holds: callers who may not read the
    /// row get its id and the secret.
    pub(crate) fn shown_once<T: Serialize>(
        &self,
        path: &str,
        id: i64,
        data: T,
        (name, secret): (&str, &str),
    ) -> Result<Success<T>> {
        if self.may_read(path, id) {
            return Ok(data.into());
        }
        let only = json!({"data": {"id": id, name: secret}});
        Ok(Success::json(only.to_string()))
    }

    /// Keeps a reply for a repetition.
    pub(crate) async fn keep<T: Serialize>(
        &self,
        change: &mut cms_core::Change,
        success: impl Into<Success<T>>,
    ) -> Result<()> {
        let Some(ticket) = &self.repetition else { return Ok(()) };
        let reply = success.into().reply(self.answers)?;
        let kept = ticket.remember(&reply, self.caller().digest(self.cms), false);
        self.cms.idempotency().remember(change, kept).await
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
            let kept = ticket.remember(&reply, self.caller().digest(self.cms), secret);
            self.cms.idempotency().remember(&mut change, kept).await?;
            success = Success::written(reply);
        }
        change.commit().await?;
        Ok(success)
    }
}
