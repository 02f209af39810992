//! `cms logout`: ends the session at a running site

use cms_http::{
    client::{ClientError, Credential},
    wire::{NoBody, auth::Logout, parameters::NoQuery},
};
use serde_json::json;

use crate::{
    contexts::Sessions,
    flags::Flags,
    output::{Done, Output},
    site,
    target::Target,
};

pub(crate) async fn run(flags: &Flags, out: &Output) -> Done {
    let url = Target::address_only(flags, "cms logout")?;
    let session = Sessions::at(&url)?;
    let ended = match &session {
        Some(session) => {
            let client = site::client(
                &url,
                &Credential::Session(session.token.clone()),
                site::wait(flags, Some(out)),
            )?;
            match client.call::<Logout>(&NoQuery {}, &NoBody).await {
                Ok(_) => true,
                // The session had already ended.
                Err(ClientError::Problem { code, .. }) if code == "login_required" => false,
                Err(error) => return Err(error.into()),
            }
        }
        None => false,
    };
    Sessions::forget(&url)?;
    let text = if ended {
        format!("Logged out at {url}.")
    } else {
        format!("You were not logged in at {url}.")
    };
    out.done(&json!({"url": url, "ended": ended}), &text)
}
