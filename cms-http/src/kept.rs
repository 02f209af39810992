//! What an API keeps in memory between requests.

use std::sync::{Arc, Once, atomic::AtomicBool};

use cms_core::{Code, Error, Result, settings::Settings};
use http::HeaderName;

use crate::{
    budget::Budget, metrics::Metrics, mount::Mount, refusals::Refusals, replies::Replies,
    reply_budget::ReplyBudget, streams::Streams,
};

pub(crate) struct Kept {
    pub(crate) mount: Arc<Mount>,
    pub(crate) metrics: Metrics,
    pub(crate) refusals: Refusals,
    pub(crate) replies: Replies,
    pub(crate) streams: Streams,
    pub(crate) reply_budget: ReplyBudget,
    /// The memory budget of bodies under way.
    pub(crate) bodies: Arc<Budget>,
    pub(crate) proxy_header: HeaderName,
    /// Whether the log has a warning that requests come without an address.
    pub(crate) warned_of_strangers: Once,
    /// Whether the service is about to stop.
    pub(crate) stopping: AtomicBool,
}

impl Kept {
    pub(crate) fn new(settings: &Settings, mount: Mount) -> Result<Self> {
        let proxy_header = settings.proxy_header.parse();
        let proxy_header = proxy_header
            .map_err(|e| Error::new(Code::ValidationFailed, format!("proxy_header: {e}")))?;
        Ok(Self {
            mount: Arc::new(mount),
            metrics: Metrics::default(),
            refusals: Refusals::default(),
            replies: Replies::new(settings)?,
            reply_budget: ReplyBudget::new(settings),
            bodies: Budget::new(settings.http.parsed_limit_bytes),
            // Streams are never idle, so they may take at most half of the connections.
            streams: Streams::new(
                settings.http.max_streams.min((settings.http.max_connections / 2).max(1)),
            ),
            proxy_header,
            warned_of_strangers: Once::new(),
            stopping: AtomicBool::new(false),
        })
    }
}
