//! `/api/backend/user_groups`

use cms_core::Result;
use http::StatusCode;

use crate::{call::Call, reply::Reply};

pub(crate) async fn read(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "limit", "cursor"])?;
    if call.request.parameter("id").is_some() {
        return Reply::of(StatusCode::OK, &call.cms.accounts().group(call.id()?).await?);
    }
    let paging = call.request.paging()?;
    Reply::page(&call.cms.accounts().groups(&paging).await?)
}

pub(crate) async fn create(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let new = call.typed()?;
    let mut change = call.change().await?;
    let group =
        call.cms.accounts().create_group(&mut change, &call.caller.permissions(), &new).await?;
    call.commit(change, Reply::of(StatusCode::CREATED, &group)?, false).await
}

pub(crate) async fn update(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let (id, patch) = (call.id()?, call.typed()?);
    let mut change = call.change().await?;
    let group = call
        .cms
        .accounts()
        .update_group(&mut change, &call.caller.permissions(), id, &patch)
        .await?;
    call.commit(change, Reply::of(StatusCode::OK, &group)?, false).await
}

pub(crate) async fn delete(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let id = call.id()?;
    let mut change = call.change().await?;
    call.cms.accounts().delete_group(&mut change, &call.caller.permissions(), id).await?;
    call.commit(change, Reply::no_content(), false).await
}
