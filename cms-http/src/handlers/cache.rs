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
    if let Some(why) = patch.exclude.iter().flatten().find_map(|one| never_matches(call, one)) {
        return Err(Error::invalid_field("exclude", "unknown", why));
    }
    let mut change = call.change().await?;
    let data = call.cms.cache().update(&mut change, patch).await?;
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn clear(call: &Call<'_>, which: Which) -> Result<Success<Done>> {
    let path = which.path.as_deref().unwrap_or_default();
    if let Some(why) = never_matches(call, path) {
        return Err(Error::new(Code::BadQuery, format!("path: {why}.")));
    }
    let mut change = call.change().await?;
    call.cms.cache().clear(&mut change, path).await?;
    call.commit(change, Done, false).await
}

/// Why a prefix never matches: it goes on behind the path under which replies are kept.
fn never_matches(call: &Call<'_>, prefix: &str) -> Option<String> {
    let spelled = prefix.replace('-', "_");
    let asked: Vec<&str> = spelled.split('/').collect();
    let (mut begins, mut above) = (false, None);
    for operation in call.operations.iter().chain(call.declared) {
        let path = operation.path.replace('-', "_");
        let parts: Vec<&str> = path.split('/').collect();
        let is_same = |(part, asked): (&&str, &&str)| part.starts_with('{') || part == asked;
        let agrees = parts.iter().zip(&asked).rev().skip(1).all(is_same);
        let last = parts.len().min(asked.len()) - 1;
        if parts.len() >= asked.len() {
            let begun = parts[last].starts_with('{') || parts[last].starts_with(asked[last]);
            begins |= agrees && begun;
        } else if agrees && is_same((&parts[last], &asked[last])) {
            above = Some(operation.path);
        }
    }
    let path = above.filter(|_| !begins)?;
    Some(format!("replies below {path} are kept under {path}: name that path"))
}
