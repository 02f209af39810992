//! `/api/backend/limits`

use cms_core::{AuditEntry, Result, traffic::limiter::bucket};
use http::StatusCode;
use serde_json::{Value as Json, json};

use crate::{call::Call, reply::Reply};

/// The kinds of buckets, and those of them that are not full; `owner=` shows one owner's.
pub(crate) async fn read(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["owner"])?;
    let limiter = call.cms.limiter();
    let used = limiter.used(call.request.parameter("owner")).await?;
    let kinds: Vec<Json> = bucket::ALL
        .iter()
        .map(|bucket| json!({"bucket": bucket.name, "limit": bucket.capacity as u64, "per_second": bucket.per_second}))
        .collect();
    Reply::of(StatusCode::OK, &json!({"store": limiter.state(), "buckets": kinds, "used": used}))
}

pub(crate) async fn reset(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["owner"])?;
    let owner = call.request.required("owner")?;
    call.cms.limiter().reset(owner).await?;
    let mut change = call.change().await?;
    change.audit(AuditEntry { action: "reset", table: "limits", id: owner, columns: &[] }).await?;
    call.commit(change, Reply::no_content(), false).await
}
