//! Customers of the shop, who are not users of the site. A code sent by mail begins a session.

use std::net::Ipv4Addr;

use axum::{
    Extension,
    extract::{FromRequestParts, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::IntoResponse,
};
use cms_core::{
    Actor, Change, Cms, Code, Error, OwnTables, Result,
    mail::{Mail, MailAddress, Subject},
    plugins::TaskRun,
    traffic::{
        address::{client, network},
        limiter::bucket::{AUTH, BACKEND, Bucket, Owner},
    },
};
use cms_http::{AppUser, Peer};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::answer::{Answer, Refusal, Sent};

const MINUTE_MS: i64 = 60_000;
const CODE_MS: i64 = 15 * MINUTE_MS;
const SESSION_MS: i64 = 30 * 24 * 60 * MINUTE_MS;

/// Codes and sessions, as digests. The log of mails shows its readers the codes themselves.
pub const LOGINS: OwnTables = OwnTables::new(
    "logins",
    &["logins"],
    &[
        "create table logins (digest {{bytes}} primary key, kind TEXT not null, \
         mail TEXT not null, ends_at BIGINT not null) {{strict}}",
        // Added in the second version of the shop: a step that has run is never edited.
        "create index logins_by_end on logins (ends_at)",
    ],
);

type MaybePeer = Option<Extension<Peer>>;

/// `POST /login {"mail"}`: mails a code, which is valid for 15 minutes.
pub async fn log_in(
    State(cms): State<Cms>,
    peer: MaybePeer,
    headers: HeaderMap,
    Sent(login): Sent<Login>,
) -> Answer {
    spare(&cms, visitor(&cms, peer, &headers), AUTH).await?;
    let to = MailAddress::parse(&login.mail.to_lowercase()).ok();
    // The longest name of an `AppUser`.
    let Some(to) = to.filter(|to| to.as_str().len() <= 200) else {
        let expected = "an address such as anna@example.org is expected";
        return Err(Error::invalid_field("mail", "format", expected).into());
    };
    spare(&cms, Owner::chosen(to.as_str()), AUTH).await?;
    let mut change = cms.change(Actor::Visitor).await?;
    let code = issue(&cms, &mut change, "code", to.as_str(), CODE_MS).await?;
    let text = format!("Your code is {code}");
    let mail = Mail::new("shop.login", to, Subject::of("Your login"), text);
    cms.mail().queue(&mut change, &mail).await?;
    change.commit().await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

#[derive(Deserialize)]
pub struct Login {
    mail: String,
}

/// `POST /session {"code"}`: begins a session and sets its cookie. A code works once.
pub async fn begin_session(
    State(cms): State<Cms>,
    peer: MaybePeer,
    headers: HeaderMap,
    Sent(proof): Sent<Proof>,
) -> Answer {
    spare(&cms, visitor(&cms, peer, &headers), AUTH).await?;
    let mut change = cms.change(Actor::Visitor).await?;
    let now = change.now();
    // A statement has no texts in it: constants are bound as well.
    let spend = "delete from logins where digest = $1 and kind = $2 and ends_at > $3 \
                 returning mail";
    let spend = cms.items().sql(&mut change, spend).touches(["logins"]);
    let spend = spend.bind(digest(&proof.code)).bind("code").bind(now);
    let Some((mail,)) = spend.optional::<(String,)>().await? else {
        return Err(Error::new(Code::InvalidCode, "The code is wrong, spent or too old.").into());
    };
    let token = issue(&cms, &mut change, "session", &mail, SESSION_MS).await?;
    change.commit().await?;
    Ok((StatusCode::NO_CONTENT, [set_cookie(&token, SESSION_MS / 1000)]).into_response())
}

#[derive(Deserialize)]
pub struct Proof {
    code: String,
}

/// `DELETE /session`: ends the session.
pub async fn end_session(State(cms): State<Cms>, _: Customer, headers: HeaderMap) -> Answer {
    let mut change = cms.change(Actor::Visitor).await?;
    let end = "delete from logins where digest = $1";
    let end = cms.items().sql(&mut change, end).touches(["logins"]);
    end.bind(digest(session_token(&headers).unwrap_or_default())).run().await?;
    change.commit().await?;
    Ok((StatusCode::NO_CONTENT, [set_cookie("", 0)]).into_response())
}

/// `SameSite=Strict`: pages of other websites cannot act for a customer.
fn set_cookie(token: &str, seconds: i64) -> (header::HeaderName, String) {
    let rest = "Path=/; HttpOnly; Secure; SameSite=Strict";
    (header::SET_COOKIE, format!("__Host-customer={token}; Max-Age={seconds}; {rest}"))
}

/// The network of a visitor, as the limiter of the API counts it.
fn visitor(cms: &Cms, peer: MaybePeer, headers: &HeaderMap) -> Owner {
    let settings = cms.settings();
    let lines = headers.get_all(&settings.proxy_header).iter().map(|line| line.as_bytes());
    let peer = peer.map_or(Ipv4Addr::LOCALHOST.into(), |Extension(Peer(address))| address.ip());
    Owner::Network(network(client(peer, &settings.trusted_proxies, lines)))
}

/// Refuses a caller that asks too often; a program's routes have no limit by themselves. `AUTH`
/// lets ten requests pass at once, then one in six seconds; `BACKEND` 250, then four in a second.
async fn spare(cms: &Cms, owner: Owner, bucket: Bucket) -> Result<()> {
    let taken = cms.limiter().take(owner, bucket, None).await;
    match taken.and_then(|quota| quota.retry_after_s) {
        Some(seconds) => {
            let slow = "You have asked often: wait a little.";
            Err(Error::new(Code::RateLimited, slow).retry_after(seconds))
        }
        None => Ok(()),
    }
}

/// Stores a code or a session, and returns its token.
async fn issue(cms: &Cms, change: &mut Change, kind: &str, mail: &str, ms: i64) -> Result<String> {
    let (token, ends_at) = (cms.random().uuid_v4()?, change.now() + ms);
    let insert = "insert into logins (digest, kind, mail, ends_at) values ($1, $2, $3, $4)";
    let insert = cms.items().sql(change, insert).touches(["logins"]);
    insert.bind(digest(&token)).bind(kind).bind(mail).bind(ends_at).run().await?;
    Ok(token)
}

fn digest(token: &str) -> Vec<u8> {
    Sha256::digest(token).to_vec()
}

/// The task `tidy`: removes expired codes and sessions.
pub async fn tidy(run: TaskRun) -> Result<()> {
    let mut change = run.change().await?;
    let now = change.now();
    let ended = "delete from logins where ends_at <= $1";
    run.items().sql(&mut change, ended).touches(["logins"]).bind(now).run().await?;
    change.commit().await
}

/// The caller as a customer. A handler that takes one refuses everybody else.
pub struct Customer(AppUser);

impl FromRequestParts<Cms> for Customer {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, cms: &Cms) -> Result<Self, Refusal> {
        let query = "select mail from logins where digest = $1 and kind = 'session' \
                     and ends_at > $2";
        let token = session_token(&parts.headers).unwrap_or_default();
        let query = cms.db().sql(query).bind(digest(token)).bind(cms.clock().now());
        let Some((mail,)) = query.optional::<(String,)>().await? else {
            return Err(Error::new(Code::LoginRequired, "Log in first.").into());
        };
        spare(cms, Owner::app_user(&mail), BACKEND).await?;
        Ok(Self(AppUser::new(mail)))
    }
}

fn session_token(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|sent| sent.to_str().ok());
    let mut cookies = cookies.flat_map(|sent| sent.split(';'));
    cookies.find_map(|cookie| cookie.trim().strip_prefix("__Host-customer="))
}

impl Customer {
    pub fn mail(&self) -> &str {
        self.0.name()
    }

    /// Begins a change in the customer's name, which the audit log shows. The second value would
    /// be the rights of the customer's groups in the site: none here.
    pub async fn change(&self, cms: &Cms) -> Result<Change> {
        let change = cms.change(self.0.actor()).await?;
        let (change, _) = cms.accounts().judge_app_user(change, &self.0).await?;
        Ok(change)
    }
}
