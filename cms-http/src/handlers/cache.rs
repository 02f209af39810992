//! `/api/backend/cache`

use cms_core::Result;
use http::StatusCode;
use serde_json::json;

use crate::{call::Call, reply::Reply};

/// Settings and counters of this process.
pub(crate) async fn read(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let rules = call.cms.cache().rules().await?;
    let (entries, bytes, hits, misses) = call.replies.figures().await;
    let settings = &rules.settings;
    let state = json!({"enabled": settings.enabled, "ttl_s": settings.ttl_s, "exclude": settings.exclude, "store": call.cms.cache().state(),
                       "entries": entries, "bytes": bytes, "hits": hits, "misses": misses});
    Reply::of(StatusCode::OK, &state)
}

pub(crate) async fn update(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let patch = call.typed()?;
    let mut change = call.change().await?;
    let settings = call.cms.cache().update(&mut change, patch).await?;
    call.commit(change, Reply::of(StatusCode::OK, &settings)?, false).await
}

pub(crate) async fn clear(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["path"])?;
    let prefix = call.request.parameter("path").unwrap_or_default();
    let mut change = call.change().await?;
    call.cms.cache().clear(&mut change, prefix).await?;
    call.commit(change, Reply::no_content(), false).await
}
