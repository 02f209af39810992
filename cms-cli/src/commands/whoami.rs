//! `cms whoami`: the site that commands use, and the user that they act as

use cms_core::access::HeldPermissions;
use cms_http::wire::{
    NoBody,
    auth::{Me, WhoAmI},
    openapi,
    parameters::NoQuery,
};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Failure, Output, table},
    reply,
    site::{self, Site},
    target::Target,
};

pub(crate) async fn run(flags: &Flags, out: &Output) -> Done {
    let target = Target::of(flags)?;
    // Keys belong to programs: there is no user to ask for.
    if matches!(target, Target::Address { .. }) && site::api_key(flags)?.is_some() {
        return key(flags, out, &target).await;
    }
    let site = Site::open(flags, &target, out).await?;
    let me = reply::data::<WhoAmI>(&site.client, &NoQuery {}, &NoBody).await;
    let closed = site.close().await;
    person(out, &target, &me?)?;
    closed
}

/// Reads what any key may read, because a call without a right would be logged as refused.
async fn key(flags: &Flags, out: &Output, target: &Target) -> Done {
    site::with_target(flags, out, target, async |site| {
        Ok(site.client.call::<openapi::Read>(&NoQuery {}, &NoBody).await.map(drop)?)
    })
    .await?;
    let site = target.to_string();
    if out.json {
        let key = json!({"id": null, "username": null, "api_key": true, "site": site});
        return Ok(out.data(&key)?);
    }
    Ok(table::pairs(out, &[("site", site), ("user", "an API key".to_owned())])?)
}

fn person(out: &Output, target: &Target, me: &Me) -> Done {
    if out.json {
        let mut document = serde_json::to_value(me).map_err(Failure::unexpected)?;
        document["site"] = target.to_string().into();
        return Ok(out.data(&document)?);
    }
    let mut rows = vec![("site", target.to_string()), ("user", me.username.clone())];
    if me.id.is_some() {
        let rights = match &me.rights {
            HeldPermissions::Admin => "everything".to_owned(),
            HeldPermissions::Only(keys) => keys.iter().cloned().collect::<Vec<_>>().join(" "),
        };
        let groups: Vec<&str> = me.groups.iter().map(|group| group.name.as_str()).collect();
        let codes = me.recovery_codes.map(|codes| codes.to_string());
        rows.push(("groups", groups.join(", ")));
        rows.push(("rights", rights));
        rows.push(("recovery codes left", codes.unwrap_or_default()));
        rows.push(("session ends", me.expires_at.clone().unwrap_or_default()));
    }
    Ok(table::pairs(out, &rows)?)
}
