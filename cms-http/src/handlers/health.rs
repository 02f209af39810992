//! `/healthz` and `/readyz`

use cms_core::Result;
use http::StatusCode;
use serde_json::json;

use crate::{gate::Call, reply::Reply};

pub(crate) async fn alive(_: &Call<'_>) -> Result<Reply> {
    Reply::of(StatusCode::OK, &json!({"status": "ok", "version": cms_core::VERSION}))
}

pub(crate) async fn ready(call: &Call<'_>) -> Result<Reply> {
    call.cms.ready().await?;
    Reply::of(
        StatusCode::OK,
        &json!({"status": "ready", "database": "ok", "migrations": "applied", "limiter": call.cms.limiter().state()}),
    )
}
