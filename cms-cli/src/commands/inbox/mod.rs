//! `cms inbox`: what visitors of funnels sent, through `/api/backend/formfunnel`. `export` streams
//! submissions as CSV or JSON Lines; `watch` shows the newest ones, then each that comes or changes

mod change;

use std::{collections::HashMap, path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use cms_core::funnels::{FunnelSubmission, FunnelSubmissionDetail, PassedNode};
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody,
        inbox::{AssignableUsers, Export, InboxExported, Nothing, Submission, Submissions, Undo},
        parameters::{ListQuery, NoQuery},
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output, Visible, WholeFile, counted},
    reply::{
        self, Chosen, Paging,
        streamed::{Listed, copy},
    },
    signals::until_signal,
    site,
};
use change::{Choose, ViewsCommand};

#[derive(Args, Debug)]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    command: Option<InboxCommand>,
}

impl InboxArgs {
    /// Without a verb it opens the terminal interface.
    #[cfg(feature = "tui")]
    pub(crate) fn is_interface(&self) -> bool {
        self.command.is_none()
    }
}

#[derive(Debug, Subcommand)]
enum InboxCommand {
    /// List submissions, newest first
    #[command(after_help = "Examples:
  cms inbox list --where inbox_status=new --where is_spam=false
  cms inbox list --search ada --sort -score --all
  cms inbox list --view 'My leads'

Columns of --where and --sort: submission_id funnel_id funnel_name version
language_short status inbox_status is_spam is_test assigned_to assigned_name contact_name
contact_email contact_phone company summary score last_node_id last_node_name end_node_id end_kind
steps_answered progress_pct reference source_url referer utm_source utm_medium utm_campaign utm_term
utm_content mail_rule_id mail_status started_at last_activity_at completed_at abandoned_at
duration_s first_touched_at expires_at inbox_rev")]
    List {
        #[command(flatten)]
        choose: Choose,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a submission: answers, the way that it took and why, files, mails
    #[command(after_help = "Examples:
  cms inbox show 17
  cms inbox show F7K2-9QXM")]
    Show {
        /// Id of the submission, or the reference that its visitor got
        submission: String,
    },
    /// Set the state of submissions: new, qualified, contacted, converted or rejected
    #[command(after_help = "Examples:
  cms inbox set-status qualified 17 18
  cms inbox set-status rejected --where is_spam=true --expected 412")]
    SetStatus {
        /// The state
        status: String,
        #[command(flatten)]
        which: Selection,
    },
    /// Assign submissions to a user
    #[command(after_help = "Examples:
  cms inbox assign ana 17 18
  cms inbox assign nobody --where assigned_to=3 --expected 5")]
    Assign {
        /// Name or id of the user, or nobody to remove the assignment
        user: String,
        #[command(flatten)]
        which: Selection,
    },
    /// Write the notes of a submission
    #[command(after_help = "Examples:
  cms inbox note 17 'Called on Monday'
  cms inbox note 17 - < notes.txt")]
    Note {
        /// Id of the submission, or the reference that its visitor got
        submission: String,
        /// The text, which replaces the old one; - for standard input
        text: String,
        /// Only if the submission still has this inbox_rev, which cms inbox show prints
        #[arg(long, value_name = "N")]
        rev: Option<i64>,
    },
    /// Delete submissions for good, with their files and mails
    Delete {
        #[command(flatten)]
        which: Selection,
    },
    /// Undo your last change of many submissions, except where somebody has changed them since
    Undo,
    /// Erase everything that visitors sent under an address, with a receipt of what is gone
    #[command(after_help = "Examples:
  cms inbox erase ada@example.org --dry-run
  cms inbox erase ada@example.org --yes --json > receipt.json")]
    Erase {
        /// The address of mail
        email: String,
        /// Show what would be removed; remove nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Queries that you keep under a name
    #[command(subcommand)]
    Views(ViewsCommand),
    /// Write submissions with their answers, as CSV or as lines of JSON
    Export(ExportArgs),
    /// Users who can be assigned
    Users(Chosen),
    /// Print submissions as they come and change
    Watch(WatchArgs),
}

/// Submissions by their ids, or all that match.
#[derive(Args, Debug)]
pub(crate) struct Selection {
    /// Ids of the submissions, or the references that their visitors got
    #[arg(value_name = "IDS", conflicts_with_all = ["conditions", "search"])]
    submissions: Vec<String>,
    #[command(flatten)]
    matching: change::Matching,
    /// How many are expected to match: with another number nothing is changed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    expected: Option<i64>,
    /// Only if the submission, named by its id, still has this inbox_rev, which cms inbox show
    /// prints; without it a single submission is read first
    #[arg(long, value_name = "N", conflicts_with_all = ["conditions", "search", "expected"])]
    rev: Option<i64>,
}

const COLUMNS: [&str; 9] = [
    "submission_id", "funnel_name", "started_at", "status", "inbox_status", "assigned_name",
    "contact_name", "contact_email", "summary",
];

pub(crate) async fn run(flags: &Flags, out: &Output, args: InboxArgs) -> Done {
    let Some(command) = args.command else {
        return Err(Failure::usage("this build has no terminal interface").hint("cms inbox list"));
    };
    site::with(flags, out, async |site| at(flags, out, &site.client, command).await).await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: InboxCommand) -> Done {
    match command {
        InboxCommand::List { choose, paging } => {
            let asked = choose.asked(client).await?;
            let query = |limit: cms_http::wire::parameters::Limit, cursor| {
                let mut asked = asked.clone();
                (asked.limit, asked.cursor) = (Some(limit.0.to_string()), cursor);
                asked
            };
            reply::list::<Submissions>(out, client, &paging, &COLUMNS, query).await
        }
        InboxCommand::Show { submission } => {
            let one = reply::by_id(reply::named::submission(client, &submission).await?);
            reply::record_as::<Submission>(out, client, &one, &NoBody, cell).await
        }
        InboxCommand::SetStatus { status, which } => {
            change::set_status(out, client, status, which).await
        }
        InboxCommand::Assign { user, which } => change::assign(out, client, &user, which).await,
        InboxCommand::Note { submission, text, rev } => {
            let id = reply::named::submission(client, &submission).await?;
            change::note(out, client, id, &text, rev).await
        }
        InboxCommand::Delete { which } => change::delete(flags, out, client, which).await,
        InboxCommand::Undo => undo(out, client).await,
        InboxCommand::Erase { email, dry_run } => {
            change::erase(flags, out, client, email, dry_run).await
        }
        InboxCommand::Views(command) => change::views(out, client, command).await,
        InboxCommand::Users(chosen) => {
            let columns = ["id", "username"];
            let shown = (&columns[..], reply::plain as _);
            reply::chosen::<AssignableUsers>(out, client, &chosen, shown, ListQuery::page).await
        }
        InboxCommand::Export(args) => export(out, client, &args).await,
        InboxCommand::Watch(args) => watch(out, client, args).await,
    }
}

async fn undo(out: &Output, client: &Client) -> Done {
    let (answer, done) = reply::call::<Undo>(client, &NoQuery {}, &Nothing {}).await?;
    let done = done.data;
    let submissions = |count: i64| counted(count.unsigned_abs(), "submission");
    let mut text = format!("{} as before.", submissions(done.restored));
    if done.changed_since > 0 {
        let left = submissions(done.changed_since);
        text.push_str(&format!(" {left} left as they are: somebody else has changed them since."));
    }
    if done.gone > 0 {
        text.push_str(&format!(" {} deleted since.", submissions(done.gone)));
    }
    out.told(&answer.body, &text)
}

/// Shows answers, the way, files and mails, one line each, and the retention.
fn cell(one: &FunnelSubmissionDetail, column: &str) -> Option<String> {
    let lines: Vec<String> = match column {
        "kept_until" => vec![one.kept_until.clone().unwrap_or_else(|| "for good".to_owned())],
        "answers" => {
            one.answers.iter().map(|answer| format!("{}: {}", answer.field, answer.text)).collect()
        }
        "path_resolved" => one.path_resolved.iter().flat_map(passed).collect(),
        "files" => one
            .files
            .iter()
            .map(|file| {
                format!("{} ({}, {} bytes): {}", file.name, file.media_type, file.size, file.file)
            })
            .collect(),
        "mails" => one
            .mails
            .iter()
            .map(|mail| format!("{} to {}: {} ({})", mail.id, mail.to, mail.subject, mail.status))
            .collect(),
        _ => return None,
    };
    Some(lines.join("\n"))
}

fn passed(node: &PassedNode) -> Vec<String> {
    let answers: Vec<_> =
        node.answers.iter().map(|answer| format!("{}: {}", answer.field, answer.text)).collect();
    let what = if answers.is_empty() { String::new() } else { format!(": {}", answers.join(", ")) };
    let head = format!("{} {}{what}", node.kind, node.name);
    let ways = node.ways.iter().map(|way| format!("  {}", way.words));
    std::iter::once(head).chain(ways).collect()
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms inbox export leads --where status=completed --out leads.csv
  cms inbox export --format jsonl --search ada

With --json and neither --format nor --out it prints one body with all submissions.")]
pub(crate) struct ExportArgs {
    /// Id or slug of a funnel: the table then has a column for each answer
    funnel: Option<String>,
    /// As a table, or as lines of JSON [default: csv]
    #[arg(long)]
    format: Option<Format>,
    #[command(flatten)]
    choose: Choose,
    /// A table without the byte order mark that tells spreadsheets of UTF-8
    #[arg(long)]
    no_bom: bool,
    /// Write into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How submissions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values, for spreadsheets
    Csv,
    /// A JSON object a line
    Jsonl,
}

async fn export(out: &Output, client: &Client, args: &ExportArgs) -> Done {
    let chosen = args.choose.asked(client).await?;
    let is_body = out.json && args.out.is_none() && args.format.is_none();
    let is_table = !is_body && args.format != Some(Format::Jsonl);
    let asked = InboxExported {
        format: Some(if is_table { "csv" } else { "jsonl" }.to_owned()),
        funnel_id: args.funnel.clone(),
        bom: (is_table && args.no_bom).then(|| "false".to_owned()),
        sort: chosen.sort,
        search: chosen.search,
        filters: chosen.filters,
    };
    let ask = Ask::of::<Export>(&asked, &NoBody)?;
    let Some(path) = &args.out else {
        let mut to = Visible::stdout(out);
        if !is_body {
            return copy(out, client, &ask, !out.table, &mut to).await;
        }
        let mut body = Listed::begin(to)?;
        copy(out, client, &ask, false, &mut body).await?;
        return body.end();
    };
    let mut file = WholeFile::private(path)?;
    copy(out, client, &ask, true, &mut file).await?;
    file.done()?;
    let note = format!("The submissions are in {}.", path.display());
    out.done(&json!({"file": path}), &note)
}

/// Time between two requests.
const PAUSE: Duration = Duration::from_secs(2);
/// Submissions that are watched: the first page of the list.
const WATCHED: u32 = 100;

#[derive(Args, Debug)]
#[command(after_help = "Example: cms inbox watch --where is_spam=false

Prints a line for each submission: time, id, state of the visit and of the inbox, assigned user,
summary. Watches the first 100 of the list. With --json, a JSON object a line. A site that starts
again is waited for. Ctrl-C ends it.")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    choose: Choose,
    /// End after the submissions that are there
    #[arg(long)]
    no_follow: bool,
}

async fn watch(out: &Output, client: &Client, args: WatchArgs) -> Done {
    until_signal(follow(out, client, &args)).await
}

async fn follow(out: &Output, client: &Client, args: &WatchArgs) -> Done {
    let mut asked = args.choose.asked(client).await?;
    asked.limit = Some(WATCHED.to_string());
    let (mut seen, mut is_away) = (HashMap::new(), false);
    loop {
        match client.call::<Submissions>(&asked, &NoBody).await.map_err(Failure::from) {
            Err(failure) if failure.exit == Exit::Unreachable && !seen.is_empty() => {
                if !std::mem::replace(&mut is_away, true) {
                    out.note(&format!("{}; waiting for it", failure.what));
                }
            }
            page => {
                print(out, page?.data, &mut seen)?;
                is_away = false;
            }
        }
        if args.no_follow {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Prints those that are new or have changed, the oldest first.
fn print(
    out: &Output,
    page: Vec<FunnelSubmission>,
    seen: &mut HashMap<i64, FunnelSubmission>,
) -> Done {
    for one in page.iter().rev() {
        if seen.get(&one.submission_id) == Some(one) {
            continue;
        }
        if out.json {
            out.line(&serde_json::to_string(one).map_err(Failure::unexpected)?)?;
            continue;
        }
        let (id, nobody) = (one.submission_id.to_string(), "-".to_owned());
        let assigned = one.assigned_name.as_ref().unwrap_or(&nobody);
        let cells =
            [&one.last_activity_at, &id, &one.status, &one.inbox_status, assigned, &one.summary];
        out.line(&cells.map(String::as_str).join(out.gap()))?;
    }
    *seen = page.into_iter().map(|one| (one.submission_id, one)).collect();
    Ok(())
}
