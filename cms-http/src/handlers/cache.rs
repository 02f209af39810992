//! `/api/backend/cache`

use cms_core::{
    Result,
    traffic::cache::{CachePatch, CacheSettings},
};

use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, Done,
        cache::{State, Which},
        parameters::NoQuery,
    },
};

/// Settings and counters of this process.
pub(crate) async fn read(call: &Call<'_>, _: NoQuery) -> Result<Data<State>> {
    let rules = call.cms.cache().rules().await?;
    let (entries, bytes, hits, misses) = call.replies.figures();
    let (settings, store) = (rules.settings.clone(), call.cms.cache().state().to_owned());
    Ok(Data { data: State { settings, store, entries, bytes, hits, misses } })
}

pub(crate) async fn update(
    call: &Call<'_>,
    _: NoQuery,
    patch: CachePatch,
) -> Result<Success<Data<CacheSettings>>> {
    let mut change = call.change().await?;
    let data = call.cms.cache().update(&mut change, patch).await?;
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn clear(call: &Call<'_>, which: Which) -> Result<Success<Done>> {
    let mut change = call.change().await?;
    call.cms.cache().clear(&mut change, which.path.as_deref().unwrap_or_default()).await?;
    call.commit(change, Done, false).await
}
