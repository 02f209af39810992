//! `/api/backend/cache`

use cms_core::{
    Error, Result,
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
    for prefix in patch.exclude.iter().flatten() {
        is_kept_under(call, "exclude", prefix)?;
    }
    let mut change = call.change().await?;
    let data = call.cms.cache().update(&mut change, patch).await?;
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn clear(call: &Call<'_>, which: Which) -> Result<Success<Done>> {
    let path = which.path.as_deref().unwrap_or_default();
    is_kept_under(call, "path", path)?;
    let mut change = call.change().await?;
    call.cms.cache().clear(&mut change, path).await?;
    call.commit(change, Done, false).await
}

/// Refuses a prefix that goes on behind the path of an operation: replies are kept under the first
/// spelling of their path, so it would never match.
fn is_kept_under(call: &Call<'_>, field: &str, prefix: &str) -> Result<()> {
    let spelled = prefix.replace('-', "_");
    let below = |path: &str| {
        spelled.strip_prefix(&*path.replace('-', "_")).is_some_and(|rest| rest.starts_with('/'))
    };
    let paths = || call.operations.iter().chain(call.declared).map(|operation| operation.path);
    if paths().any(|path| path.replace('-', "_").starts_with(&spelled)) {
        return Ok(());
    }
    match paths().find(|path| below(path)) {
        Some(path) => {
            let message = format!("replies below {path} are kept under {path}: name that path");
            Err(Error::invalid_field(field, "unknown", message))
        }
        None => Ok(()),
    }
}
