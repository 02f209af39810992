//! `/api/backend/auth/...` and the wrong logins it counts

use cms_core::{
    Actor, Error, Result,
    accounts::{PENDING_S, Proof, Rights, Visitor, qr},
    rfc3339,
    settings::Secret,
};
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::json;

use super::users::shown_once;
use crate::{
    call::{Call, Caller, SESSION_COOKIE},
    reply::Reply,
    request::bad,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Credentials {
    username: String,
    password: Secret,
}

pub(crate) async fn login(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let sent: Credentials = call.typed()?;
    let accounts = call.cms.accounts();
    let checked = accounts.check_password(&visitor(call), &sent.username, &sent.password).await?;
    let mut change = call.cms.change(Actor::System).await?;
    let pending = accounts.login(&mut change, checked).await?.commit(change).await?;
    let mut data = json!({"status": "totp_required", "pending_token": pending.token.expose(), "expires_in": PENDING_S});
    if let Some(setup) = pending.setup {
        let url = setup.secret.otpauth_url(&call.cms.settings().product, &setup.account)?;
        data["status"] = "totp_setup_required".into();
        data["setup"] = json!({"secret": *setup.secret.base32(), "otpauth_url": *url, "qr_svg": qr::svg(&url)?});
    }
    Ok(Reply::of(StatusCode::OK, &data)?.with(header::CACHE_CONTROL, "no-store"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verification {
    pending_token: Secret,
    #[serde(default)]
    code: Option<Secret>,
    #[serde(default)]
    recovery_code: Option<Secret>,
}

pub(crate) async fn verify(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let sent: Verification = call.typed()?;
    let proof = match (sent.code, sent.recovery_code) {
        (Some(code), None) => Proof::Code(code),
        (None, Some(code)) => Proof::Recovery(code),
        _ => return Err(Error::invalid_field("code", "required", "either code or recovery_code")),
    };
    let (accounts, pending) = (call.cms.accounts(), sent.pending_token.expose());
    let mut change = call.cms.change(Actor::System).await?;
    let login = accounts.verify(&mut change, &visitor(call), pending, &proof).await?;
    let login = login.commit(change).await?;
    let mut data = json!({
        "token": login.token.expose(), "expires_at": rfc3339(login.expires_at),
        "user": {"id": login.user, "username": login.username},
    });
    if let Some(codes) = &login.recovery_codes {
        data["recovery_codes"] = json!(shown_once(codes));
    }
    let cookie = cookie(login.token.expose(), call.cms.settings().session.absolute_s);
    Ok(Reply::of(StatusCode::OK, &data)?
        .with(header::CACHE_CONTROL, "no-store")
        .with(header::SET_COOKIE, &cookie))
}

pub(crate) async fn logout(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    if let Caller::User { user, .. } = call.caller {
        let mut change = call.change().await?;
        call.cms.accounts().logout(&mut change, user).await?;
        change.commit().await?;
    }
    Ok(Reply::no_content().with(header::SET_COOKIE, &cookie("", 0)))
}

pub(crate) async fn me(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&[])?;
    let Caller::User { user, .. } = call.caller else {
        return Reply::of(
            StatusCode::OK,
            &json!({"id": null, "username": "operator", "groups": [], "rights": Rights::Admin}),
        );
    };
    let known = call.cms.accounts().user(user.id).await?;
    let data = json!({
        "id": user.id, "username": user.username, "groups": known.groups, "rights": user.rights,
        "recovery_codes": known.recovery_codes, "expires_at": rfc3339(user.expires_at),
    });
    Reply::of(StatusCode::OK, &data)
}

pub(crate) async fn attempts(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["limit", "cursor"])?;
    let paging = call.request.paging()?;
    Reply::page(&call.cms.accounts().attempts(&paging).await?)
}

pub(crate) async fn clear_attempts(call: &Call<'_>) -> Result<Reply> {
    call.request.only(&["address"])?;
    let address =
        call.request.required("address")?.parse().map_err(|_| bad("address is an IP address."))?;
    let mut change = call.change().await?;
    call.cms.accounts().clear_attempts(&mut change, address).await?;
    call.commit(change, Reply::no_content(), false).await
}

fn visitor(call: &Call<'_>) -> Visitor {
    let user_agent = call
        .request
        .headers
        .get(header::USER_AGENT)
        .map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned());
    Visitor { address: call.client.address, user_agent }
}

/// The session as a cookie (RFC 6265): no script reads it, no other website's page sends it.
fn cookie(token: &str, max_age_s: u64) -> String {
    format!(
        "{SESSION_COOKIE}={token}; Max-Age={max_age_s}; Path=/api; HttpOnly; Secure; SameSite=Strict"
    )
}
