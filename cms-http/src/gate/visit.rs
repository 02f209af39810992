//! A request as the gate judges it: in its one canonical form, with its route and the address of
//! its client, also behind trusted proxies.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, Once},
};

use cms_core::{Cms, Code, Error, Result, access::Access, accounts::AppUser, traffic::address};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Uri, header, request::Parts};

use crate::{
    call::{API_KEY, AsOperator, Client, FrontendLogin, InProcess, LimitKey, Peer},
    kept::Kept,
    mount::Mount,
    request::Canonical,
    routes::{self, Declared, Method as Operation, Route},
};

/// How much of a request is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The in-process client as operator: no limiter, no origin, no credential.
    Operator,
    /// Paths outside of `/api`: the same, for everybody.
    Open,
    Judged,
}

pub(crate) struct Visit {
    /// The address as it was sent, for the log.
    pub(crate) uri: Uri,
    pub(crate) request: Canonical,
    /// Why the address cannot be read. The limiter counts such a request like any other.
    unreadable: Option<Error>,
    /// The methods that this path answers, if it is not the route's first spelling.
    pub(super) methods_here: Option<&'static [&'static str]>,
    pub(super) route: Option<&'static Route>,
    pub(super) way: Way,
    pub(super) client: Client,
    /// The other end of the connection.
    pub(crate) peer: Option<Peer>,
    /// A request with a session from the in-process client: it has no host, and is not counted.
    in_process: bool,
    /// Whether the embedding server's front end has logged the visitor in.
    pub(super) logged_in: bool,
    /// The user that the embedding server has logged in.
    pub(super) app_user: Option<AppUser>,
    /// What layers of the embedding server have added.
    pub(super) extensions: Extensions,
    /// The key that the embedding server has chosen for the limiter.
    pub(super) limit_key: Option<String>,
    /// Whether the request has a header that can identify a caller.
    pub(super) shows_caller: bool,
    /// The routes that plugins declare.
    pub(super) declared: Arc<Declared>,
    pub(super) mount: Arc<Mount>,
}

impl Visit {
    pub(crate) fn new(
        cms: &Cms,
        kept: &Kept,
        parts: Parts,
        peer: Option<Peer>,
        declared: Arc<Declared>,
    ) -> Self {
        let Parts { method, uri, mut headers, extensions, .. } = parts;
        let operator = extensions.get::<AsOperator>().is_some();
        let in_process = extensions.get::<InProcess>().is_some();
        let logged_in = extensions.get::<FrontendLogin>().is_some();
        let app_user = extensions.get::<AppUser>().cloned();
        let limit_key = extensions.get::<LimitKey>().map(|LimitKey(key)| key.clone());
        asked_host(&uri, &mut headers);
        if peer.is_none() && !operator && !in_process {
            warn_of_strangers(&kept.warned_of_strangers);
        }
        let client = client(cms, &kept.proxy_header, peer, &headers);
        let mount = kept.mount.clone();
        let within = match operator || in_process {
            true => Ok(uri.path()),
            false => mount.within(uri.path()),
        };
        let path = *within.as_ref().unwrap_or(&uri.path());
        let (mut request, mut unreadable) = Canonical::read(method, (path, uri.query()), headers);
        if let Err(elsewhere) = within {
            unreadable = Some(elsewhere);
        }
        let mut methods_here = None;
        if unreadable.is_none() {
            match declared.respell(&mut request) {
                Ok(methods) => methods_here = methods,
                Err(error) => unreadable = Some(error),
            }
        }
        let route = if operator { find(&request) } else { route_of(&request) };
        let route = route.or_else(|| declared.find(&request.path));
        let open = request.is_open(route.map(|route| route.access));
        let way = match (operator, open) {
            (true, _) => Way::Operator,
            (false, true) => Way::Open,
            (false, false) => Way::Judged,
        };
        let shows_caller = request.headers.keys().any(can_show_caller);
        Self {
            uri,
            request,
            unreadable,
            methods_here,
            route,
            way,
            client,
            peer,
            in_process,
            logged_in,
            app_user,
            extensions,
            limit_key,
            shows_caller,
            declared,
            mount,
        }
    }

    /// The client's address, if the request came over a network.
    pub(crate) fn known_client(&self) -> Option<IpAddr> {
        self.client.is_known.then_some(self.client.address)
    }

    pub(crate) fn is_by_operator(&self) -> bool {
        self.way == Way::Operator
    }

    pub(crate) fn is_read(&self) -> bool {
        self.request.method == Method::GET || self.request.method == Method::HEAD
    }

    /// Whether the limiter counts the request: judged ones, and public ones made from tables.
    pub(super) fn counts(&self) -> bool {
        let from_tables = || self.route.is_some_and(|route| !route.tables.is_empty());
        let is_judged = self.way == Way::Judged || (self.way == Way::Open && from_tables());
        is_judged && !self.in_process
    }

    /// Whether the caller matters for this request.
    pub(super) fn is_judged(&self) -> bool {
        self.way == Way::Judged && self.unreadable.is_none()
    }

    /// Whether a credential counts here.
    pub(super) fn shows_credential(&self) -> bool {
        self.shows_caller && self.is_judged()
    }

    /// Refuses unreadable addresses, and hosts that the service does not answer for.
    pub(super) fn admit(&mut self, cms: &Cms) -> Result<()> {
        match self.unreadable.take() {
            Some(refusal) => Err(refusal),
            // Requests of this process have no host; health checks may come by any host.
            None if self.way == Way::Operator || self.in_process || self.is_check() => Ok(()),
            None => check_host(cms, &self.request),
        }
    }

    /// Whether this is a health check or a request for metrics.
    fn is_check(&self) -> bool {
        matches!(self.request.path.as_str(), "/healthz" | "/readyz" | "/metrics")
    }

    /// The route, and its operation for this method; None: the route has only other methods.
    pub(super) fn operation(&self) -> Result<(&'static Route, Option<&'static Operation>)> {
        let nothing = || {
            let why = routes::unknown_action(&self.request);
            let why = why.unwrap_or_else(|| "There is nothing at this address.".to_owned());
            Error::new(Code::NotFound, why)
        };
        Ok((self.route.ok_or_else(nothing)?, self.method()))
    }

    /// The operation for the request's method at its path.
    pub(super) fn method(&self) -> Option<&'static Operation> {
        let method = match self.request.method.as_str() {
            "HEAD" => "GET",
            method => method,
        };
        let is_here = self.methods_here.is_none_or(|methods| methods.contains(&method));
        self.route?.method(method).filter(|_| is_here)
    }
}

fn can_show_caller(name: &HeaderName) -> bool {
    [header::AUTHORIZATION, header::COOKIE, API_KEY].contains(name)
}

/// The route of a request that comes over the network.
pub(super) fn route_of(request: &Canonical) -> Option<&'static Route> {
    find(request).filter(|route| route.access != Access::Operator)
}

fn find(request: &Canonical) -> Option<&'static Route> {
    routes::find(&request.path, request.parameter("action"))
}

/// The host of the request line wins over the header `Host` (RFC 9112, 3.2.2).
fn asked_host(uri: &Uri, headers: &mut HeaderMap) {
    if let Some(host) =
        uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok())
    {
        headers.insert(header::HOST, host);
    }
}

fn check_host(cms: &Cms, request: &Canonical) -> Result<()> {
    let host = request.header(&header::HOST).ok().flatten().unwrap_or_default();
    if cms.settings().answers_for(host) {
        return Ok(());
    }
    Err(Error::new(
        Code::UnknownHost,
        "This service does not answer for that host: see allowed_hosts.",
    ))
}

/// The client of a request that came from `peer`.
fn client(cms: &Cms, proxy_header: &HeaderName, peer: Option<Peer>, headers: &HeaderMap) -> Client {
    let Some(Peer(socket)) = peer else {
        return Client { address: Ipv4Addr::LOCALHOST.into(), is_known: false };
    };
    let lines = headers.get_all(proxy_header).iter().map(HeaderValue::as_bytes);
    let address = address::client(socket.ip(), &cms.settings().trusted_proxies, lines);
    Client { address, is_known: true }
}

/// Warns once, in the log, that the embedding server does not pass addresses on.
fn warn_of_strangers(warned: &Once) {
    warned.call_once(|| {
        tracing::warn!(
            "requests come without the extension cms_http::Peer: all visitors count as one, and \
             the limiter refuses them together"
        );
    });
}
