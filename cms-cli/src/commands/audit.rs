//! `cms audit`: who did what to which row, from `/api/backend/audit`

use clap::Subcommand;
use cms_http::client::Ask;

use crate::{
    failure::Done,
    output::Output,
    paging::{self, Paging},
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// What was done, newest first
    #[command(after_help = "Example: cms audit list --limit 20")]
    List(Paging),
}

pub(crate) async fn run(out: &Output, site: &Site, command: &AuditCommand) -> Done {
    let AuditCommand::List(paging) = command;
    let columns = ["id", "created_at", "actor", "action", "table", "row_id", "columns"];
    paging::print(out, &site.client, Ask::get("/api/backend/audit"), paging, &columns).await
}
