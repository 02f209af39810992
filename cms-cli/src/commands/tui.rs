//! `cms tui`: the terminal interface

use std::io::{self, IsTerminal};

use clap::Args;

use crate::{
    flags::Flags,
    output::{Done, Failure, Output},
    site::Site,
    target::Target,
};

#[derive(Args, Debug)]
pub(crate) struct TuiArgs {
    /// Tables to show; without any, all known tables
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
}

pub(crate) async fn run(flags: &Flags, out: &Output, args: TuiArgs) -> Done {
    if out.json || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::usage("cms tui needs a terminal")
            .hint("cms items list TABLE prints the same in a pipe"));
    }
    let target = Target::of(flags)?;
    let site = Site::open(flags, &target, out).await?;
    let tables = if args.tables.is_empty() { known_tables(&site) } else { args.tables };
    let ended = cms_tui::run(site.client.clone(), target.to_string(), tables).await;
    site.close().await;
    Ok(ended?)
}

/// The content tables. Over the network only those that every site has are known.
fn known_tables(site: &Site) -> Vec<String> {
    let known =
        site.cms.as_ref().map(|cms| cms.tables().iter().map(|table| table.name.clone()).collect());
    known.unwrap_or_else(|| ["menu_items", "pages", "settings"].map(str::to_owned).to_vec())
}
