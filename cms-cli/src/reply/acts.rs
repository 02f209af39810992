//! Entries of the audit log, for `cms audit` and `cms auth audit`.

use cms_http::client::{Ask, Client};
use serde_json::Value as Json;

use super::list::{self, Paging};
use crate::output::{
    Done, Output,
    record::{Record, text},
};

/// Prints entries, newest first. `tables` are names separated by commas; None means all.
pub(crate) async fn print(
    out: &Output,
    client: &Client,
    tables: Option<&str>,
    paging: &Paging,
) -> Done {
    let ask = Ask::get("/api/backend/audit").maybe("table", tables);
    let columns = ["id", "created_at", "actor", "action", "table", "row_id", "columns"];
    list::print_as(out, client, ask, paging, &columns, cell).await
}

/// Shows an actor as `user 3 (ana)`, and columns as a list of names.
fn cell(act: &Record, column: &str) -> String {
    match act.raw(column).map(serde_json::from_str::<Json>) {
        Some(Ok(actor)) if column == "actor" => {
            let (id, name) = (text(&actor["id"]), text(&actor["name"]));
            let name = if name.is_empty() { name } else { format!("({name})") };
            [text(&actor["kind"]), id, name]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        }
        Some(Ok(Json::Array(columns))) if column == "columns" => {
            columns.iter().map(text).collect::<Vec<_>>().join(" ")
        }
        _ => act.shown(column),
    }
}
