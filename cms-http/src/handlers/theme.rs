//! `/api/backend/theme`

use cms_core::{Result, theme::Environment};
use http::header;

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
    // A command on this machine names no host.
    let address = match call.request.headers.contains_key(header::HOST) {
        true => pages::base(call),
        false => format!("http://{}", call.cms.settings().listen),
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
