//! `/api/backend/limits`

use cms_core::{AuditEntry, Result, traffic::limiter::bucket};

use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, Done,
        limits::{Bucket, Limits, WhichBuckets, Whose},
    },
};

/// The kinds of buckets, and the buckets that are not full.
pub(crate) async fn read(call: &Call<'_>, which: WhichBuckets) -> Result<Data<Limits>> {
    let limiter = call.cms.limiter();
    let used = limiter.used(which.owner.as_deref()).await?;
    let buckets = bucket::ALL.iter().map(|bucket| Bucket {
        bucket: bucket.name.to_owned(),
        limit: bucket.capacity as u64,
        per_second: bucket.per_second,
    });
    let store = limiter.state().to_owned();
    Ok(Data { data: Limits { store, buckets: buckets.collect(), used } })
}

pub(crate) async fn reset(call: &Call<'_>, whose: Whose) -> Result<Success<Done>> {
    let owner = whose.owner.as_str();
    let mut change = call.change().await?;
    change.audit(AuditEntry { action: "reset", table: "limits", id: owner, columns: &[] }).await?;
    call.cms.limiter().reset(owner).await?;
    call.commit(change, Done, false).await
}
