//! Judges the callers of long replies again while these go on.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use cms_core::{Change, Cms, Error, Result, plugins::Begin};
use futures_util::{StreamExt as _, stream};
use http::HeaderMap;
use tokio::time::Instant;

use crate::{
    body::Parts,
    call::Call,
    caller::{Caller, Waits},
    demand::Demand,
    request::Canonical,
};

/// How long a reply may go on until its caller is judged again.
const JUDGED_FOR: Duration = Duration::from_secs(1);

/// The caller of a long reply, with what is needed to judge them again.
pub(crate) struct Reauthorizer {
    cms: Cms,
    caller: Caller,
    demand: Demand,
    /// Without headers.
    request: Canonical,
}

impl Reauthorizer {
    /// The caller of a request that has passed the gate.
    pub(crate) fn of(call: &Call<'_>) -> Self {
        let Canonical { method, path, query, .. } = call.request;
        let (method, path, query) = (method.clone(), path.clone(), query.clone());
        Self {
            cms: call.cms.clone(),
            caller: call.caller().clone(),
            demand: call.demand.clone(),
            request: Canonical { method, path, as_sent: None, query, headers: HeaderMap::new() },
        }
    }

    /// How the handler of a plugin begins changes on behalf of the caller.
    pub(crate) fn begin(self: &Arc<Self>) -> Begin {
        let reauthorizer = self.clone();
        self.cms.begins(move || {
            let reauthorizer = reauthorizer.clone();
            Box::pin(async move { reauthorizer.change().await })
        })
    }

    /// Begins a change on behalf of the caller, and judges the caller again under it.
    ///
    /// # Errors
    /// The refusal that the same request would get now; the errors of every write.
    pub(crate) async fn change(&self) -> Result<Change> {
        let (change, caller) = self.caller.change(&self.cms, Waits::default()).await?;
        self.demand.judge(&self.cms, &self.request, &caller)?;
        Ok(change)
    }

    /// The caller with their present rights.
    ///
    /// # Errors
    /// The refusal that the same request would get now.
    pub(crate) async fn caller(&self) -> Result<Caller> {
        let caller = self.caller.rejudged(&self.cms).await?;
        self.demand.judge(&self.cms, &self.request, &caller)?;
        Ok(caller)
    }

    /// Ends a long reply early when its caller was revoked, or when making a part panics.
    pub(crate) fn watching(self: Arc<Self>, parts: Parts) -> Parts {
        let parts = AssertUnwindSafe(parts).catch_unwind().map(|part| {
            part.unwrap_or_else(|panic| {
                let error = Error::of_panic("making a reply", &*panic);
                tracing::error!(?error, "a reply is broken off");
                Err(error)
            })
        });
        let parts = parts.boxed();
        let begun = (parts, self, Instant::now());
        stream::unfold(begun, |(mut parts, caller, mut judged)| async move {
            let mut part = parts.next().await?;
            if judged.elapsed() >= JUDGED_FOR {
                if let Err(refused) = caller.caller().await {
                    (part, parts) = (Err(refused), stream::empty().boxed());
                }
                judged = Instant::now();
            }
            Some((part, (parts, caller, judged)))
        })
        .boxed()
    }
}
