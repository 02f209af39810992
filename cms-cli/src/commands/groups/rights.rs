//! `cms groups rights`: what the members of a group may do

use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use super::group::{find, spelled};
use crate::output::{Done, Output, record::text};

/// Changes the rights of a group, if something is granted or revoked, and prints them.
pub(super) async fn show_or_change(
    out: &Output,
    client: &Client,
    group: &str,
    grant: &[String],
    revoke: &[String],
) -> Done {
    let group = find(client, group).await?;
    if grant.is_empty() && revoke.is_empty() {
        return print(out, &group["rights"]);
    }
    let body = json!({
        "table": "user_groups",
        "column": "rights",
        "id": group["id"],
        "add": grant,
        "remove": revoke,
    });
    let ask = Ask::post("/api/backend/actions/checklist").json(&body);
    let changed = client.send(ask).await?.json()?;
    print(out, &changed["data"])
}

/// Prints permission keys, one a line.
fn print(out: &Output, rights: &Json) -> Done {
    if out.json {
        return Ok(out.data(rights)?);
    }
    match rights.as_array() {
        Some(keys) => Ok(out.raw(&keys.iter().map(|key| text(key) + "\n").collect::<String>())?),
        None => Ok(out.line(&spelled(rights))?),
    }
}
