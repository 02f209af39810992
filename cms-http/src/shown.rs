//! What a request shows of its caller: a key, else a token, else a cookie.

use std::{sync::Arc, time::Duration};

use cms_core::{Change, Cms, Result, plugins::Begin};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, header};
use tokio::time::Instant;

use crate::{
    body::Parts,
    call::{Call, SESSION_COOKIE},
    caller::{Caller, Waits},
    demand::Demand,
    request::Canonical,
};

/// How long a reply may go on before its caller is judged again.
const JUDGED_FOR: Duration = Duration::from_secs(1);

/// `Authorization: Bearer ...` (RFC 6750, 2.1); other schemes are somebody else's.
pub(crate) fn bearer(request: &Canonical) -> Result<Option<&str>> {
    let sent = request.header(&header::AUTHORIZATION)?;
    Ok(sent
        .and_then(|sent| sent.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim()))
}

/// The session's cookie. Two of them are nobody's: another website of the domain may have set the
/// one.
pub(crate) fn session_cookie(request: &Canonical) -> Option<&str> {
    let lines = request.headers.get_all(header::COOKIE).iter();
    // Cookies of others may hold bytes that are no text.
    let pairs =
        lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';')).map(<[u8]>::trim_ascii);
    let mut sessions =
        pairs.filter_map(|pair| pair.strip_prefix(SESSION_COOKIE.as_bytes())?.strip_prefix(b"="));
    match (sessions.next(), sessions.next()) {
        (Some(token), None) => std::str::from_utf8(token).ok(),
        _ => None,
    }
}

/// A caller whose reply lasts: judged again as long as it does.
pub(crate) struct Lasting {
    cms: Cms,
    caller: Caller,
    demand: Demand,
    /// Without headers.
    request: Canonical,
}

impl Lasting {
    /// The caller of a request that has passed the gate.
    pub(crate) fn of(call: &Call<'_>) -> Self {
        let Canonical { method, path, query, .. } = call.request;
        let (method, path, query) = (method.clone(), path.clone(), query.clone());
        Self {
            cms: call.cms.clone(),
            caller: call.caller().clone(),
            demand: call.demand.clone(),
            request: Canonical { method, path, query, headers: HeaderMap::new() },
        }
    }

    /// How a handler of a plugin begins changes.
    pub(crate) fn begin(self: &Arc<Self>) -> Begin {
        let lasting = self.clone();
        Arc::new(move || {
            let lasting = lasting.clone();
            Box::pin(async move { lasting.change().await })
        })
    }

    /// Begins a change on behalf of the caller, judged again under it.
    ///
    /// # Errors
    /// The refusal that the same request would get now. As every write.
    pub(crate) async fn change(&self) -> Result<Change> {
        let (change, caller) = self.caller.change(&self.cms, Waits::default()).await?;
        self.demand.judge(&self.cms, &self.request, &caller)?;
        Ok(change)
    }

    /// The caller with present rights.
    ///
    /// # Errors
    /// The refusal that the same request would get now.
    pub(crate) async fn caller(&self) -> Result<Caller> {
        let caller = self.caller.again(&self.cms).await?;
        self.demand.judge(&self.cms, &self.request, &caller)?;
        Ok(caller)
    }

    /// Breaks a long reply off when its caller was revoked meanwhile.
    pub(crate) fn watching(self: Arc<Self>, parts: Parts) -> Parts {
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
