//! `cms forms export`: the table as the service makes it, part by part

use std::{io::Write, path::PathBuf};

use clap::Args;
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody,
        forms::{Export, Exported},
    },
};
use futures_util::StreamExt as _;
use serde_json::json;

use super::submissions::Which;
use crate::output::{Done, Failure, Output, Visible, WholeFile};

#[derive(Args, Debug)]
#[command(after_help = "Example: cms forms export contact --spam false --out contact.csv")]
pub(crate) struct ExportArgs {
    /// Name or id of the form
    form: String,
    #[command(flatten)]
    which: Which,
    /// Write into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn run(out: &Output, client: &Client, args: &ExportArgs) -> Done {
    let Which { since, until, spam } = args.which;
    let asked = Exported { form: args.form.clone(), since, until, spam };
    if out.json && args.out.is_none() {
        return Err(Failure::usage("the table is CSV: with --json, name a file with --out"));
    }
    let ask = Ask::of::<Export>(&asked, &NoBody)?;
    let Some(path) = &args.out else {
        return copy(client, &ask, &mut Visible::stdout(out)).await;
    };
    let mut file = WholeFile::create(path)?;
    copy(client, &ask, &mut file).await?;
    file.done()?;
    let note = format!("The submissions of {} are in {}.", args.form, path.display());
    out.done(&json!({"form": args.form, "file": path}), &note)
}

async fn copy(client: &Client, ask: &Ask, to: &mut impl Write) -> Done {
    let mut parts = client.stream(ask).await?;
    while let Some(part) = parts.next().await {
        to.write_all(&part?)?;
    }
    Ok(to.flush()?)
}
