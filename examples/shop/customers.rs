//! Customers of the shop, who are not users of the site. A code sent by mail begins a session.

use std::net::SocketAddr;

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use cms_core::{
    Actor, Code, Error, OwnTables, Result,
    mail::{Mail, MailAddress, Subject},
    plugins::{EndpointCall, EndpointReply, TaskRun},
    traffic::limiter::bucket::{AUTH, Owner},
};
use cms_http::{Api, AppUser, Peer};
use sha2::{Digest as _, Sha256};

const CODE_MS: i64 = 15 * 60 * 1000;
const SESSION_MS: i64 = 30 * 24 * 3600 * 1000;

/// Codes and sessions, as digests. The log of mails shows its readers the codes themselves.
pub const LOGINS: OwnTables = OwnTables::new(
    "logins",
    &["logins"],
    &[
        "create table logins (digest {{bytes}} primary key, mail TEXT not null, \
         ends_at BIGINT not null) {{strict}}",
        // Added in the second version of the shop: a step that has run is never edited.
        "create index logins_by_end on logins (ends_at)",
    ],
);

/// `POST /api/checkout/code {"mail"}`: mails a code, which is valid for 15 minutes.
pub async fn send_code(call: EndpointCall) -> Result<EndpointReply> {
    let mail = call.body()["mail"].as_str().unwrap_or_default().to_lowercase();
    // The longest name of an `AppUser`.
    let to = MailAddress::parse(&mail).ok().filter(|to| to.as_str().len() <= 200);
    let expected = "an address such as anna@example.org is expected";
    let to = to.ok_or_else(|| Error::invalid_field("mail", "format", expected))?;
    let cms = call.cms()?;
    // The API counts by network. This counts by mail: ten at once, then one in six seconds.
    let taken = cms.limiter().take(Owner::chosen(to.as_str()), AUTH, None).await;
    if let Some(seconds) = taken.and_then(|quota| quota.retry_after_s) {
        return Err(Error::new(Code::RateLimited, "Wait a little.").retry_after(seconds));
    }
    let mut change = call.change().await?;
    let (code, ends_at) = (cms.random().uuid_v4()?, change.now() + CODE_MS);
    let insert = "insert into logins (digest, mail, ends_at) values ($1, $2, $3)";
    let insert = call.items().sql(&mut change, insert).touches(["logins"]);
    insert.bind(digest("code", &code)).bind(to.as_str()).bind(ends_at).run().await?;
    let text = format!("Your code is {code}");
    let mail = Mail::new("shop.login", to, Subject::of("Your login"), text);
    cms.mail().queue(&mut change, &mail).await?;
    change.commit().await?;
    Ok(EndpointReply::empty().status(202))
}

/// `POST /api/checkout/login {"code"}`: turns the code into a session and sets its cookie.
pub async fn log_in(call: EndpointCall) -> Result<EndpointReply> {
    let code = call.body()["code"].as_str().unwrap_or_default();
    let mut change = call.change().await?;
    let (token, now) = (call.cms()?.random().uuid_v4()?, change.now());
    let begin = "update logins set digest = $1, ends_at = $2 where digest = $3 and ends_at > $4";
    let begin = call.items().sql(&mut change, begin).touches(["logins"]);
    let begin = begin.bind(digest("session", &token)).bind(now + SESSION_MS);
    if begin.bind(digest("code", code)).bind(now).run().await? == 0 {
        return Err(Error::new(Code::InvalidCode, "The code is wrong, spent or too old."));
    }
    change.commit().await?;
    Ok(with_cookie(&token, SESSION_MS / 1000))
}

/// `POST /api/shop/logout`: ends the session.
pub async fn log_out(call: EndpointCall) -> Result<EndpointReply> {
    customer(&call)?;
    let mut change = call.change().await?;
    let end = call.items().sql(&mut change, "delete from logins where digest = $1");
    end.touches(["logins"]).bind(session(call.headers())).run().await?;
    change.commit().await?;
    Ok(with_cookie("", 0))
}

/// `SameSite=Strict`: browsers do not send the cookie for pages of other websites.
fn with_cookie(token: &str, seconds: i64) -> EndpointReply {
    let rest = "Path=/; HttpOnly; Secure; SameSite=Strict";
    let cookie = format!("__Host-customer={token}; Max-Age={seconds}; {rest}");
    EndpointReply::empty().header("set-cookie", &cookie)
}

/// The digest of the session in the cookie.
fn session(headers: &HeaderMap) -> Vec<u8> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|sent| sent.to_str().ok());
    let mut cookies = cookies.flat_map(|sent| sent.split(';'));
    let token = cookies.find_map(|cookie| cookie.trim().strip_prefix("__Host-customer="));
    digest("session", token.unwrap_or_default())
}

/// With the kind in it, so that a code cannot be used as a session.
fn digest(kind: &str, token: &str) -> Vec<u8> {
    Sha256::digest([kind, token].concat()).to_vec()
}

/// Tells the API who calls: the address of the client, by which it counts requests, and the
/// customer. Customers count only below `/api/shop/`: elsewhere an employee, logged in to the site
/// with the same browser, would be taken for a customer. Without `by_token`, which would be wrong
/// for a cookie, the API takes changes only with the `Origin` of a page that may call: one of its
/// own host, or of an origin that an administrator has registered.
pub async fn introduce(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    // Requests of tests have no address.
    let address = request.extensions().get::<ConnectInfo<SocketAddr>>().copied();
    if let Some(ConnectInfo(address)) = address {
        request.extensions_mut().insert(Peer(address));
    }
    if request.uri().path().starts_with("/api/shop/") {
        let query = "select mail from logins where digest = $1 and ends_at > $2";
        let query = api.cms().db().sql(query).bind(session(request.headers()));
        match query.bind(api.cms().clock().now()).optional::<(String,)>().await {
            Ok(Some((mail,))) => drop(request.extensions_mut().insert(AppUser::new(mail))),
            Ok(None) => {}
            Err(error) => return api.refuse(&error).into_response(),
        }
    }
    next.run(request).await
}

/// The mail of the customer who calls.
pub fn customer(call: &EndpointCall) -> Result<&str> {
    match call.actor() {
        Actor::Application { name } => Ok(name),
        _ => Err(Error::new(Code::LoginRequired, "Log in first.")),
    }
}

/// The task `tidy`: removes expired codes and sessions.
pub async fn tidy(run: TaskRun) -> Result<()> {
    let mut change = run.change().await?;
    let now = change.now();
    let ended = run.items().sql(&mut change, "delete from logins where ends_at <= $1");
    ended.touches(["logins"]).bind(now).run().await?;
    change.commit().await
}
