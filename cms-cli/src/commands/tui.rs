//! `cms tui`: the terminal interface

use std::io::{self, IsTerminal};

use clap::Args;

use crate::{
    args::Global,
    failure::{Done, Failure},
    output::Output,
    site::Site,
};

#[derive(Args, Debug)]
pub(crate) struct TuiArgs {
    /// Tables to show; without any, all that are known
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
}

#[cfg(feature = "tui")]
pub(crate) async fn run(global: &Global, out: &Output, args: TuiArgs) -> Done {
    if out.json || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::usage("cms tui needs a terminal").hint("cms items list TABLE shows the same in a pipe"));
    }
    let site = Site::open(global, out).await?;
    let tables = if args.tables.is_empty() { site.tables() } else { args.tables };
    let place = global.url.clone().unwrap_or_else(|| global.dir.display().to_string());
    let ended = cms_tui::run(site.client.clone(), place, tables).await;
    site.close().await;
    Ok(ended?)
}

#[cfg(not(feature = "tui"))]
pub(crate) async fn run(_: &Global, _: &Output, _: TuiArgs) -> Done {
    Err(Failure::usage("this build has no terminal interface").hint("cargo install cms-cli --features tui"))
}
