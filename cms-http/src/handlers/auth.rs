//! `/api/backend/auth/...` and the wrong logins it counts

use cms_core::{
    Code, Error, Result,
    accounts::{Attempts, LoginClient, OwnProof, PENDING_S, Proof, Session, SessionUser, qr},
    rfc3339,
};
use http::header;

use super::users::shown_once;
use crate::{
    call::Call,
    caller::Caller,
    request::bad,
    success::Success,
    wire::{
        self, Data, Done, NoBody, Page,
        auth::{
            Credentials, LoggedIn, Me, Named, OwnSession, PasswordChange, Pending, Setup,
            Verification, WhichOwn, Whose,
        },
        parameters::{Listing, NoQuery},
        users::RecoveryCodes,
    },
};

pub(crate) async fn login(
    call: &Call<'_>,
    _: NoQuery,
    sent: Credentials,
) -> Result<Success<Data<Pending>>> {
    let accounts = call.cms.accounts();
    let checked = accounts.check_password(&visitor(call), &sent.username, &sent.password).await?;
    let mut change = call.cms.change_in_time().await?;
    let pending = accounts.login(&mut change, checked).await?.commit(change).await?;
    let setup = match pending.setup {
        Some(setup) => {
            let url = setup.secret.otpauth_url(&call.cms.settings().product, &setup.account)?;
            let secret = setup.secret.base32().to_string();
            Some(Setup { secret, otpauth_url: url.to_string(), qr_svg: qr::svg(&url)? })
        }
        None => None,
    };
    let status = if setup.is_some() { "totp_setup_required" } else { "totp_required" };
    let data = Pending {
        status: status.to_owned(),
        pending_token: pending.token.expose().to_string(),
        expires_in: PENDING_S,
        setup,
    };
    Ok(Success::from(Data { data }).with(header::CACHE_CONTROL, "no-store"))
}

pub(crate) async fn verify(
    call: &Call<'_>,
    _: NoQuery,
    sent: Verification,
) -> Result<Success<Data<LoggedIn>>> {
    let proof = match (sent.code, sent.recovery_code) {
        (Some(code), None) => Proof::Code(code),
        (None, Some(code)) => Proof::Recovery(code),
        _ => return Err(Error::invalid_field("code", "required", "either code or recovery_code")),
    };
    let (accounts, pending) = (call.cms.accounts(), sent.pending_token.expose());
    let mut change = call.cms.change_in_time().await?;
    let login = accounts.verify(&mut change, &visitor(call), pending, &proof).await?;
    let login = login.commit(change).await?;
    let data = LoggedIn {
        token: login.token.expose().to_string(),
        expires_at: rfc3339(login.expires_at),
        user: Named { id: login.user, username: login.username },
        recovery_codes: login.recovery_codes.as_deref().map(shown_once),
    };
    let cookie = call.mount.cookie(login.token.expose(), call.cms.settings().session.absolute_s);
    Ok(Success::from(Data { data })
        .with(header::CACHE_CONTROL, "no-store")
        .with(header::SET_COOKIE, cookie))
}

pub(crate) async fn logout(call: &Call<'_>, _: NoQuery, _: NoBody) -> Result<Success<Done>> {
    if let Caller::User { user, .. } = call.caller() {
        // Waits for other changes of users: two logouts of one session, by which both are judged,
        // would deadlock.
        let mut change = call.change_of_users().await?;
        call.cms.accounts().logout(&mut change, user).await?;
        change.commit().await?;
    }
    Ok(Success::from(Done).with(header::SET_COOKIE, call.mount.cookie("", 0)))
}

pub(crate) async fn me(call: &Call<'_>, _: NoQuery) -> Result<Data<Me>> {
    let Caller::User { user, .. } = call.caller() else {
        let username = match call.caller() {
            Caller::Application { user, .. } => user.name().to_owned(),
            _ => "operator".to_owned(),
        };
        let data = Me {
            id: None,
            username,
            groups: Vec::new(),
            rights: call.caller().permissions(),
            recovery_codes: None,
            expires_at: None,
        };
        return Ok(Data { data });
    };
    let known = call.cms.accounts().user(user.id).await?;
    let data = Me {
        id: Some(user.id),
        username: user.username.clone(),
        groups: known.groups,
        rights: user.rights.clone(),
        recovery_codes: Some(known.recovery_codes),
        expires_at: Some(rfc3339(user.expires_at)),
    };
    Ok(Data { data })
}

pub(crate) async fn change_password(
    call: &Call<'_>,
    _: NoQuery,
    sent: PasswordChange,
) -> Result<Success<Done>> {
    let (accounts, user, visitor) = (call.cms.accounts(), session_user(call)?, visitor(call));
    call.judge_again().await?;
    let new = accounts.hash_own_password(user, &sent.new).await?;
    let current = accounts.check_own_password(&visitor, user, &sent.current).await?;
    let mut change = call.change_with_password(&visitor.network()).await?;
    let changed = accounts.change_own_password(&mut change, user, current, new).await?;
    let ((), change) = changed.right(change).await?;
    call.commit(change, Done, true).await
}

pub(crate) async fn new_recovery_codes(
    call: &Call<'_>,
    _: NoQuery,
    sent: wire::auth::OwnProof,
) -> Result<Success<Data<RecoveryCodes>>> {
    let (accounts, user, visitor) = (call.cms.accounts(), session_user(call)?, visitor(call));
    call.judge_again().await?;
    let proof = match (sent.password, sent.code) {
        (Some(password), None) => {
            OwnProof::Password(accounts.check_own_password(&visitor, user, &password).await?)
        }
        (None, Some(code)) => OwnProof::Code(code),
        _ => return Err(Error::invalid_field("code", "required", "either password or code")),
    };
    let mut change = call.change_with_password(&visitor.network()).await?;
    let made = accounts.own_recovery_codes(&mut change, &visitor, user, proof).await?;
    let (codes, change) = made.right(change).await?;
    let data = RecoveryCodes { recovery_codes: shown_once(&codes) };
    call.commit(change, Data { data }, true).await
}

pub(crate) async fn own_sessions(call: &Call<'_>, asked: Listing) -> Result<Page<OwnSession>> {
    let (accounts, user) = (call.cms.accounts(), session_user(call)?);
    let page = accounts.sessions(user.id, &asked.paging()).await?;
    let Page { data, meta } = page.into();
    let marked = |session: Session| {
        let current = session.id == user.session;
        OwnSession { session, current }
    };
    Ok(Page { data: data.into_iter().map(marked).collect(), meta })
}

pub(crate) async fn end_sessions(call: &Call<'_>, which: WhichOwn) -> Result<Success<Done>> {
    let user = session_user(call)?;
    let mut change = call.change_of_users().await?;
    call.cms.accounts().end_own_sessions(&mut change, user, which.session).await?;
    call.commit(change, Done, false).await
}

/// The user of the caller's session.
fn session_user<'c>(call: &Call<'c>) -> Result<&'c SessionUser> {
    match call.caller_at_gate {
        Caller::User { user, .. } => Ok(user),
        Caller::Application { .. } => Err(Error::new(
            Code::PermissionDenied,
            "Your account is the application's: it keeps your password and your sessions.",
        )),
        _ => Err(Error::new(
            Code::PermissionDenied,
            "The operator of this machine has no account: `cms users` changes anybody's.",
        )),
    }
}

pub(crate) async fn attempts(call: &Call<'_>, asked: Listing) -> Result<Page<Attempts>> {
    call.cms.accounts().attempts(&asked.paging()).await.map(Page::from)
}

pub(crate) async fn clear_attempts(call: &Call<'_>, whose: Whose) -> Result<Success<Done>> {
    let address = whose.address.parse().map_err(|_| bad("address is an IP address."))?;
    let mut change = call.change().await?;
    call.cms.accounts().clear_attempts(&mut change, address).await?;
    call.commit(change, Done, false).await
}

fn visitor(call: &Call<'_>) -> LoginClient {
    let user_agent = call
        .request
        .headers
        .get(header::USER_AGENT)
        .map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned());
    LoginClient { address: call.client.address, user_agent }
}
