//! `cms forms submissions`: through `/api/backend/forms/submissions`

use clap::{Args, Subcommand};
use cms_core::forms::SubmissionDetail;
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        forms::{Delete, Read, WhichSubmissions},
        parameters::Moment,
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output},
    prompt,
    reply::{self, Paging},
};

#[derive(Debug, Subcommand)]
pub(crate) enum SubmissionsCommand {
    /// List submissions, newest first
    #[command(after_help = "Example: cms forms submissions list contact --spam false --all")]
    List {
        /// Only those of this form, by name or id
        form: Option<String>,
        #[command(flatten)]
        which: Which,
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
pub(crate) struct Which {
    /// Only since this date-time, such as 2026-11-21T09:30:00Z, or for this long, such as 2d
    #[arg(long, value_name = "TIME", value_parser = input::moment)]
    pub(super) since: Option<Moment>,
    /// Only before this date-time, or before this long ago
    #[arg(long, value_name = "TIME", value_parser = input::moment)]
    pub(super) until: Option<Moment>,
    /// Only those that look like a program's (true), or only the others (false)
    #[arg(long, value_name = "BOOL")]
    pub(super) spam: Option<bool>,
}

pub(super) async fn run(
    flags: &Flags,
    out: &Output,
    client: &Client,
    command: SubmissionsCommand,
) -> Done {
    match command {
        SubmissionsCommand::List { form, which, paging } => {
            let query = |limit, cursor| WhichSubmissions {
                id: None,
                form: form.clone(),
                since: which.since,
                until: which.until,
                spam: which.spam,
                limit,
                cursor,
            };
            let columns = ["id", "form", "created_at", "spam", "summary"];
            reply::list::<Read>(out, client, &paging, &columns, query).await
        }
        SubmissionsCommand::Show { id } => {
            let one = WhichSubmissions { id: Some(id), ..WhichSubmissions::default() };
            reply::record_as::<Read>(out, client, &one, &NoBody, cell).await
        }
        SubmissionsCommand::Delete { ids } => delete(flags, out, client, &ids).await,
    }
}

/// Stops at the first failure.
async fn delete(flags: &Flags, out: &Output, client: &Client, ids: &[i64]) -> Done {
    let named = ids.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    prompt::confirm(flags, &format!("Delete {named}? This cannot be undone."))?;
    for (done, id) in ids.iter().enumerate() {
        if let Err(error) = client.call::<Delete>(&reply::by_id(*id), &NoBody).await {
            let mut failure = Failure::from(error);
            if done > 0 {
                failure.exit = Exit::Partly;
                failure = failure.fact("deleted", ids[..done].to_vec());
            }
            return Err(failure);
        }
    }
    out.done(&json!({"deleted": ids}), &format!("Deleted: {named}"))
}

/// Shows answers as people read them, a line for each.
fn cell(one: &SubmissionDetail, column: &str) -> Option<String> {
    let line = |(name, text): (&str, &str)| format!("{name}: {text}");
    let lines = one.answers.iter().map(|answer| line((&answer.field, &answer.text)));
    (column == "answers").then(|| lines.collect::<Vec<_>>().join("\n"))
}
