//! `cms cache exclude` and `cms cache inspect`: for which paths replies are kept

use cms_http::{
    client::Client,
    wire::{NoBody, cache::Read, parameters::NoQuery},
};
use serde_json::json;

use crate::{
    output::{Done, Output},
    reply,
};

/// The excluded beginnings of paths, with one more or one less.
pub(super) async fn excluding(client: &Client, prefix: &str, add: bool) -> Done<Vec<String>> {
    let state = reply::data::<Read>(client, &NoQuery {}, &NoBody).await?;
    let mut prefixes = state.settings.exclude;
    if !add {
        prefixes.retain(|known| known != prefix);
    } else if !prefixes.iter().any(|known| known == prefix) {
        prefixes.push(prefix.to_owned());
    }
    Ok(prefixes)
}

/// Applies the rules without requesting the path. A request would not help: replies to this caller
/// never come from the cache.
pub(super) async fn inspect(out: &Output, client: &Client, path: &str) -> Done {
    let settings = reply::data::<Read>(client, &NoQuery {}, &NoBody).await?.settings;
    let bare = path.split('?').next().unwrap_or(path);
    let reason = if !settings.enabled {
        "the cache is off"
    } else if !["/api/pages", "/api/menu", "/api/settings"].contains(&bare) {
        "only replies to public reads are kept"
    } else if settings.exclude.iter().any(|prefix| path.starts_with(prefix)) {
        "the path is excluded"
    } else {
        "kept for anonymous visitors"
    };
    let may_keep = reason.starts_with("kept");
    if out.json {
        return Ok(out.data(&json!({"path": path, "cached": may_keep, "reason": reason}))?);
    }
    Ok(out.line(reason)?)
}
