//! Begins a visit, and resumes one after a reload of its page or by the link of a mail. Also the
//! client hash, one text for all calls of a visitor within a day. The address cannot be recovered
//! from the text, because the salt is random and is overwritten on the next day.

use std::{net::IpAddr, sync::PoisonError};

use data_encoding::HEXLOWER;
use serde_json::{Map, Value as Json};

use super::{
    mails::resume_link,
    session::{Session, Status, Trail},
    sql,
    types::{Progress, ResumeVisit, Resumed, ShownFunnel, StartVisit, Started, StartedTest},
    visit::{self, Visit, missing, open},
};
use crate::{
    Change, Code, Error, Millis, Result,
    crypto::hmac_sha256,
    db::args,
    events::FUNNEL_STARTED,
    fields::{Context, is_blank},
    funnels::{Funnels, WhichFunnel, counters, definitions::versions::Version, graph::Graph},
    ground::network,
    mail::shortened,
    plain, rfc3339,
};

/// Maximum characters of an address, and of a part of a campaign, that a page sends.
const ADDRESS: usize = 2048;
const PART: usize = 255;
/// Maximum characters of a language.
const LANGUAGE: usize = 16;

/// A visit that may begin.
#[derive(Debug)]
pub struct Beginning {
    visit: Visit,
    call: StartVisit,
    salt: Salt,
}

impl Funnels {
    /// Finds the funnel and prepares a visit.
    ///
    /// # Errors
    /// `funnel_not_available` for a funnel that is missing, not published, or closed.
    pub async fn begin_visit(&self, call: StartVisit) -> Result<Beginning> {
        let language = call.language.as_deref().filter(|one| one.len() <= LANGUAGE);
        let version = self.live(&call.funnel_id, language).await?;
        let (settings, base) = (&version.header.settings, &self.0.base);
        let is_over = settings.closes_at.is_some_and(|end| base.clock().now() >= end);
        let is_full = match settings.max_submissions {
            Some(most) if !is_over => sql::is_full(base.db(), version.funnel, most).await?,
            _ => false,
        };
        if is_over || is_full {
            let detail = "The funnel is closed: it takes no more submissions.";
            return Err(Error::new(Code::FunnelNotAvailable, detail));
        }
        let uuid = base.random().uuid_v4()?;
        let salt = self.salt().await?;
        Ok(Beginning { visit: self.visit_of(version, uuid), call, salt })
    }

    /// The published funnel as shown on a page that links to it.
    ///
    /// # Errors
    /// `funnel_not_available` when no such funnel is published.
    pub async fn shown(&self, which: &WhichFunnel, language: &str) -> Result<ShownFunnel> {
        let version = self.live(which, Some(language)).await?;
        Ok(shown_funnel(&version))
    }

    /// Begins a visit.
    ///
    /// # Errors
    /// `funnel_not_available` when the funnel was deleted meanwhile; as every write.
    pub async fn start(
        &self,
        change: &mut Change,
        beginning: Beginning,
        visitor: Visitor,
    ) -> Result<Started> {
        let (visit, session) = self.store(change, beginning, visitor, false).await?;
        let first = visit.current(&session);
        let created = Some(visit::AUDIT_CREATED);
        visit::emit(change, &visit, &session, FUNNEL_STARTED, first, &[], created).await?;
        visit.started(&session)
    }

    /// Begins an author's test visit: no statistics count the visit, and it raises no event and
    /// sends no mail.
    pub async fn start_test(
        &self,
        change: &mut Change,
        beginning: Beginning,
        visitor: Visitor,
    ) -> Result<StartedTest> {
        let (visit, session) = self.store(change, beginning, visitor, true).await?;
        let id = session.id.to_string();
        change.audit(visit::entry(&id, visit::AUDIT_CREATED)).await?;
        let url = self.resume_url(&visit, &session);
        let url = Some(url).filter(|url| !url.is_empty());
        Ok(StartedTest { started: visit.started(&session)?, url })
    }

    /// Stores a new visit.
    async fn store(
        &self,
        change: &mut Change,
        beginning: Beginning,
        visitor: Visitor,
        is_test: bool,
    ) -> Result<(Visit, Session)> {
        let Beginning { visit, call, salt } = beginning;
        let now = change.now();
        let (mut session, trail) = visit.begin(call, visitor.host.clone(), now, is_test)?;
        let client = salt.hash(&visitor);
        let day = counters::day(now, &visit.zone)?;
        let id = sql::start(change, &session, visit.version.number, client, day).await?;
        let gone = || Error::new(Code::FunnelNotAvailable, "The funnel was deleted.");
        session.id = id.ok_or_else(gone)?;
        visit.save(change, &mut session, trail).await?;
        Ok((visit, session))
    }
}

/// What visitors see of the funnel itself.
fn shown_funnel(version: &Version) -> ShownFunnel {
    ShownFunnel {
        id: version.funnel,
        slug: version.header.slug.clone(),
        name: version.header.name.clone(),
        language_short: version.header.language_short.clone(),
        version: version.number,
    }
}

impl Visit {
    /// The reply to the page.
    fn started(&self, session: &Session) -> Result<Started> {
        let graph = &self.version.graph;
        let first = graph.start().ok_or_else(|| Error::internal("no start"))?;
        Ok(Started {
            session_uuid: self.uuid.clone(),
            funnel: shown_funnel(&self.version),
            node: first.shown.clone(),
            progress: Progress { answered: 0, remaining_max: graph.steps_after(first.id) + 1 },
            expires_at: rfc3339(session.expires_at),
            rev: session.rev,
        })
    }

    /// A new session, with its first entries of the trail. Its row has no id yet.
    pub(super) fn begin(
        &self,
        call: StartVisit,
        host: Option<String>,
        now: Millis,
        is_test: bool,
    ) -> Result<(Session, Trail)> {
        let version = &self.version;
        let first = version.graph.start().ok_or_else(|| Error::internal("no start"))?;
        let (page, context) = (call.source_url.as_deref(), self.context(now));
        let answers = arriving(&version.graph, &call.hidden, page, &context);
        // What a visitor's browser sends is shown to people.
        let text = |text: Option<String>, most| {
            let text = text?.replace(plain::is_hidden, "");
            Some(shortened(&text, most).into_owned())
        };
        let part = |value| text(value, PART);
        let session = Session {
            id: 0,
            funnel: version.funnel,
            version: version.id,
            uuid: self.uuid.clone(),
            rev: 0,
            status: Status::InProgress,
            language: version.header.language_short.clone(),
            path: vec![first.id],
            answers,
            current: Some(first.id),
            end: None,
            end_kind: None,
            reference: None,
            source_url: text(call.source_url.filter(|url| is_of_the_web(url)), ADDRESS),
            referer: text(call.referer, ADDRESS),
            utm: [
                part(call.utm_source),
                part(call.utm_medium),
                part(call.utm_campaign),
                part(call.utm_term),
                part(call.utm_content),
            ],
            host: text(host, PART),
            is_spam: false,
            is_test,
            started_at: now,
            last_activity_at: now,
            presented_at: now,
            completed_at: None,
            abandoned_at: None,
            abandoned_told: false,
            expires_at: self.expires(now, now),
            folded: false,
            mail_rule: None,
            mail_status: None,
        };
        let mut trail = Trail::default();
        trail.note("started", None);
        trail.note("presented", Some(first.id));
        Ok((session, trail))
    }
}

/// Whether people may follow the address of a visitor's page.
fn is_of_the_web(address: &str) -> bool {
    url::Url::parse(address).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// The answers to hidden fields: values in `sent`, else parameters of the page's address, else the
/// fields' own values. Invalid values are left out, because no visitor can correct them.
pub(super) fn arriving(
    graph: &Graph,
    sent: &Map<String, Json>,
    page: Option<&str>,
    context: &Context,
) -> Map<String, Json> {
    let page = page.and_then(|url| url::Url::parse(url).ok());
    let parameter = |name: &str| {
        let mut pairs = page.as_ref()?.query_pairs();
        pairs.find(|(key, _)| key == name).map(|(_, value)| Json::from(value.into_owned()))
    };
    let context = context.clone().arriving();
    let steps = graph.nodes().iter().filter_map(|node| Some((node, node.step()?)));
    let hidden = steps.flat_map(|(node, step)| {
        let fields = step.fields.iter().filter(|field| field.type_name() == "hidden");
        fields.map(move |field| (node, field))
    });
    let hidden: Vec<_> = hidden.collect();
    // Steps that exclude each other may name the same field: its first value stays, and a value
    // that comes with the visitor takes precedence over the fields' own values.
    let mut answers = Map::new();
    for (node, field) in &hidden {
        let named = declared(&node.config, field.id());
        let own = sent.get(field.id()).cloned();
        let given = own.or_else(|| named.and_then(|name| parameter(&name)));
        let is_new = |given: &Json| !is_blank(given) && !answers.contains_key(field.id());
        let Some(given) = given.filter(is_new) else { continue };
        let given = Map::from_iter([(field.id().to_owned(), given)]);
        answers.extend(field.take(&given, &context).unwrap_or_default());
    }
    for (_, field) in &hidden {
        if !answers.contains_key(field.id()) {
            answers.extend(field.take(&Map::new(), &context).unwrap_or_default());
        }
    }
    answers
}

/// The parameter that a hidden field is read from.
fn declared(config: &Map<String, Json>, id: &str) -> Option<String> {
    let fields = config.get("fields").and_then(Json::as_array)?;
    let field = fields.iter().find(|field| field["id"] == id)?;
    let name = field.get("param").or_else(|| field.get("prefill_param"));
    name.and_then(Json::as_str).map(str::to_owned)
}

/// The context that tokens of links are sealed for.
const SEALED: &str = "formfunnel.resume";
/// Maximum characters of a token.
const TOKEN: usize = 256;

impl Funnels {
    /// The visit that a call to resume names.
    ///
    /// # Errors
    /// `validation_failed` unless it names one session or one token; `not_found`, also for a token
    /// that this site has not made.
    pub async fn visit_again(&self, call: &ResumeVisit) -> Result<Visit> {
        match (&call.session_uuid, &call.token) {
            (Some(session), None) => self.visit(session).await,
            (None, Some(token)) => {
                let token = token.trim();
                let sealed = Some(token).filter(|token| token.len() <= TOKEN);
                let sealed = sealed.and_then(|token| self.0.base.vault().open(SEALED, token).ok());
                let session = sealed.and_then(|bytes| String::from_utf8(bytes).ok());
                self.visit(&session.ok_or_else(missing)?).await
            }
            _ => {
                let message = "the session is expected, or the token of a link";
                Err(Error::invalid_field("session_uuid", "required", message))
            }
        }
    }

    /// Resumes a visit and returns where the visitor stands. An abandoned visit is in progress
    /// again. `by_link`: the page came by a link, so the reply holds the session.
    ///
    /// # Errors
    /// `not_found`, `already_completed`, `session_expired`; as every write.
    pub async fn resume(
        &self,
        change: &mut Change,
        visit: &Visit,
        by_link: bool,
    ) -> Result<Resumed> {
        let mut session = visit.lock(change).await?;
        let now = change.now();
        open(&session, now)?;
        let mut trail = Trail::default();
        trail.note("resumed", session.current);
        visit.store_trail(change, &mut session, trail).await?;
        let stepped = visit.stepped(&session, visit.current(&session), Vec::new());
        Ok(Resumed { stepped, session_uuid: by_link.then(|| visit.uuid.clone()) })
    }

    /// The link that leads a visitor back to the visit. Blank if the settings name no page, and
    /// for a completed visit.
    pub(super) fn resume_url(&self, visit: &Visit, session: &Session) -> String {
        let page = visit.version.header.settings.page_url.as_deref();
        let Some(page) = page.filter(|_| session.status != Status::Completed) else {
            return String::new();
        };
        match self.0.base.vault().seal(SEALED, visit.uuid.as_bytes()) {
            Ok(token) => resume_link(page, &token),
            Err(error) => {
                tracing::warn!(submission = session.id, ?error, "a mail has no link to its visit");
                String::new()
            }
        }
    }
}

pub(super) const DAY_MS: Millis = 86_400_000;
/// Bytes that are kept of the hash of an address, and of the hash of address and browser.
const KEPT: usize = 8;
/// Characters at the beginning of a client hash that all browsers of an address share.
pub(super) const OF_ADDRESS: i64 = 2 * KEPT as i64;

/// The caller, as far as the request tells.
#[derive(Clone, Default)]
pub struct Visitor {
    /// The address, if it is known.
    pub address: Option<IpAddr>,
    /// The browser's name for itself.
    pub agent: Option<String>,
    /// The host that was called, if the site answers for it: links in mails lead there.
    pub host: Option<String>,
}

/// The salt of a day.
#[derive(Clone, Default)]
pub(in crate::funnels) struct Salt {
    day: i64,
    text: String,
}

impl std::fmt::Debug for Salt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Salt").field("day", &self.day).finish_non_exhaustive()
    }
}

impl Salt {
    /// The client hash of a visitor; None if the address is not known. Hashes from one network
    /// begin alike, whatever the browser: limits for a network count by this beginning.
    pub(super) fn hash(&self, visitor: &Visitor) -> Option<String> {
        let network = network(visitor.address?);
        let agent = visitor.agent.as_deref().unwrap_or_default();
        let part = |told: String| {
            let hash = hmac_sha256(self.text.as_bytes(), told.as_bytes());
            HEXLOWER.encode(&hash[..KEPT])
        };
        Some(part(format!("{network:x}")) + &part(format!("{network:x} {agent}")))
    }
}

impl Funnels {
    /// The salt of this day. The first process that needs it makes it.
    pub(super) async fn salt(&self) -> Result<Salt> {
        let base = &self.0.base;
        let day = base.clock().now().div_euclid(DAY_MS);
        let known = || self.0.salt.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = known().clone();
        if kept.day == day && !kept.text.is_empty() {
            return Ok(kept);
        }
        let (mut stored, mut text) = sql::salt(base.db()).await?;
        if stored < day {
            let new = HEXLOWER.encode(&base.random().bytes::<32>()?);
            let mut change = base.change_in_time().await?;
            change.run(sql::NEW_SALT, args![day, new]).await?;
            change.commit().await?;
            // Another process may have been quicker.
            (stored, text) = sql::salt(base.db()).await?;
        }
        // A clock that was set back keeps the salt of the later day.
        let salt = Salt { day: stored.min(day), text };
        *known() = salt.clone();
        Ok(salt)
    }
}
