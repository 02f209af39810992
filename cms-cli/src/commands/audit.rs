//! `cms audit`: who did what to which row, from `/api/backend/audit`

use clap::Subcommand;

use crate::{
    flags::Flags,
    output::{Done, Output},
    reply::{Paging, acts},
    site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Entries, newest first
    #[command(after_help = "Example: cms audit list --table blog,pages --limit 20")]
    List {
        /// Only changes of these tables, separated by commas
        #[arg(long, value_name = "A,B")]
        table: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: AuditCommand) -> Done {
    let AuditCommand::List { table, paging } = command;
    site::with(flags, out, async |site| {
        acts::print(out, &site.client, table.as_deref(), &paging).await
    })
    .await
}
