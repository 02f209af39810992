//! Judges which websites' pages may call. The browser names the origin; the headers of the reply
//! tell the browser the outcome.

use cms_core::{
    Cms, Code, Error, Result,
    traffic::origins::{normalise, of_url},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use super::visit::{Visit, Way};
use crate::reply::Reply;

/// Headers that pages may read in addition to those that browsers always show.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-Request-Id, X-Cache, Age, ETag, Retry-After",
);
const METHODS: &str = "GET, HEAD, POST, PATCH, DELETE";
const MAX_AGE_S: &str = "600";

/// What replies under `/api` tell browsers, and caches in front of the service.
#[derive(Debug, Default)]
pub(super) enum Sharing {
    /// Nothing: origins do not matter to this request.
    #[default]
    None,
    /// The reply would differ for another origin.
    Varies,
    /// Pages of this origin may read it.
    With(HeaderValue),
}

/// The page that calls.
#[derive(Debug)]
pub(super) enum Page {
    /// The request names no origin.
    Unnamed,
    /// The page may call. Holds its origin as it was sent.
    Allowed(HeaderValue),
    /// The page may not call, for this reason. The code is `origin_not_allowed`, also for `null`,
    /// for an invalid origin and for more than one.
    Refused(Error),
}

/// Finds out which page calls.
pub(super) async fn page(cms: &Cms, visit: &Visit) -> Page {
    if visit.way != Way::Judged {
        return Page::Unnamed;
    }
    match named(cms, &visit.request.headers).await {
        Ok(None) => Page::Unnamed,
        Ok(Some(origin)) => Page::Allowed(origin),
        Err(reason) => Page::Refused(reason),
    }
}

async fn named(cms: &Cms, headers: &HeaderMap) -> Result<Option<HeaderValue>> {
    let Some(sent) = single(headers, &header::ORIGIN)? else { return Ok(None) };
    let origin = sent.to_str().ok().and_then(normalise).ok_or_else(refusal)?;
    allowed(cms, &origin, headers).await?;
    Ok(Some(sent.clone()))
}

impl Sharing {
    pub(super) fn of(visit: &Visit, page: &Page) -> Self {
        match page {
            _ if visit.way != Way::Judged => Self::None,
            Page::Allowed(origin) => Self::With(origin.clone()),
            Page::Unnamed | Page::Refused(_) => Self::Varies,
        }
    }
}

/// Refuses pages that may not call.
pub(super) fn admit(page: Page) -> Result<Page> {
    match page {
        Page::Refused(reason) => Err(reason),
        other => Ok(other),
    }
}

/// Public calls of funnels come from pages. A browser that sends no `Origin` may still send
/// `Referer`: then the page of that header must be allowed.
pub(super) async fn admit_referer(cms: &Cms, visit: &Visit, page: &Page) -> Result<()> {
    let request = &visit.request;
    let asked = visit.way == Way::Judged && matches!(page, Page::Unnamed);
    if !asked || !request.path.starts_with("/api/formfunnel/") {
        return Ok(());
    }
    let Some(sent) = single(&request.headers, &header::REFERER)?.filter(|sent| !sent.is_empty())
    else {
        return Ok(());
    };
    let origin = sent.to_str().ok().and_then(of_url).ok_or_else(refusal)?;
    allowed(cms, &origin, &request.headers).await
}

fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h HeaderValue>> {
    let mut sent = headers.get_all(name).iter();
    match (sent.next(), sent.next()) {
        (first, None) => Ok(first),
        _ => Err(refusal()),
    }
}

/// Allows the requested host, the site's own address, and registered, active origins.
async fn allowed(cms: &Cms, origin: &str, headers: &HeaderMap) -> Result<()> {
    let host = single(headers, &header::HOST)?.and_then(|host| host.to_str().ok());
    let (scheme, name) = origin.split_once("://").unwrap_or_default();
    // Whether clients reach this service over TLS is known only to the proxy in front of it, and
    // to whoever set `site_url`.
    let own = cms.settings().site_url.as_deref().and_then(of_url);
    let other_scheme = own.is_some_and(|own| {
        own != origin && own.split_once("://").is_some_and(|(_, own)| own == name)
    });
    let same = !other_scheme
        && host
            .and_then(|host| normalise(&format!("{scheme}://{host}")))
            .is_some_and(|own| own == origin);
    if same || Box::pin(cms.origins().allows(origin)).await? { Ok(()) } else { Err(refusal()) }
}

fn refusal() -> Error {
    Error::new(
        Code::OriginNotAllowed,
        "Pages of this website may not call: an administrator can register its origin.",
    )
}

/// The reply to a browser's preflight request.
pub(super) fn preflight(visit: &Visit, page: &Page) -> Option<Reply> {
    let request = &visit.request;
    let asks = matches!(page, Page::Allowed(_))
        && request.method == Method::OPTIONS
        && request.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    let reply = Reply::no_content().with(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    let reply = reply.with(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
    let asked = request.headers.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let lines = asked.iter().filter_map(|line| line.to_str().ok());
    let names: Vec<_> = lines
        .flat_map(|line| line.split(','))
        .map(str::trim)
        .filter(|name| is_token(name))
        .collect();
    Some(if names.is_empty() {
        reply
    } else {
        reply.with(header::ACCESS_CONTROL_ALLOW_HEADERS, &names.join(", "))
    })
}

/// The name of a header (RFC 9110, 5.6.2).
fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// The headers about origins, for every reply under `/api`.
pub(super) fn headers(sharing: &Sharing, headers: &mut HeaderMap) {
    if matches!(sharing, Sharing::None) {
        return;
    }
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if let Sharing::With(origin) = sharing {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}
