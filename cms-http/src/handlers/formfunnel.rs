//! `/api/formfunnel`

use cms_core::{
    Change, Code, Error, Outcome, Result,
    funnels::{
        AnswerStep, CompleteVisit, Completed, ResumeVisit, Resumed, StartVisit, Started, Stepped,
        UploadFor, Uploaded, Visitor,
    },
    traffic::origins::normalise,
};
use futures_util::StreamExt as _;
use http::header;
use serde::Serialize;

use crate::{
    call::Call,
    success::Success,
    wire::{
        Deferred, Done, Early, Octets,
        formfunnel::OfVisit,
        parameters::{AnyQuery, NoQuery},
    },
};

/// The most bytes of a beacon that are read. Browsers send little more than the session.
const BEACON: usize = 16 << 10;
/// Characters of a session's uuid.
const UUID: usize = 36;

pub(crate) async fn start(
    call: &Call<'_>,
    _: NoQuery,
    body: StartVisit,
) -> Result<Success<Started>> {
    let beginning = call.cms.funnels().begin_visit(body).await?;
    let visitor = visitor(call);
    let mut change = call.change().await?;
    let started = call.cms.funnels().start(&mut change, beginning, visitor).await?;
    call.commit(change, started, true).await
}

/// The visitor behind a call.
pub(super) fn visitor(call: &Call<'_>) -> Visitor {
    let text = |name| {
        let value = call.request.headers.get(name).and_then(|value| value.to_str().ok());
        value.map(str::to_owned)
    };
    // The gate has checked this host, except for the operator's.
    let host = text(header::HOST).filter(|host| call.cms.settings().answers_for(host));
    let address = call.client.is_known.then_some(call.client.address);
    Visitor { address, agent: text(header::USER_AGENT), host: host.as_deref().and_then(plain) }
}

/// The host in the form that addresses have; None if it is empty or more than a host.
pub(super) fn plain(host: &str) -> Option<String> {
    let origin = normalise(&format!("https://{host}"))?;
    origin.strip_prefix("https://").map(str::to_owned)
}

pub(crate) async fn step(
    call: &Call<'_>,
    _: NoQuery,
    body: Early<OfVisit, AnswerStep>,
) -> Result<Success<Stepped>> {
    let funnels = call.cms.funnels();
    let visit = async |of: OfVisit| funnels.visit(&of.session_uuid).await;
    let (visit, body) = body.find(visit).await?;
    let mut change = call.change().await?;
    let stepped = funnels.step(&mut change, &visit, &body).await?;
    commit(call, change, stepped).await
}

/// Ends a change of a visit. Keeps what the change notes of a refused call.
async fn commit<T: Serialize>(
    call: &Call<'_>,
    change: Change,
    outcome: Outcome<T>,
) -> Result<Success<T>> {
    let (reply, change) = outcome.right(change).await?;
    call.commit(change, reply, false).await
}

pub(crate) async fn complete(
    call: &Call<'_>,
    _: NoQuery,
    body: Early<OfVisit, CompleteVisit>,
) -> Result<Success<Completed>> {
    let funnels = call.cms.funnels();
    let visit = async |of: OfVisit| funnels.visit(&of.session_uuid).await;
    let (visit, body) = body.find(visit).await?;
    let mut change = call.change().await?;
    let completed = funnels.complete(&mut change, &visit, &body).await?;
    commit(call, change, completed).await
}

/// Beacons get no news: their pages are gone.
pub(crate) async fn abandon(call: &Call<'_>, _: AnyQuery, body: Octets) -> Result<Success<Done>> {
    let mut parts = body.parts();
    let mut bytes = Vec::new();
    while let Some(Ok(part)) = parts.next().await {
        let room = BEACON.saturating_sub(bytes.len());
        bytes.extend_from_slice(&part[..part.len().min(room)]);
        if part.len() > room {
            break;
        }
    }
    let funnels = call.cms.funnels();
    let Some(session) = session_in(&bytes) else { return Ok(Done.into()) };
    let visit = match funnels.visit(&session).await {
        Ok(visit) => visit,
        Err(error) => return unheard(error),
    };
    let mut change = call.change().await?;
    match funnels.abandon(&mut change, &visit).await {
        Ok(()) => call.commit(change, Done, false).await,
        Err(error) => unheard(error),
    }
}

/// The answer to a failed beacon: always the same, unless the database is away.
fn unheard(error: Error) -> Result<Success<Done>> {
    match error.code() {
        Code::Unavailable => Err(error),
        Code::NotFound => Ok(Done.into()),
        _ => {
            tracing::warn!(%error, "a visit was not marked as abandoned");
            Ok(Done.into())
        }
    }
}

/// The session that a beacon names: the first uuid after `session_uuid`, else the first one. That
/// finds it in JSON, in text and in both kinds of forms.
fn session_in(bytes: &[u8]) -> Option<String> {
    const NAME: &[u8] = b"session_uuid";
    let named = bytes.windows(NAME.len()).position(|part| part == NAME);
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let is_uuid = |part: &[u8]| {
        part.iter().enumerate().all(|(at, byte)| match is_dash(at) {
            true => *byte == b'-',
            false => byte.is_ascii_hexdigit(),
        })
    };
    let first = |bytes: &[u8]| {
        let found = bytes.windows(UUID).find(|part| is_uuid(part))?;
        Some(String::from_utf8_lossy(found).into_owned())
    };
    named.and_then(|at| first(&bytes[at..])).or_else(|| first(bytes))
}

pub(crate) async fn resume(
    call: &Call<'_>,
    _: NoQuery,
    body: ResumeVisit,
) -> Result<Success<Resumed>> {
    let funnels = call.cms.funnels();
    let by_link = body.token.is_some();
    let visit = funnels.visit_again(&body).await?;
    let mut change = call.change().await?;
    let resumed = funnels.resume(&mut change, &visit, by_link).await?;
    call.commit(change, resumed, by_link).await
}

pub(crate) async fn upload(
    call: &Call<'_>,
    _: NoQuery,
    form: Deferred<UploadFor>,
) -> Result<Success<Uploaded>> {
    let (funnels, field) = (call.cms.funnels(), form.fields.field.clone());
    // Reads nothing of a file that belongs to no visit.
    let visit = funnels.visit(&form.fields.session_uuid).await?;
    let mut files = form.files().await?;
    let [file] = files.as_mut_slice() else {
        return Err(Error::invalid_field("file", "required", "one file is expected"));
    };
    let judged =
        funnels.judge_file(&visit, &field, &file.name, file.size, &mut file.content).await?;
    let mut change = call.change().await?;
    let uploaded = funnels.upload(&mut change, &visit, judged).await?;
    call.commit(change, uploaded, false).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_host() {
        for (host, expected) in [
            ("Cms.Example:8443", Some("cms.example:8443")),
            ("cms.example:443", Some("cms.example")),
            ("[2001:db8::1]:80", Some("[2001:db8::1]:80")),
            ("evil.example/phish?", None),
            ("user@evil.example", None),
            ("evil.example\" onclick=\"x", None),
            ("", None),
        ] {
            assert_eq!(plain(host).as_deref(), expected, "{host}");
        }
    }

    #[test]
    fn a_session_is_found_in_every_kind_of_beacon() {
        let (own, other) =
            ("0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10", "11111111-2222-4333-8444-555555555555");
        for body in [
            format!("{{\"session_uuid\":\"{own}\"}}"),
            format!("{{\"id\":\"{other}\",\"session_uuid\": \"{own}\"}}"),
            format!("session_uuid={own}&x=1"),
            own.to_owned(),
            format!("  {own}\n"),
            format!(
                "--b\r\nContent-Disposition: form-data; name=\"session_uuid\"\r\n\r\n{own}\r\n"
            ),
        ] {
            assert_eq!(session_in(body.as_bytes()).as_deref(), Some(own), "{body}");
        }
        for body in ["", "x", "{\"session_uuid\":7}", &own[..35]] {
            assert_eq!(session_in(body.as_bytes()), None, "{body}");
        }
    }
}
