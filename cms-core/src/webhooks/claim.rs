//! Taking jobs out of the queue: a few of each lane, for the time of a lease.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::{
    WebhookSecret,
    sql::{
        queue::{self, Claimed, Lane},
        subscriptions,
    },
    subscriptions::{header_place, secret_place},
};
use crate::{Actor, Cms, Result, settings::Secret};

/// How long a claimed row belongs to its worker; longer than any attempt.
pub(super) const LEASE_MS: i64 = 30_000;
/// Lanes of one claim.
const LANES: i64 = 64;
/// Attempts under way at one subscription. Few, because all of them may fail at once: with one more each second after that, the ten
/// failures that switch a subscription off take six seconds at least.
pub(super) const ROOM: i64 = 4;

/// A subscription with its secrets opened.
pub(super) struct Target {
    pub(super) url: String,
    pub(super) secret: WebhookSecret,
    pub(super) old_secret: Option<(WebhookSecret, i64)>,
    pub(super) custom_headers: Vec<(String, Zeroizing<String>)>,
}

/// An attempt to be made.
pub(super) struct Task {
    /// Err: the secret or a header cannot be opened, so nothing can be signed.
    pub(super) target: Result<Arc<Target>, Arc<str>>,
    pub(super) subscription: i64,
    pub(super) row: Claimed,
}

/// Claims up to `free` jobs, `room` of a lane at most; those of the lane that was served least recently first.
pub(super) async fn claim(cms: &Cms, free: usize, room: i64) -> Result<Vec<Task>> {
    if free == 0 || !queue::is_due(cms.db(), cms.clock().now()).await? {
        return Ok(Vec::new());
    }
    let mut change = cms.change(Actor::System).await?;
    let now = change.now();
    let mut left = i64::try_from(free).unwrap_or(i64::MAX);
    let mut tasks = Vec::new();
    change.lock_claims().await?;
    let lanes = queue::lanes(&mut change, LANES.min(left), room).await?;
    // Everybody gets one before anybody gets many.
    let share = left / i64::try_from(lanes.len().max(1)).unwrap_or(1);
    for lane in lanes {
        let room = lane.room.min(share.max(1)).min(left);
        // As everywhere: the subscription first, then its rows.
        queue::serve(&mut change, lane.id).await?;
        let returned = queue::reclaim(&mut change, lane.id, true).await?;
        if returned > 0 {
            tracing::warn!(subscription = lane.id, returned, "jobs whose worker died or was too slow are due again");
        }
        let rows = queue::claim(&mut change, lane.id, room, now + LEASE_MS).await?;
        left -= i64::try_from(rows.len()).unwrap_or(0);
        let subscription = lane.id;
        let target = open(cms, lane).map(Arc::new).map_err(|error| Arc::from(error.to_string()));
        tasks.extend(rows.into_iter().map(|row| Task { target: target.clone(), subscription, row }));
    }
    change.commit().await?;
    Ok(tasks)
}

/// The lane with its secrets opened.
pub(super) fn open(cms: &Cms, lane: Lane) -> Result<Target> {
    let open = |place: &str, sealed: &str| -> Result<Zeroizing<String>> {
        let bytes = cms.vault().open(place, sealed)?;
        Ok(String::from_utf8(bytes).map_err(crate::Error::internal)?.into())
    };
    let secret = |sealed: &str| -> Result<WebhookSecret> {
        let text = open(&secret_place(lane.id), sealed)?;
        WebhookSecret::parse(&Secret::new(text.as_str())).ok_or_else(|| crate::Error::internal("a webhook secret has no form"))
    };
    let headers = subscriptions::headers(&lane.custom_headers)?.into_iter();
    let headers = headers.map(|(name, sealed)| open(&header_place(lane.id), &sealed).map(|value| (name, value)));
    let old = lane.old_secret.as_ref().filter(|(_, until)| *until > cms.clock().now());
    Ok(Target {
        secret: secret(&lane.secret)?,
        old_secret: old.map(|(sealed, until)| Ok::<_, crate::Error>((secret(sealed)?, *until))).transpose()?,
        custom_headers: headers.collect::<Result<_>>()?,
        url: lane.url,
    })
}
