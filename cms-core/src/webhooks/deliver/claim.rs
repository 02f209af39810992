//! Taking jobs out of the queue, for the time of a lease, and giving back what was not begun.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::{
    sql::{
        groups,
        queue::{self, LEASE_MS, Lane},
    },
    task::{Moment, Target, Task},
};
use crate::{
    Change, Result, Secret,
    base::Base,
    webhooks::{
        rules::sign::WebhookSecret,
        subscriptions::{header_place, secret_place, sql as subscriptions},
    },
};

/// Lanes of one claim.
const LANES: i64 = 256;

/// Claims up to `free` jobs, of each lane as many as there is `room` for; those of the lane that
/// was served least recently first. The change has locked claims.
pub(in crate::webhooks) async fn claim(
    base: &Base,
    change: &mut Change,
    free: usize,
    epoch: i64,
    most: i64,
    room: impl Fn(&Lane) -> i64,
) -> Result<Vec<Task>> {
    let claimed = Moment { now: change.now(), epoch };
    let mut left = i64::try_from(free).unwrap_or(i64::MAX);
    let returned = queue::reclaim(change).await?;
    if returned > 0 {
        tracing::warn!(returned, "jobs whose worker died or was too slow are due again");
    }
    let lanes = queue::lanes(change, LANES.min(left), most).await?;
    // Everybody gets one before anybody gets many.
    let share = left / i64::try_from(lanes.len().max(1)).unwrap_or(1);
    let mut rooms = Vec::with_capacity(lanes.len());
    for lane in &lanes {
        let room = room(lane).min(share.max(1)).min(left);
        left -= room;
        rooms.push((lane.id, room));
    }
    // As everywhere: the subscriptions first, then their rows.
    groups::serve(change, &rooms).await?;
    let mut rows = groups::claim(change, &rooms, claimed.now + LEASE_MS).await?;
    let mut tasks = Vec::new();
    for lane in lanes {
        let subscription = lane.id;
        let rows = rows.remove(&subscription).unwrap_or_default();
        let target = open(base, lane).map(Arc::new).map_err(|error| Arc::from(error.to_string()));
        tasks.extend(rows.into_iter().map(|row| Task {
            target: target.clone(),
            subscription,
            row,
            claimed,
        }));
    }
    Ok(tasks)
}

/// Gives jobs back that were not begun: they wait as before, or as their subscription says by now.
/// The change has locked claims.
pub(in crate::webhooks) async fn give_back(change: &mut Change, tasks: &[Task]) -> Result<()> {
    for lane in tasks.chunk_by(|a, b| a.subscription == b.subscription) {
        let active = subscriptions::lock(change, lane[0].subscription)
            .await?
            .is_some_and(|subscription| subscription.active);
        for task in lane {
            queue::give_back(change, &task.row, active).await?;
        }
    }
    Ok(())
}

/// The lane with its secrets opened.
pub(in crate::webhooks) fn open(base: &Base, lane: Lane) -> Result<Target> {
    let open = |place: &str, sealed: &str| -> Result<Zeroizing<String>> {
        let bytes = base.vault().open(place, sealed)?;
        Ok(String::from_utf8(bytes).map_err(crate::Error::internal)?.into())
    };
    let secret = |sealed: &str| -> Result<WebhookSecret> {
        let text = open(&secret_place(lane.id), sealed)?;
        WebhookSecret::parse(&Secret::new(text.as_str()))
            .ok_or_else(|| crate::Error::internal("a webhook secret has no form"))
    };
    let headers = subscriptions::headers(&lane.custom_headers)?.into_iter();
    let headers = headers
        .map(|(name, sealed)| open(&header_place(lane.id), &sealed).map(|value| (name, value)));
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
