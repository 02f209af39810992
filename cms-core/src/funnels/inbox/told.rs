//! What events tell of a change in the inbox: which submission, and what became of it. No answers:
//! who needs them asks for the submission.

use serde_json::{Value as Json, json};

use super::{TABLE, sql::Touched};
use crate::{Change, Result};

/// Raises an event for each submission, with a row in the audit log.
pub(super) async fn updated(
    change: &mut Change,
    touched: Vec<Touched>,
    columns: &[&str],
) -> Result<()> {
    let rows = touched.into_iter().map(|one| {
        let mut data = data(&one);
        data["changed"] = json!(columns);
        (one.id, data)
    });
    let event = "formfunnel.submission_updated";
    change.emit_each(event, ("update", TABLE, columns), rows.collect()).await
}

/// As [`updated`], for submissions that are gone.
pub(super) async fn deleted(change: &mut Change, touched: Vec<Touched>) -> Result<()> {
    let rows = touched.into_iter().map(|one| (one.id, data(&one)));
    let event = "formfunnel.submission_deleted";
    change.emit_each(event, ("delete", TABLE, &[]), rows.collect()).await
}

fn data(one: &Touched) -> Json {
    json!({
        "funnel": {
            "id": one.funnel,
            "slug": one.slug,
            "name": one.name,
            "language_short": one.language,
            "version": one.version,
        },
        "submission": {
            "id": one.id,
            "status": one.status,
            "reference": one.reference,
            "inbox_status": one.inbox_status,
            "assigned_to": one.assigned_to,
        },
    })
}
