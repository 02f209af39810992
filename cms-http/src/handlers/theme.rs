//! `/api/backend/theme`

use std::net::IpAddr;

use cms_core::{Result, theme::Environment};
use http::{header, uri::Authority};

use super::{keys::shown_once, pages};
use crate::{
    call::Call,
    success::Success,
    wire::{
        Data,
        keys::{Grace, ShownKey},
        parameters::NoQuery,
    },
};

pub(crate) async fn read(call: &Call<'_>, _: NoQuery) -> Result<Data<Environment>> {
    let host = call.request.headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default());
    let address = match host {
        // A command in this process names no host.
        None => format!("http://{}", call.cms.settings().listen),
        Some(host) if call.is_from_here() && is_loopback(host) => format!("http://{host}"),
        Some(_) => pages::base(call),
    };
    Ok(Data { data: call.cms.theme().environment(&address).await? })
}

/// Whether a host is this machine, as a proxy here would not name it.
fn is_loopback(host: &str) -> bool {
    let Ok(host) = host.parse::<Authority>() else { return false };
    let bare = host.host().trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

pub(crate) async fn rotate_key(
    call: &Call<'_>,
    _: NoQuery,
    grace: Grace,
) -> Result<Success<Data<ShownKey>>> {
    let mut change = call.change_of_keys().await?;
    let held = call.caller().rights(call.cms);
    let (key, value) = call.cms.theme().rotate_key(&mut change, &held, grace.grace_s).await?;
    call.commit(change, shown_once(call, key, &value)?, true).await
}
