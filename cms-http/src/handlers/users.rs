//! `/api/backend/users` and what hangs below it

use cms_core::{
    Result,
    accounts::{NewUser, RecoveryCode, UserPatch},
};
use http::StatusCode;
use serde_json::json;

use crate::{call::Call, reply::Reply, request::bad};

pub(crate) async fn read(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "username", "limit", "cursor"])?;
    let accounts = call.cms.accounts();
    if call.request.parameter("id").is_some() {
        return Reply::of(StatusCode::OK, &accounts.user(call.id()?).await?);
    }
    if let Some(name) = call.request.parameter("username") {
        return Reply::of(StatusCode::OK, &accounts.user_named(name).await?);
    }
    let paging = call.request.paging()?;
    Reply::page(&accounts.users(&paging).await?)
}

pub(crate) async fn create(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let (new, accounts): (NewUser, _) = (call.typed()?, call.cms.accounts());
    let password = accounts.hash_password(&new.username, &new.password).await?;
    let mut change = call.change().await?;
    let user =
        accounts.create_user(&mut change, &call.caller.permissions(), &new, password).await?;
    call.commit(change, Reply::of(StatusCode::CREATED, &user)?, false).await
}

pub(crate) async fn update(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let (id, patch, accounts): (_, UserPatch, _) = (call.id()?, call.typed()?, call.cms.accounts());
    let password = match &patch.password {
        Some(password) => {
            let username = match &patch.username {
                Some(new) => new.clone(),
                None => accounts.user(id).await?.username,
            };
            Some(accounts.hash_password(&username, password).await?)
        }
        None => None,
    };
    let mut change = call.change().await?;
    let user =
        accounts.update_user(&mut change, &call.caller.permissions(), id, &patch, password).await?;
    call.commit(change, Reply::of(StatusCode::OK, &user)?, false).await
}

pub(crate) async fn delete(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let id = call.id()?;
    let mut change = call.change().await?;
    call.cms.accounts().delete_user(&mut change, &call.caller.permissions(), id).await?;
    call.commit(change, Reply::no_content(), false).await
}

/// The open sessions of the user `id`.
pub(crate) async fn sessions(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "limit", "cursor"])?;
    let user = call.cms.accounts().user(call.id()?).await?;
    let paging = call.request.paging()?;
    Reply::page(&call.cms.accounts().sessions(user.id, &paging).await?)
}

/// Ends the sessions of the user `id`, or only `session`.
pub(crate) async fn revoke(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id", "session"])?;
    let session = call
        .request
        .parameter("session")
        .map(|id| id.parse().map_err(|_| bad("session is a whole number.")));
    let (id, session) = (call.id()?, session.transpose()?);
    let mut change = call.change().await?;
    call.cms
        .accounts()
        .revoke_sessions(&mut change, &call.caller.permissions(), id, session)
        .await?;
    call.commit(change, Reply::no_content(), false).await
}

pub(crate) async fn reset_second_factor(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let id = call.id()?;
    let mut change = call.change().await?;
    call.cms.accounts().reset_second_factor(&mut change, id).await?;
    call.commit(change, Reply::no_content(), false).await
}

pub(crate) async fn new_recovery_codes(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["id"])?;
    let id = call.id()?;
    let mut change = call.change().await?;
    let codes = call.cms.accounts().new_recovery_codes(&mut change, id).await?;
    call.commit(
        change,
        Reply::of(StatusCode::OK, &json!({"recovery_codes": shown_once(&codes)}))?,
        true,
    )
    .await
}

/// The only place where recovery codes are written out.
pub(super) fn shown_once(codes: &[RecoveryCode]) -> Vec<String> {
    codes.iter().map(|code| code.expose().to_string()).collect()
}
