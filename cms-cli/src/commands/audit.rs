//! `cms audit`: who did what to which row, from `/api/backend/audit`

use clap::Subcommand;
use cms_http::wire::{audit::WhichAuditRows, parameters::Moment};

use crate::{
    flags::Flags,
    input,
    output::{Done, Output},
    reply::{self, Paging},
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Entries, newest first
    #[command(after_help = "Examples:
  cms audit list --table blog,pages --limit 20
  cms audit list --table blog --id 7
  cms audit list --actor user:3 --since 2d")]
    List {
        /// Only changes of these tables, separated by commas
        #[arg(long, value_name = "A,B")]
        table: Option<String>,
        /// Only changes of the row with this id
        #[arg(long, value_name = "ID", requires = "table")]
        id: Option<String>,
        /// Only what user:ID or key:ID did, or operator, system, visitor or application
        #[arg(long)]
        actor: Option<String>,
        /// Only since this date-time, such as 2026-11-21T09:30:00Z, or for this long, such as 2d
        #[arg(long, value_name = "TIME", value_parser = input::moment)]
        since: Option<Moment>,
        /// Only before this date-time, or until this long ago
        #[arg(long, value_name = "TIME", value_parser = input::moment)]
        until: Option<Moment>,
        #[command(flatten)]
        paging: Paging,
    },
}

pub(crate) async fn run(_: &Flags, out: &Output, site: &Site, command: AuditCommand) -> Done {
    let AuditCommand::List { table, id, actor, since, until, paging } = command;
    let which = WhichAuditRows { table, id, actor, since, until, ..WhichAuditRows::default() };
    reply::acts(out, &site.client, which, &paging).await
}
