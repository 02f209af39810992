//! `cms groups rights`: what the members of a group may do

use cms_core::{access::HeldPermissions, items::Checklist};
use cms_http::{
    client::Client,
    wire::checklist::{Apply, Table},
};
use serde_json::Value as Json;

use super::group::find;
use crate::{
    output::{Done, Failure, Output, record::text},
    reply,
};

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
        return print(out, &group.rights);
    }
    let values = |keys: &[String]| keys.iter().map(|key| Json::from(key.as_str())).collect();
    let change = Checklist {
        table: "user_groups".to_owned(),
        column: "rights".to_owned(),
        id: group.id.into(),
        add: values(grant),
        remove: values(revoke),
        value: None,
    };
    let keys = reply::data::<Apply>(client, &Table::default(), &change).await?;
    print(out, &HeldPermissions::Only(keys.iter().map(text).collect()))
}

/// Prints permission keys, one a line.
fn print(out: &Output, rights: &HeldPermissions) -> Done {
    if out.json {
        return Ok(out.data(&serde_json::to_value(rights).map_err(Failure::unexpected)?)?);
    }
    match rights {
        HeldPermissions::Admin => Ok(out.line("everything")?),
        HeldPermissions::Only(keys) => {
            Ok(out.raw(&keys.iter().map(|k| format!("{k}\n")).collect::<String>())?)
        }
    }
}
