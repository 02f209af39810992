//! `/api/backend/users` and what hangs below it

use cms_core::{
    Result,
    accounts::{NewUser, RecoveryCode, Session, User, UserPatch},
};

use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, Done, NoBody, OneOrPage, Page,
        parameters::{ById, NoQuery},
        users::{OfUser, Read, RecoveryCodes, WhichSessions, WhichUsers},
    },
};

pub(crate) async fn read(call: &Call<'_>, asked: WhichUsers) -> Result<OneOrPage<User>> {
    let accounts = call.cms.accounts();
    let query = asked.list.query("id, username")?;
    match (asked.id, &asked.username) {
        (Some(id), _) => {
            call.names_one("id")?;
            Ok(OneOrPage::one(accounts.user(id).await?))
        }
        (None, Some(name)) => {
            call.names_one("username")?;
            Ok(OneOrPage::one(accounts.user_named(name).await?))
        }
        (None, None) => Ok(OneOrPage::page(accounts.users(&query).await?)),
    }
}

pub(crate) async fn create(
    call: &Call<'_>,
    _: NoQuery,
    new: NewUser,
) -> Result<Success<Data<User>>> {
    let accounts = call.cms.accounts();
    let password = accounts.hash_password(&new.username, &new.password).await?;
    let mut change = call.change_of_users().await?;
    let held = call.caller().permissions();
    let made = accounts.create_user(&mut change, &held, &new, password).await?;
    call.commit(change, call.shown::<Read, _>(made.id, made), false).await
}

pub(crate) async fn update(
    call: &Call<'_>,
    which: ById,
    patch: UserPatch,
) -> Result<Success<Data<User>>> {
    let (id, accounts) = (which.id, call.cms.accounts());
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
    let mut change = call.change_of_users().await?;
    let held = call.caller().permissions();
    let user = accounts.update_user(&mut change, &held, id, &patch, password).await?;
    call.commit(change, call.shown::<Read, _>(id, user), false).await
}

pub(crate) async fn delete(call: &Call<'_>, which: ById) -> Result<Success<Done>> {
    let mut change = call.change_of_users().await?;
    let held = call.caller().permissions();
    call.cms.accounts().delete_user(&mut change, &held, which.id).await?;
    call.commit(change, Done, false).await
}

/// The open sessions of the user `id`.
pub(crate) async fn sessions(call: &Call<'_>, of: OfUser) -> Result<Page<Session>> {
    let accounts = call.cms.accounts();
    let user = accounts.user(of.id).await?;
    Ok(accounts.sessions(user.id, &of.limit.after(of.cursor, of.count)).await?.into())
}

/// Ends the sessions of the user `id`, or only `session`.
pub(crate) async fn revoke(call: &Call<'_>, which: WhichSessions) -> Result<Success<Done>> {
    let mut change = call.change_of_users().await?;
    let (accounts, held) = (call.cms.accounts(), call.caller().permissions());
    accounts.revoke_sessions(&mut change, &held, which.id, which.session).await?;
    call.commit(change, Done, false).await
}

pub(crate) async fn reset_second_factor(
    call: &Call<'_>,
    which: ById,
    _: NoBody,
) -> Result<Success<Done>> {
    let mut change = call.change_of_users().await?;
    call.cms.accounts().reset_second_factor(&mut change, which.id).await?;
    call.commit(change, Done, false).await
}

pub(crate) async fn new_recovery_codes(
    call: &Call<'_>,
    which: ById,
    _: NoBody,
) -> Result<Success<Data<RecoveryCodes>>> {
    let mut change = call.change_of_users().await?;
    let codes = call.cms.accounts().new_recovery_codes(&mut change, which.id).await?;
    let data = RecoveryCodes { recovery_codes: shown_once(&codes) };
    call.commit(change, Data { data }, true).await
}

/// The recovery codes in plain text. Nothing else shows them.
pub(super) fn shown_once(codes: &[RecoveryCode]) -> Vec<String> {
    codes.iter().map(|code| code.expose().to_string()).collect()
}
