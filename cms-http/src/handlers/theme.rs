//! `/api/backend/theme`

use cms_core::{Result, theme::Environment};
use http::header;

use super::{keys::shown_once, pages};
use crate::{
    call::Call,
    request::is_loopback,
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
        // Commands in this process name no host.
        None => format!("http://{}", call.cms.settings().listen),
        // A loopback host is from a direct call: a proxy on this machine would name the site.
        Some(host) if call.is_from_here() && is_loopback(host) => format!("http://{host}"),
        Some(_) => pages::base(call),
    };
    Ok(Data { data: call.cms.theme().environment(&address).await? })
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
