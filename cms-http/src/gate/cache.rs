//! Which replies may be kept, what they depend on, and replies that the caller already has
//! (`If-None-Match`, `If-Modified-Since`: RFC 9110, 13.1).

use cms_core::{Cms, Result, db::Source};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::visit::Visit;
use crate::{
    body::Body,
    call::API_KEY,
    caller::Caller,
    replies::{Key, Lookup, add_part},
    reply::Reply,
    wire::{Operation as _, item, pages::Sitemap},
};

/// The longest key, in bytes; replies with longer keys are not kept.
const MAX_KEY: usize = 2048;

/// The records that a caller's reply would be made from, where that reply may be kept: those of
/// one table. Records of other tables, which `expand` adds, depend on the caller's rights.
pub(super) fn source<'v>(cms: &Cms, visit: &'v Visit) -> Option<Source<'v>> {
    let request = &visit.request;
    let asks = |name| request.parameter(name).is_some();
    // With `fields`, rights may limit the searched columns.
    let by_rights = asks("expand") || (asks("search") && asks("fields"));
    if request.path != item::Read::PATH || !visit.is_read() || by_rights || is_hooked(cms, visit) {
        return None;
    }
    cms.cache().known_rules().filter(|rules| rules.may_keep(item::Read::PATH))?;
    cms.items().source(request.parameter("table")?)
}

/// The lookup of a kept reply, if the reply may be kept: a visitor's, or a caller's with
/// `changes`, the count of changes of its records.
pub(super) async fn lookup<'v>(
    cms: &'v Cms,
    visit: &'v Visit,
    caller: &Caller,
    changes: Option<i64>,
) -> Result<Option<Lookup<'v>>> {
    let request = &visit.request;
    if let Some(changes) = changes {
        let (key, rules) = (key("", visit), cms.cache().rules().await?);
        return Ok(key.map(|key| Lookup::by_caller(cms, key, &request.path, changes, rules)));
    }
    let tables = visit.route.map_or(&[][..], |route| route.tables);
    let visitor = visit.is_read()
        && matches!(caller, Caller::Anonymous)
        && !visit.logged_in
        && visit.app_user.is_none()
        && !(visit.shows_caller && shows_somebody(visit));
    if tables.is_empty() || !visitor || is_hooked(cms, visit) {
        return Ok(None);
    }
    let rules = cms.cache().rules().await?;
    if !rules.may_keep(&request.path) {
        return Ok(None);
    }
    // Local epochs after a write by this process mean nothing to others: read the shared ones.
    let _ = cms.db().read_epochs(Some(tables)).await;
    let host = request.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    // Links of the site map begin with `site_url`, whatever the host.
    let is_same = request.path == Sitemap::PATH && cms.settings().site_url.is_some();
    let mut key = key(host.filter(|_| !is_same).unwrap_or_default(), visit);
    // Another version of the plugin may declare other tables for the same address.
    if let (Some(key), Some(_)) = (&mut key, visit.route.and_then(|route| route.endpoint)) {
        key.extend(tables.iter().flat_map(|table| [table.as_bytes(), b"\0"]).flatten());
    }
    Ok(key.map(|key| Lookup::by_visitor(cms, key, &request.path, tables, rules)))
}

/// Whether hooks on reads see the records of the reply. Nobody knows when such a reply changes, so
/// it is not kept, and it is sent whole to callers that have an earlier one.
pub(super) fn is_hooked(cms: &Cms, visit: &Visit) -> bool {
    let request = &visit.request;
    let table = match visit.route.and_then(|route| route.records) {
        None if request.path == item::Read::PATH => request.parameter("table"),
        records => records,
    };
    let Some(table) = table else { return false };
    let expand = request.parameter("expand").into_iter().flat_map(|all| all.split(','));
    cms.items().has_read_hooks(table, expand.map(str::trim))
}

/// Host, path and sorted query: all that a reply depends on.
fn key(host: &str, visit: &Visit) -> Option<Key> {
    let (path, query) = (&visit.request.path, &visit.request.query);
    let length = query.iter().map(|(name, value)| name.len() + value.len() + 8).sum::<usize>();
    let mut key = Vec::with_capacity(host.len() + path.len() + length + 8);
    add_part(&mut key, host);
    add_part(&mut key, path);
    let mut query: Vec<&(String, String)> = query.iter().collect();
    query.sort();
    for (name, value) in query {
        add_part(&mut key, name);
        add_part(&mut key, value);
    }
    key[4..4 + host.len()].make_ascii_lowercase();
    (key.len() <= MAX_KEY).then_some(key)
}

/// Whether the request carries a credential of any kind, valid or not.
fn shows_somebody(visit: &Visit) -> bool {
    let headers = &visit.request.headers;
    let name = visit.mount.cookie_name();
    let session = || headers.get_all(header::COOKIE).iter().any(|line| is_session(line, name));
    headers.contains_key(header::AUTHORIZATION) || headers.contains_key(API_KEY) || session()
}

fn is_session(cookies: &HeaderValue, name: &str) -> bool {
    let named =
        |cookie: &str| cookie.trim().split_once('=').is_some_and(|(known, _)| known == name);
    cookies.to_str().map_or(true, |line| line.split(';').any(named))
}

/// The reply, without its body when the caller has it already.
pub(super) fn conditional(visit: &Visit, mut reply: Reply) -> Reply {
    let (Some(etag), true) = (reply.headers.get(header::ETAG), visit.is_read()) else {
        return reply;
    };
    let asked = &visit.request.headers;
    let is_known = if asked.contains_key(header::IF_NONE_MATCH) {
        asked.get_all(header::IF_NONE_MATCH).iter().any(|line| names(line, etag))
    } else {
        is_unmodified(asked, &reply.headers)
    };
    // Conditions come before ranges (13.2.2).
    if ![StatusCode::OK, StatusCode::PARTIAL_CONTENT].contains(&reply.status) || !is_known {
        return reply;
    }
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_RANGE] {
        reply.headers.remove(name);
    }
    Reply { status: StatusCode::NOT_MODIFIED, body: Body::default(), ..reply }
}

/// Whether the reply has not changed since the date of the caller's copy. An unreadable date
/// counts as no date.
fn is_unmodified(asked: &HeaderMap, reply: &HeaderMap) -> bool {
    let time = |headers: &HeaderMap, name: HeaderName| {
        let mut lines = headers.get_all(name).iter();
        let (Some(line), None) = (lines.next(), lines.next()) else { return None };
        jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(line).ok()
    };
    let Some(since) = time(asked, header::IF_MODIFIED_SINCE) else { return false };
    time(reply, header::LAST_MODIFIED).is_some_and(|modified| modified <= since)
}

/// Whether a line of `If-None-Match` names this tag, or `*`.
fn names(line: &HeaderValue, etag: &HeaderValue) -> bool {
    let named = || {
        let (line, etag) = (line.to_str().unwrap_or_default(), etag.to_str().unwrap_or_default());
        line.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
    };
    // The fast path: most lines are exactly one tag that we have sent.
    line == etag || named()
}
