//! `cms tui`: the terminal interface

use std::io::{self, IsTerminal};

use clap::Args;
use cms_http::{
    client::Client,
    wire::{
        NoBody, OneOrPage,
        parameters::Limit,
        tables::{Asked, Read},
    },
};

use crate::{
    flags::Flags,
    output::{Done, Failure, Output},
    reply::LARGEST_PAGE,
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
    let tables =
        if args.tables.is_empty() { known_tables(&site.client).await } else { args.tables };
    let ended = cms_tui::run(site.client.clone(), target.to_string(), tables).await;
    site.close().await;
    Ok(ended?)
}

/// The content tables that the caller may read. Without the right to list them, those that every
/// site has.
async fn known_tables(client: &Client) -> Vec<String> {
    let everyones = || ["menu_items", "pages", "settings"].map(str::to_owned).to_vec();
    listed_tables(client).await.unwrap_or_else(|_| everyones())
}

async fn listed_tables(client: &Client) -> Done<Vec<String>> {
    let (mut names, mut cursor) = (Vec::new(), None);
    loop {
        let asked = Asked { name: None, limit: Limit(LARGEST_PAGE), cursor };
        let OneOrPage::Page(page) = client.call::<Read>(&asked, &NoBody).await? else {
            return Err(Failure::unexpected("it holds no list"));
        };
        names.extend(page.data.into_iter().map(|table| table.name));
        cursor = page.meta.next;
        if cursor.is_none() {
            return Ok(names);
        }
    }
}
