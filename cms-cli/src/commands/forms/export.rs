//! `cms forms export`: the table as the service makes it, part by part

use std::path::PathBuf;

use clap::Args;
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody,
        forms::{Export, Exported},
    },
};
use serde_json::json;

use super::submissions::Which;
use crate::{
    output::{Done, Failure, Output, Visible, WholeFile},
    reply::streamed::copy,
};

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
        let hint = "cms forms submissions list FORM --all --json";
        let why = "the table is CSV: with --json, name a file with --out";
        return Err(Failure::usage(why).hint(hint));
    }
    let ask = Ask::of::<Export>(&asked, &NoBody)?;
    let Some(path) = &args.out else {
        return copy(out, client, &ask, !out.table, &mut Visible::stdout(out)).await;
    };
    let mut file = WholeFile::create(path)?;
    copy(out, client, &ask, true, &mut file).await?;
    file.done()?;
    let note = format!("The submissions of {} are in {}.", args.form, path.display());
    out.done(&json!({"form": args.form, "file": path}), &note)
}
