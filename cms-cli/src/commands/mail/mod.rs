//! `cms mail`: mails, their attempts and providers, through `/api/backend/mail`

mod sink;

use clap::{Subcommand, ValueEnum};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        mail::{Log, MailIds, MailStatus, Providers, Retry, Test, TestMail, WhichMails},
        parameters::{Moment, NoQuery},
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output, counted, table},
    reply::{self, Paging},
    site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum MailCommand {
    /// List the providers in the order in which they are tried, and how they do
    Providers,
    /// Send a test mail now, and tell what each provider said
    #[command(after_help = "Examples:
  cms mail test ana@example.org
  cms mail test ana@example.org --provider smtp

It is tried once. The exit code is 0 when a provider took the mail over, else 1.")]
    Test {
        /// Address that gets it
        to: String,
        /// Only through this provider: transactional, newsletter or smtp
        #[arg(long, value_name = "NAME")]
        provider: Option<String>,
    },
    /// List mails, newest first
    #[command(after_help = "Example:
  cms mail log --status failed --since 2d")]
    Log {
        /// Only mails in this state
        #[arg(long)]
        status: Option<Status>,
        /// Only mails to this address
        #[arg(long, value_name = "ADDRESS")]
        to: Option<String>,
        /// Only mails of this purpose, such as form.notice
        #[arg(long)]
        purpose: Option<String>,
        /// Only since this date-time, such as 2026-11-21T09:30:00Z, or for this long, such as 2d
        #[arg(long, value_name = "TIME", value_parser = input::moment)]
        since: Option<Moment>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a mail with its bodies and attempts
    Show {
        /// Id of the mail
        id: i64,
    },
    /// Send mails again that were given up, and mails that wait now
    Retry {
        /// Ids of the mails; all or none are sent again
        #[arg(required = true)]
        ids: Vec<i64>,
    },
    /// Take mails over SMTP on this machine and show them; nothing is sent on
    Sink(sink::SinkArgs),
}

/// The state of a mail.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Status {
    /// Waits for its next attempt
    Queued,
    /// A process sends it
    Sending,
    /// A provider took it over
    Sent,
    /// Was given up, or refused for good
    Failed,
    /// An automatic reply that may not be sent
    Dropped,
}

impl From<Status> for MailStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Queued => Self::Queued,
            Status::Sending => Self::Sending,
            Status::Sent => Self::Sent,
            Status::Failed => Self::Failed,
            Status::Dropped => Self::Dropped,
        }
    }
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: MailCommand) -> Done {
    match command {
        MailCommand::Sink(args) => sink::run(out, args).await,
        command => site::with(flags, out, async |site| at(out, &site.client, command).await).await,
    }
}

async fn at(out: &Output, client: &Client, command: MailCommand) -> Done {
    match command {
        MailCommand::Providers => {
            reply::printed::<Providers>(out, client, &NoQuery {}, &NoBody, |found| {
                if found.data.is_empty() {
                    out.note("No provider is configured: set mail.smtp_url or another one.");
                }
                let columns =
                    ["place", "name", "kind", "server", "state", "faults", "rests_until", "reason"];
                table::records(out, &columns, &found.data)
            })
            .await
        }
        MailCommand::Test { to, provider } => test(out, client, TestMail { to, provider }).await,
        MailCommand::Log { status, to, purpose, since, paging } => {
            let query = |limit, cursor| WhichMails {
                status: status.map(MailStatus::from),
                to: to.clone(),
                purpose: purpose.clone(),
                since,
                limit,
                cursor,
                ..WhichMails::default()
            };
            let columns = ["id", "created_at", "purpose", "to", "subject", "status", "reason"];
            reply::list::<Log>(out, client, &paging, &columns, query).await
        }
        MailCommand::Show { id } => {
            let which = WhichMails { id: Some(id), ..WhichMails::default() };
            reply::record::<Log>(out, client, &which, &NoBody).await
        }
        MailCommand::Retry { ids } => {
            let (answer, done) =
                reply::call::<Retry>(client, &NoQuery {}, &MailIds { ids }).await?;
            out.told(&answer.body, &format!("{} due now.", counted(done.data.queued, "mail")))
        }
        // It needs no site.
        MailCommand::Sink(args) => sink::run(out, args).await,
    }
}

/// Sends a test mail and tells what became of it.
async fn test(out: &Output, client: &Client, asked: TestMail) -> Done {
    let (answer, tested) = reply::call::<Test>(client, &NoQuery {}, &asked).await?;
    let detail = tested.data;
    if out.json {
        out.line(&answer.body)?;
    } else {
        for attempt in &detail.attempts {
            let why = attempt.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            out.note(&format!("{} {}{why}", attempt.provider, attempt.outcome));
        }
    }
    let mail = detail.mail;
    if mail.status == "sent" {
        let by = mail.provider.unwrap_or_default();
        if !out.json {
            out.note(&format!("The mail {} to {} was sent by {by}.", mail.id, mail.to));
        }
        return Ok(());
    }
    let why = mail.reason.map(|why| format!(": {why}")).unwrap_or_default();
    let ended = format!("the mail {} is {}{why}", mail.id, mail.status);
    Err(Failure::new(Exit::Failed, ended).fact("mail", json!(mail.id)))
}
