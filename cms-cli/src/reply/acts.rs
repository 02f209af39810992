//! Entries of the audit log, for `cms audit` and `cms auth audit`.

use cms_core::AuditRow;
use cms_http::{
    client::Client,
    wire::audit::{List, WhichAuditRows},
};

use super::list::{Paging, list_as};
use crate::output::{Done, Output};

/// Prints the entries that `which` selects, newest first; its page is that of `paging`.
pub(crate) async fn print(
    out: &Output,
    client: &Client,
    which: WhichAuditRows,
    paging: &Paging,
) -> Done {
    let columns = ["id", "created_at", "actor", "action", "table", "row_id", "columns"];
    let query = |limit, cursor| WhichAuditRows { limit, cursor, ..which.clone() };
    list_as::<List>(out, client, paging, (&columns, cell), query).await
}

/// Shows an actor as `user 3 (ana)`, and columns as a list of names.
fn cell(act: &AuditRow, column: &str) -> Option<String> {
    match column {
        "actor" => {
            let id = act.actor.id.map(|id| format!(" {id}")).unwrap_or_default();
            let name = act.actor.name.as_deref().filter(|name| !name.is_empty());
            let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
            Some(format!("{}{id}{name}", act.actor.kind))
        }
        "columns" => Some(act.columns.join(" ")),
        _ => None,
    }
}
