//! `/api/backend/origins`

use cms_core::Result;
use http::StatusCode;

use crate::{call::Call, reply::Reply};

pub(crate) async fn read(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "limit", "cursor"])?;
    if call.request.parameter("id").is_some() {
        return Reply::of(StatusCode::OK, &call.cms.origins().get(call.id()?).await?);
    }
    let paging = call.request.paging()?;
    Reply::page(&call.cms.origins().list(&paging).await?)
}

pub(crate) async fn create(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let new = call.typed()?;
    let mut change = call.change().await?;
    let origin = call.cms.origins().create(&mut change, new).await?;
    call.commit(change, Reply::of(StatusCode::CREATED, &origin)?, false).await
}

pub(crate) async fn update(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let (id, patch) = (call.id()?, call.typed()?);
    let mut change = call.change().await?;
    let origin = call.cms.origins().update(&mut change, id, patch).await?;
    call.commit(change, Reply::of(StatusCode::OK, &origin)?, false).await
}

pub(crate) async fn delete(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let id = call.id()?;
    let mut change = call.change().await?;
    call.cms.origins().delete(&mut change, id).await?;
    call.commit(change, Reply::no_content(), false).await
}
