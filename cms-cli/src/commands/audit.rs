//! `cms audit`: who did what to which row, from `/api/backend/audit`

use clap::Subcommand;
use cms_http::client::Ask;
use serde_json::Value as Json;

use crate::{
    failure::Done,
    output::Output,
    paging::{self, Paging},
    record::{Record, text},
    site::Site,
};

pub(super) const AUDIT: &str = "/api/backend/audit";

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// What was done, newest first
    #[command(after_help = "Example: cms audit list --table blog,pages --limit 20")]
    List {
        /// Only what was done to these tables
        #[arg(long, value_name = "A,B")]
        table: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
}

pub(crate) async fn run(out: &Output, site: &Site, command: &AuditCommand) -> Done {
    let AuditCommand::List { table, paging } = command;
    print(out, site, Ask::get(AUDIT).maybe("table", table.as_deref()), paging).await
}

pub(super) async fn print(out: &Output, site: &Site, ask: Ask, paging: &Paging) -> Done {
    let columns = ["id", "created_at", "actor", "action", "table", "row_id", "columns"];
    paging::print_as(out, &site.client, ask, paging, &columns, cell).await
}

/// `user 3 (ana)` instead of JSON.
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
