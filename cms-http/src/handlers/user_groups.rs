//! `/api/backend/user_groups`

use cms_core::{
    Result,
    accounts::{Group, GroupPatch, NewGroup},
};

use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, Done, OneOrPage,
        parameters::{ById, NoQuery, OneOrList},
        user_groups::Read,
    },
};

pub(crate) async fn read(call: &Call<'_>, asked: OneOrList) -> Result<OneOrPage<Group>> {
    let (accounts, query) = (call.cms.accounts(), asked.list.query("id")?);
    call.one_or_page(asked.id.map(|id| accounts.group(id)), accounts.groups(&query)).await
}

pub(crate) async fn create(
    call: &Call<'_>,
    _: NoQuery,
    new: NewGroup,
) -> Result<Success<Data<Group>>> {
    let mut change = call.change_of_users().await?;
    let made =
        call.cms.accounts().create_group(&mut change, &call.caller().permissions(), &new).await?;
    call.commit(change, call.shown::<Read, _>(made.id, made), false).await
}

pub(crate) async fn update(
    call: &Call<'_>,
    which: ById,
    patch: GroupPatch,
) -> Result<Success<Data<Group>>> {
    let mut change = call.change_of_users().await?;
    let group = call
        .cms
        .accounts()
        .update_group(&mut change, &call.caller().permissions(), which.id, &patch)
        .await?;
    call.commit(change, call.shown::<Read, _>(which.id, group), false).await
}

pub(crate) async fn delete(call: &Call<'_>, which: ById) -> Result<Success<Done>> {
    let mut change = call.change_of_users().await?;
    call.cms.accounts().delete_group(&mut change, &call.caller().permissions(), which.id).await?;
    call.commit(change, Done, false).await
}
