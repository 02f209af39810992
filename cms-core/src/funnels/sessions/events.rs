//! The data of a submission's events. They never hold the session's uuid, which is the
//! visitor's secret.

use super::{
    session::{Session, UTM},
    visit::Visit,
};
use crate::{
    AuditEntry, Change, Result,
    events::{Event, FunnelData, PassedNode, VisitData, VisitSubmission},
    fields::Answer,
    funnels::{graph::Node, subject},
    rfc3339,
};

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
    change.raise_about(subject(session.id), event, &data, entry).await.map(drop)
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
