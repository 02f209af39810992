//! A visit under way: its session with the version that it keeps; and the data of its events, which
//! never hold the session's uuid, the visitor's secret.

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Map, Value as Json};

use super::{
    moves::Walk,
    session::{Session, Status, Trail, UTM},
    sql::{self, SentFile, SubmissionSummary},
    types::{Progress, Stepped},
};
use crate::{
    AuditEntry, Change, Code, Error, Millis, Result,
    conditions::Surroundings,
    db::args,
    events::{Event, FunnelData, PassedNode, VisitData, VisitSubmission},
    fields::{Answer, Context, summary},
    funnels::{
        Funnels,
        definitions::versions::Version,
        graph::{Node, Step},
        subject,
    },
    rfc3339,
};

/// Characters of a session's uuid.
const UUID: usize = 36;
const MINUTE_MS: Millis = 60_000;
const HOUR_MS: Millis = 60 * MINUTE_MS;
/// A session lasts at most this many times the rest that its funnel allows.
const AGE: Millis = 30;
/// Maximum number of changes of a session. Each change writes rows and raises an event.
const CHANGES: i64 = 500;
/// After this many changes, calls that change no answer write no trail. They only update when the
/// visitor was here last, whether the visit is abandoned, and whether a program makes it.
const NOTED: i64 = 100;

/// A visit, before its change begins.
pub struct Visit {
    pub(super) uuid: String,
    pub(super) version: Arc<Version>,
    pub(super) zone: TimeZone,
}

impl std::fmt::Debug for Visit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Visit").field("version", &self.version.id).finish_non_exhaustive()
    }
}

impl Funnels {
    /// The visit of a session.
    pub async fn visit(&self, session_uuid: &str) -> Result<Visit> {
        let uuid = session_uuid.trim();
        let is_uuid =
            uuid.len() == UUID && uuid.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        if !is_uuid {
            return Err(missing());
        }
        let uuid = uuid.to_ascii_lowercase();
        let found = self.0.base.db().optional(sql::VERSION_OF, args![&uuid]).await?;
        let (version,): (i64,) = found.ok_or_else(missing)?;
        Ok(self.visit_of(self.version(version).await?, uuid))
    }

    pub(super) fn visit_of(&self, version: Arc<Version>, uuid: String) -> Visit {
        let zone = self.zone_of(&version.header.settings);
        Visit { uuid, version, zone }
    }
}

pub(super) fn missing() -> Error {
    Error::new(Code::NotFound, "There is no such session: start a new one.")
}

impl Visit {
    /// Locks the session until the change ends.
    pub(super) async fn lock(&self, change: &mut Change) -> Result<Session> {
        sql::lock(change, &self.uuid).await?.ok_or_else(missing)
    }

    pub(super) fn around(&self, session: &Session) -> Surroundings {
        session.around(self.zone.clone())
    }

    pub(super) fn walk<'a>(&'a self, around: &'a Surroundings) -> Walk<'a> {
        Walk { graph: &self.version.graph, conditions: &self.version.conditions, around }
    }

    pub(super) fn context(&self, now: Millis) -> Context {
        let language = &self.version.header.language_short;
        Context::at(now).zone(self.zone.clone()).language(language)
    }

    pub(super) fn is_strict(&self) -> bool {
        self.version.header.settings.strict
    }

    /// When a session that began at `began` expires, if no call comes after `now`.
    pub(super) fn expires(&self, began: Millis, now: Millis) -> Millis {
        let rest = self.version.header.settings.session_ttl_h.saturating_mul(HOUR_MS);
        now.saturating_add(rest).min(began.saturating_add(rest.saturating_mul(AGE)))
    }

    /// Notes that the visitor was here. An abandoned visit is in progress again.
    pub(super) fn mark_active(&self, session: &mut Session, now: Millis) {
        session.last_activity_at = now;
        session.expires_at = self.expires(session.started_at, now);
        if session.status == Status::Abandoned {
            session.status = Status::InProgress;
        }
    }

    /// When the visit is due to be marked as abandoned or, if it is marked, when its event and
    /// mails are due; each if no further call comes.
    pub(super) fn abandon_due(&self, session: &Session) -> Option<Millis> {
        let minutes = self.version.header.abandons_after()?;
        let since = match session.status {
            Status::InProgress => session.last_activity_at,
            Status::Abandoned => session.abandoned_at.filter(|_| session.is_untold())?,
            Status::Completed => return None,
        };
        Some(since.saturating_add(minutes.saturating_mul(MINUTE_MS)))
    }

    /// Stores a call that changed no answer: only if the call changes the state of the visit, or
    /// if the last stored call is at least a minute old.
    pub(super) async fn store_unchanged(
        &self,
        change: &mut Change,
        session: &mut Session,
        trapped: bool,
    ) -> Result<()> {
        let now = change.now();
        let is_new = session.status == Status::Abandoned || (trapped && !session.is_spam);
        session.is_spam |= trapped;
        if is_new {
            return self.store_trail(change, session, Trail::default()).await;
        }
        if now - session.last_activity_at >= MINUTE_MS {
            self.store_presence(change, session).await?;
        }
        Ok(())
    }

    /// Stores that the visitor was here.
    pub(super) async fn store_presence(
        &self,
        change: &mut Change,
        session: &mut Session,
    ) -> Result<()> {
        self.mark_active(session, change.now());
        sql::touch(change, session, self.abandon_due(session)).await
    }

    /// Stores a call that changed no answer, with its trail. A session that has changed often gets
    /// no more trail, so that refused answers cannot fill the database.
    pub(super) async fn store_trail(
        &self,
        change: &mut Change,
        session: &mut Session,
        trail: Trail,
    ) -> Result<()> {
        if has_changed_often(session) {
            return self.store_presence(change, session).await;
        }
        self.mark_active(session, change.now());
        self.save(change, session, trail).await
    }

    /// Stores that the visitor has left; as with [`Visit::store_trail`], without a trail for a
    /// session that has changed often.
    pub(super) async fn store_left(
        &self,
        change: &mut Change,
        session: &mut Session,
        trail: Trail,
    ) -> Result<()> {
        if has_changed_often(session) {
            return sql::touch(change, session, self.abandon_due(session)).await;
        }
        self.save(change, session, trail).await
    }

    /// Stores the session, with its summary for lists.
    pub(super) async fn save(
        &self,
        change: &mut Change,
        session: &mut Session,
        trail: Trail,
    ) -> Result<()> {
        let around = self.around(session);
        let walk = self.walk(&around);
        let answers = walk.answers(session.answered(), &session.answers);
        let (answered, left) = (session.answered().len(), walk.remaining(self.current(session)));
        let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let told = SubmissionSummary {
            answered: whole(answered),
            percent: whole(100 * answered / (answered + left).max(1)),
            ..summary_of(&answers)
        };
        sql::save(change, session, told, self.abandon_due(session), trail).await
    }

    /// The node that is presented.
    pub(super) fn current(&self, session: &Session) -> Option<&Node> {
        self.version.graph.node(session.current?)
    }

    /// The files of the session, if the step asks for any.
    pub(super) async fn files(
        change: &mut Change,
        session: &Session,
        step: &Step,
    ) -> Result<Vec<SentFile>> {
        let asks = step.fields.iter().any(|field| is_file(field.type_name()));
        if asks { sql::sent(change, session.id).await } else { Ok(Vec::new()) }
    }

    /// Where the visitor stands, at this node.
    pub(super) fn stepped(
        &self,
        session: &Session,
        node: Option<&Node>,
        ignored: Vec<String>,
    ) -> Stepped {
        let around = self.around(session);
        let place = node.and_then(|node| session.path.iter().position(|id| *id == node.id));
        let step = node.and_then(Node::step);
        Stepped {
            node: node.map(|node| node.shown.clone()),
            node_type: if step.is_some() { "step" } else { "end" }.to_owned(),
            can_complete: step.is_none(),
            progress: Progress {
                answered: place.unwrap_or(session.path.len()),
                remaining_max: self.walk(&around).remaining(node),
            },
            ignored,
            answers: step.map(|step| session.answers_of(step)).unwrap_or_default(),
            rev: session.rev,
        }
    }
}

/// Whether calls that change no answer write no trail any more.
const fn has_changed_often(session: &Session) -> bool {
    session.rev >= NOTED
}

/// Whether the session takes no more answers, unless they complete it.
pub(super) const fn is_spent(session: &Session) -> bool {
    session.rev >= CHANGES
}

/// Whether answers of this type are files.
pub(super) fn is_file(field_type: &str) -> bool {
    matches!(field_type, "file_upload" | "signature")
}

/// The ids of files in the answers of a step, each with the field that it answers.
pub(super) fn files_in<'a>(
    step: &'a Step,
    answers: &'a Map<String, Json>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let fields = step.fields.iter().filter(|field| is_file(field.type_name()));
    let found = fields.filter_map(|field| Some((field.id(), answers.get(field.id())?)));
    found.flat_map(|(field, answer)| {
        let ids = match answer {
            Json::Array(ids) => ids.as_slice(),
            one => std::slice::from_ref(one),
        };
        ids.iter().filter_map(Json::as_str).map(move |id| (field, id))
    })
}

/// Refuses calls that come too late.
pub(super) fn open(session: &Session, now: Millis) -> Result<()> {
    if session.status == Status::Completed {
        let detail = "The visit is completed: its answers can no longer be changed.";
        return Err(Error::new(Code::AlreadyCompleted, detail));
    }
    if is_spent(session) {
        let detail = "The session has changed too often: complete it, or start a new one.";
        return Err(Error::new(Code::SessionExpired, detail));
    }
    unexpired(session, now)
}

pub(super) fn unexpired(session: &Session, now: Millis) -> Result<()> {
    if session.folded || now >= session.expires_at {
        let detail = "The session has expired: start a new one.";
        return Err(Error::new(Code::SessionExpired, detail));
    }
    Ok(())
}

/// The summary of the answers for lists.
fn summary_of(answers: &[Answer]) -> SubmissionSummary {
    let first = |fits: &dyn Fn(&Answer) -> bool| {
        answers.iter().find(|answer| fits(answer)).map(|answer| answer.text.clone())
    };
    let of_type = |name: &str| first(&|answer| answer.field_type == name);
    let of_id = |ids: &[&str]| first(&|answer| ids.contains(&answer.field.as_str()));
    let score = answers.iter().find(|answer| answer.field == "score");
    SubmissionSummary {
        name: of_type("full_name").or_else(|| of_id(&["name", "full_name"])),
        email: of_type("email"),
        phone: of_type("phone"),
        company: of_id(&["company", "company_name", "organisation", "organization"]),
        summary: summary(answers),
        score: score.and_then(|answer| answer.value.as_f64()),
        ..SubmissionSummary::default()
    }
}

/// The table's name in the audit log.
const TABLE: &str = "formfunnel_submissions";

/// What a row of the audit log says of a session: the action, and the columns that it wrote.
pub(super) type Audited = (&'static str, &'static [&'static str]);

pub(super) const AUDIT_CREATED: Audited = ("create", &["path_json"]);
pub(super) const AUDIT_STATUS: Audited = ("update", &["status"]);

/// Raises an event of a session; for a silent session, only asks the guards. Answers are a list,
/// because the payload filter removes members by name, and authors choose ids such as `keywords`.
/// `audited`: the row of the audit log, if one is written.
pub(super) async fn emit(
    change: &mut Change,
    visit: &Visit,
    session: &Session,
    event: Event<VisitData>,
    node: Option<&Node>,
    answers: &[Answer],
    audited: Option<Audited>,
) -> Result<()> {
    let id = session.id.to_string();
    let entry = audited.map(|audited| entry(&id, audited));
    let data = data(visit, session, node, answers);
    if session.is_silent() {
        return change.ask(event, &data).await;
    }
    change.raise_about(Some(subject(session.id)), event, &data, entry).await.map(drop)
}

/// The row of the audit log for the session with this id.
pub(super) fn entry(id: &str, (action, columns): Audited) -> AuditEntry<'_> {
    AuditEntry { action, table: TABLE, id, columns }
}

fn data(visit: &Visit, session: &Session, at: Option<&Node>, answers: &[Answer]) -> VisitData {
    let (version, header) = (&visit.version, &visit.version.header);
    let node = |node: &Node| {
        let (name, kind) = (node.name.clone(), node.kind.name().to_owned());
        PassedNode { id: node.id, name, kind }
    };
    let utm = UTM.into_iter().zip(&session.utm);
    let utm = utm.filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
    VisitData {
        funnel: FunnelData {
            id: session.funnel,
            slug: header.slug.clone(),
            name: header.name.clone(),
            language_short: header.language_short.clone(),
            version: version.number,
        },
        submission: VisitSubmission {
            id: session.id,
            status: session.status.as_str().to_owned(),
            reference: session.reference.clone(),
            node: at.map(node),
            path: session.path.clone(),
            started_at: rfc3339(session.started_at),
            completed_at: session.completed_at.map(rfc3339),
            abandoned_at: session.abandoned_at.map(rfc3339),
            source_url: session.source_url.clone(),
            referer: session.referer.clone(),
            utm: utm.collect(),
        },
        answers: answers.iter().map(Answer::event_answer).collect(),
    }
}
