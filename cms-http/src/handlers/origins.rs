//! `/api/backend/origins`

use cms_core::{
    Result,
    traffic::origins::{NewOrigin, Origin, OriginPatch},
};

use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, Done, OneOrPage,
        origins::Read,
        parameters::{ById, NoQuery, OneOrList},
    },
};

pub(crate) async fn read(call: &Call<'_>, asked: OneOrList) -> Result<OneOrPage<Origin>> {
    let (origins, query) = (call.cms.origins(), asked.list.query("id")?);
    call.one_or_page(asked.id.map(|id| origins.get(id)), origins.list(&query)).await
}

pub(crate) async fn create(
    call: &Call<'_>,
    _: NoQuery,
    new: NewOrigin,
) -> Result<Success<Data<Origin>>> {
    let mut change = call.change().await?;
    let made = call.cms.origins().create(&mut change, new).await?;
    call.commit(change, call.shown::<Read, _>(made.id, made), false).await
}

pub(crate) async fn update(
    call: &Call<'_>,
    which: ById,
    patch: OriginPatch,
) -> Result<Success<Data<Origin>>> {
    let mut change = call.change().await?;
    let origin = call.cms.origins().update(&mut change, which.id, patch).await?;
    call.commit(change, call.shown::<Read, _>(which.id, origin), false).await
}

pub(crate) async fn delete(call: &Call<'_>, which: ById) -> Result<Success<Done>> {
    let mut change = call.change().await?;
    call.cms.origins().delete(&mut change, which.id).await?;
    call.commit(change, Done, false).await
}
