//! What events tell of a submission. Never the session's uuid: it is the visitor's secret.

use serde_json::{Value as Json, json};

use super::{
    session::{Session, UTM},
    visit::Visit,
};
use crate::{
    AuditEntry, Change, Result,
    fields::Answer,
    funnels::{graph::Node, subject},
    rfc3339,
};

/// The table's name in the audit log.
const TABLE: &str = "formfunnel_submissions";

/// Raises an event of a session. Answers are a list: the filter of payloads removes members by
/// name, and authors of funnels choose ids such as `keywords`.
pub(super) async fn emit(
    change: &mut Change,
    visit: &Visit,
    session: &Session,
    event: &str,
    node: Option<&Node>,
    answers: &[Answer],
) -> Result<()> {
    let data = data(visit, session, node, answers);
    change.emit_about(subject(session.id), event, data, None).await.map(drop)
}

/// As [`emit`], with a row in the audit log.
pub(super) async fn emit_audited(
    change: &mut Change,
    visit: &Visit,
    session: &Session,
    event: &str,
    node: Option<&Node>,
    answers: &[Answer],
) -> Result<()> {
    let id = session.id.to_string();
    let (action, columns) = match event {
        "formfunnel.started" => ("create", &["path_json"][..]),
        _ => ("update", &["status"][..]),
    };
    let entry = AuditEntry { action, table: TABLE, id: &id, columns };
    let data = data(visit, session, node, answers);
    change.emit_about(subject(session.id), event, data, Some(entry)).await.map(drop)
}

fn data(visit: &Visit, session: &Session, node: Option<&Node>, answers: &[Answer]) -> Json {
    let time = |at: Option<i64>| at.map(rfc3339);
    let version = &visit.version;
    let node = node.map(|node| json!({"id": node.id, "name": node.name, "type": node.kind.name()}));
    let utm = UTM.into_iter().zip(&session.utm).filter(|(_, value)| value.is_some());
    json!({
        "funnel": {
            "id": session.funnel,
            "slug": version.header.slug,
            "name": version.header.name,
            "language_short": version.header.language_short,
            "version": version.number,
        },
        "submission": {
            "id": session.id,
            "status": session.status.as_str(),
            "reference": session.reference,
            "node": node,
            "path": session.path,
            "started_at": rfc3339(session.started_at),
            "completed_at": time(session.completed_at),
            "abandoned_at": time(session.abandoned_at),
            "source_url": session.source_url,
            "referer": session.referer,
            "utm": utm.collect::<std::collections::BTreeMap<_, _>>(),
        },
        "answers": answers.iter().map(Answer::told).collect::<Vec<_>>(),
    })
}
