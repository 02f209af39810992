//! `/api/backend/cache`

use cms_core::{
    Code, Error, Result,
    traffic::cache::{CachePatch, CacheSettings},
};

use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, Done,
        cache::{State, WhichReplies},
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
    let replaced = patch.exclude.iter().flatten().map(|one| ("exclude", one));
    let mut named = replaced.chain(patch.exclude_add.iter().map(|one| ("exclude_add", one)));
    let fault = named.find_map(|(field, one)| Some((field, never_matches(call, one)?)));
    if let Some((field, why)) = fault {
        return Err(Error::invalid_field(field, "unknown", why));
    }
    let mut change = call.change().await?;
    let data = call.cms.cache().update(&mut change, patch).await?;
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn clear(call: &Call<'_>, which: WhichReplies) -> Result<Success<Done>> {
    let path = which.path.as_deref().unwrap_or_default();
    if let Some(why) = never_matches(call, path) {
        return Err(Error::new(Code::BadQuery, format!("path: {why}.")));
    }
    let mut change = call.change().await?;
    call.cms.cache().clear(&mut change, path).await?;
    let done = call.commit(change, Done, false).await?;
    // The clear is in force already. Without the rules, only its memory is freed later.
    if let Ok(rules) = call.cms.cache().rules().await {
        call.replies.drop_cleared(&rules);
    }
    Ok(done)
}

/// Why a prefix never matches: it is longer than the path under which replies are kept.
fn never_matches(call: &Call<'_>, prefix: &str) -> Option<String> {
    let prefix = prefix.replace('-', "_");
    let mut above = None;
    let own = call.operations.iter().map(|operation| (operation.path, false));
    let declared = call.declared.iter().map(|operation| (operation.path, true));
    for (path, is_declared) in own.chain(declared) {
        let path = path.replace('-', "_");
        if path.starts_with(&prefix) {
            return None;
        }
        // In the path of a plugin's endpoint, parameters have no values.
        let fixed = path.split('{').next().unwrap_or_default();
        let is_below = prefix.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'))
            || (is_declared && fixed.len() < path.len() && prefix.starts_with(fixed));
        if is_below {
            above = Some(fixed.to_owned());
        }
    }
    above.map(|path| format!("replies below {path} can only be cleared together: name {path}"))
}
