//! Claims jobs for the time of a lease, and returns jobs whose attempt did not begin.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::{
    batch,
    claimed::{ClaimedJob, Moment, Target},
    queue::{self, End, LEASE_MS, Lane},
};
use crate::{
    Change, Result, Secret,
    base::Base,
    webhooks::{
        rules::sign::WebhookSecret,
        subscriptions::{
            saving::{header_context, secret_context},
            sql as subscriptions,
        },
    },
};

/// Maximum number of lanes in one claim.
const LANES: i64 = 256;

/// Claims up to `free` jobs and up to `limit` of each lane, the least recently served lane first.
/// Jobs whose bodies have no `room` stay in the queue. The caller holds the lock on claims.
pub(super) async fn claim(
    base: &Base,
    change: &mut Change,
    (free, room): (usize, usize),
    epoch: i64,
    most: i64,
    limit: impl Fn(&Lane) -> i64,
) -> Result<Vec<ClaimedJob>> {
    let moment = Moment { now: change.now(), epoch };
    let mut left = i64::try_from(free).unwrap_or(i64::MAX);
    let returned = queue::reclaim(change).await?;
    if returned > 0 {
        tracing::warn!(returned, "jobs whose worker died or was too slow are due again");
    }
    let lanes = queue::lanes(change, LANES.min(left), most).await?;
    // Every lane gets one job before any lane gets many.
    let share = left / i64::try_from(lanes.len().max(1)).unwrap_or(1);
    let mut limits = Vec::with_capacity(lanes.len());
    for lane in &lanes {
        let limit = limit(lane).min(share.max(1)).min(left);
        left -= limit;
        limits.push((lane.id, limit));
    }
    // Lock order, as everywhere: subscriptions, then their jobs.
    batch::serve(change, &limits).await?;
    let mut by_lane = batch::claim(change, &limits, moment.now + LEASE_MS, room).await?;
    let mut claimed = Vec::new();
    for lane in lanes {
        let subscription = lane.id;
        let jobs = by_lane.remove(&subscription).unwrap_or_default();
        let target = open(base, lane).map(Arc::new).map_err(|error| Arc::from(error.with_cause()));
        let (unread, jobs): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.event.unread);
        for job in unread {
            queue::settle(change, &job, End::Returned, true, None).await?;
        }
        claimed.extend(jobs.into_iter().map(|job| ClaimedJob {
            target: target.clone(),
            subscription,
            job,
            moment,
        }));
    }
    Ok(claimed)
}

/// Returns jobs whose attempt did not begin. They wait as before, or are held if their
/// subscription is now off. The caller holds the lock on claims.
pub(super) async fn give_back(change: &mut Change, claimed: &[ClaimedJob]) -> Result<()> {
    for lane in claimed.chunk_by(|a, b| a.subscription == b.subscription) {
        let active = subscriptions::lock(change, lane[0].subscription)
            .await?
            .is_some_and(|subscription| subscription.active);
        for claimed in lane {
            queue::settle(change, &claimed.job, End::Returned, active, None).await?;
        }
    }
    Ok(())
}

/// Decrypts the secrets of a lane.
pub(super) fn open(base: &Base, lane: Lane) -> Result<Target> {
    let open = |context: &str, sealed: &str| -> Result<Zeroizing<String>> {
        let bytes = base.vault().open(context, sealed)?;
        Ok(String::from_utf8(bytes).map_err(crate::Error::internal)?.into())
    };
    let secret = |sealed: &str| -> Result<WebhookSecret> {
        let text = open(&secret_context(lane.id), sealed)?;
        WebhookSecret::parse(&Secret::new(text.as_str()))
            .ok_or_else(|| crate::Error::internal("a stored webhook secret is malformed"))
    };
    let headers = subscriptions::headers(&lane.custom_headers)?.into_iter();
    let headers = headers
        .map(|(name, sealed)| open(&header_context(lane.id), &sealed).map(|value| (name, value)));
    let old = lane.old_secret.as_ref().filter(|(_, until)| *until > base.clock().now());
    Ok(Target {
        secret: secret(&lane.secret)?,
        old_secret: old
            .map(|(sealed, until)| Ok::<_, crate::Error>((secret(sealed)?, *until)))
            .transpose()?,
        custom_headers: headers.collect::<Result<_>>()?,
        url: lane.url,
    })
}
