//! `cms cache exclude` and `cms cache inspect`: for which paths replies are kept

use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use super::{CACHE, ExcludeCommand};
use crate::output::{Done, Output};

/// The changed list of excluded paths; None when it is only shown.
pub(super) async fn excluded(
    client: &Client,
    command: ExcludeCommand,
) -> Done<Option<Vec<String>>> {
    let state = client.send(Ask::get(CACHE)).await?.json()?;
    let listed = state["data"]["exclude"].as_array().into_iter().flatten();
    let mut prefixes: Vec<String> = listed.filter_map(Json::as_str).map(str::to_owned).collect();
    match command {
        ExcludeCommand::List => return Ok(None),
        ExcludeCommand::Add { prefix } if prefixes.contains(&prefix) => {}
        ExcludeCommand::Add { prefix } => prefixes.push(prefix),
        ExcludeCommand::Remove { prefix } => prefixes.retain(|known| *known != prefix),
    }
    Ok(Some(prefixes))
}

/// Applies the rules without requesting the path. A request would not help: replies to this caller
/// never come from the cache.
pub(super) async fn inspect(out: &Output, client: &Client, path: &str) -> Done {
    let state = client.send(Ask::get(CACHE)).await?.json()?;
    let excluded = state["data"]["exclude"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .any(|prefix| path.starts_with(prefix));
    let bare = path.split('?').next().unwrap_or(path);
    let reason = if state["data"]["enabled"] == json!(false) {
        "the cache is off"
    } else if !["/api/pages", "/api/menu", "/api/settings"].contains(&bare) {
        "only replies to public reads are kept"
    } else if excluded {
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
