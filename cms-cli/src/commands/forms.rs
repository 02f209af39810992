//! `cms forms`: forms as records of `forms`, and what visitors submitted

use std::path::PathBuf;

use clap::{Args, Subcommand};
use cms_core::forms::SubmissionDetail;
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody,
        forms::{Delete, Export, Exported, Read, WhichSubmissions},
        item::{self, WhichItems},
        parameters::Moment,
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output, Visible, WholeFile},
    prompt,
    reply::{self, Paging, Saved, streamed::copy},
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum FormsCommand {
    /// List forms
    List(Paging),
    /// Show a form with its fields
    Show(Named),
    /// Make a form from a JSON object: name, fields and more, see docs/forms.md
    #[command(after_help = "Example:
  echo '{\"name\":\"contact\",\"fields\":[{\"id\":\"mail\",\"type\":\"email\"}]}' \\
    | cms forms create -")]
    Create {
        /// File with the JSON; - for standard input
        file: PathBuf,
    },
    /// Change the columns named in a JSON object
    #[command(after_help = "Example: echo '{\"active\":false}' | cms forms edit contact -")]
    Edit {
        /// Name or id of the form
        form: String,
        /// File with the JSON; - for standard input
        file: PathBuf,
    },
    /// Delete a form for good, with its submissions
    Delete(Named),
    /// What visitors submitted
    #[command(subcommand)]
    Submissions(SubmissionsCommand),
    /// Write the submissions of a form as CSV, newest first
    Export(ExportArgs),
}

/// A form.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Name or id of the form
    form: String,
}

pub(crate) async fn run(flags: &Flags, out: &Output, site: &Site, command: FormsCommand) -> Done {
    let client = &site.client;
    match command {
        FormsCommand::List(paging) => {
            let columns = ["id", "name", "title", "active", "min_seconds", "retention_days"];
            let query = |limit: cms_http::wire::parameters::Limit, cursor| WhichItems {
                table: "forms".to_owned(),
                limit: Some(limit.0.to_string()),
                cursor,
                ..WhichItems::default()
            };
            reply::list::<item::Read>(out, client, &paging, &columns, query).await
        }
        FormsCommand::Show(Named { form }) => reply::shown(out, &find(client, &form).await?.answer),
        FormsCommand::Create { file } => {
            let ask = Ask::post(ITEM).query("table", "forms").text(input::text(&file)?);
            reply::shown(out, &client.send(ask).await?)
        }
        FormsCommand::Edit { form, file } => {
            let body = input::text(&file)?;
            let saved = find(client, &form).await?;
            let ask = row(Ask::patch(ITEM), saved.id).text(body).if_match(saved.answer.etag);
            reply::shown(out, &client.send(ask).await?)
        }
        FormsCommand::Delete(Named { form }) => {
            let saved = find(client, &form).await?;
            prompt::confirm(flags, &format!("Delete the form {form} with its submissions?"))?;
            let ask = row(Ask::delete(ITEM), saved.id).if_match(saved.answer.etag);
            client.send(ask).await?;
            out.done(&json!({"deleted": [saved.id]}), &format!("The form {form} is deleted."))
        }
        FormsCommand::Submissions(SubmissionsCommand::List { form, which, paging }) => {
            let query = |limit, cursor| WhichSubmissions {
                form: form.clone(),
                since: which.since,
                until: which.until,
                spam: which.spam,
                limit,
                cursor,
                ..WhichSubmissions::default()
            };
            let columns = ["id", "form", "created_at", "spam", "summary"];
            reply::list::<Read>(out, client, &paging, &columns, query).await
        }
        FormsCommand::Submissions(SubmissionsCommand::Show { id }) => {
            let one = WhichSubmissions { id: Some(id), ..WhichSubmissions::default() };
            reply::record_as::<Read>(out, client, &one, &NoBody, cell).await
        }
        FormsCommand::Submissions(SubmissionsCommand::Delete { ids }) => {
            let names = ids.iter().map(i64::to_string).collect::<Vec<_>>();
            let what = ("submission", "? This cannot be undone.");
            reply::delete::<Delete>(flags, out, client, (&ids, &names), what).await
        }
        FormsCommand::Export(args) => export(out, client, &args).await,
    }
}

const ITEM: &str = "/api/backend/item";

fn row(ask: Ask, id: i64) -> Ask {
    ask.query("table", "forms").query("id", id)
}

/// Finds a form by its id or its name.
async fn find(client: &Client, form: &str) -> Done<Saved> {
    let id = match form.parse() {
        // A number is always an id: forms have no numbers as names.
        Ok(id) => id,
        Err(_) => {
            let found = reply::named::records(client, "forms", "name", form).await?;
            found.first().copied().ok_or_else(|| {
                Failure::new(Exit::NotFound, format!("there is no form {form}"))
                    .hint("cms forms list")
            })?
        }
    };
    Ok(Saved { id, answer: client.send(row(Ask::get(ITEM), id)).await? })
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubmissionsCommand {
    /// List submissions, newest first
    #[command(after_help = "Example: cms forms submissions list contact --spam false --all")]
    List {
        /// Only those of this form, by name or id
        form: Option<String>,
        #[command(flatten)]
        which: SubmissionFilter,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a submission with its answers
    Show {
        /// Id of the submission
        id: i64,
    },
    /// Delete submissions for good
    Delete {
        /// Ids of the submissions
        #[arg(required = true)]
        ids: Vec<i64>,
    },
}

/// Flags that choose submissions.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct SubmissionFilter {
    /// Only since this date-time, such as 2026-11-21T09:30:00Z, or for this long, such as 2d
    #[arg(long, value_name = "TIME", value_parser = input::moment)]
    since: Option<Moment>,
    /// Only before this date-time, or before this long ago
    #[arg(long, value_name = "TIME", value_parser = input::moment)]
    until: Option<Moment>,
    /// Only those that look like a program's (true), or only the others (false)
    #[arg(long, value_name = "BOOL")]
    spam: Option<bool>,
}

/// Shows answers as readable text, one line each.
fn cell(one: &SubmissionDetail, column: &str) -> Option<String> {
    let line = |(name, text): (&str, &str)| format!("{name}: {text}");
    let lines = one.answers.iter().map(|answer| line((&answer.field, &answer.text)));
    (column == "answers").then(|| lines.collect::<Vec<_>>().join("\n"))
}

#[derive(Args, Debug)]
#[command(after_help = "Example: cms forms export contact --spam false --out contact.csv")]
pub(crate) struct ExportArgs {
    /// Name or id of the form
    form: String,
    #[command(flatten)]
    which: SubmissionFilter,
    /// A table without the byte order mark that tells spreadsheets of UTF-8
    #[arg(long)]
    no_bom: bool,
    /// Write into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

async fn export(out: &Output, client: &Client, args: &ExportArgs) -> Done {
    let SubmissionFilter { since, until, spam } = args.which;
    let bom = args.no_bom.then_some(false);
    let asked = Exported { form: args.form.clone(), since, until, spam, bom };
    if out.json && args.out.is_none() {
        let hint = "cms forms submissions list FORM --all --json";
        let why = "the table is CSV: with --json, name a file with --out";
        return Err(Failure::usage(why).hint(hint));
    }
    let ask = Ask::of::<Export>(&asked, &NoBody)?;
    let Some(path) = &args.out else {
        return copy(out, client, &ask, !out.table, &mut Visible::stdout(out)).await;
    };
    let mut file = WholeFile::private(path)?;
    copy(out, client, &ask, true, &mut file).await?;
    file.done()?;
    let note = format!("The submissions of {} are in {}.", args.form, path.display());
    out.done(&json!({"form": args.form, "file": path}), &note)
}
