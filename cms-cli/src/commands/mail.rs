//! `cms mail`: mails, their attempts and providers, through `/api/backend/mail`. `cms mail sink` is
//! an SMTP server on this machine that shows the mails it gets (RFC 5321)

use std::{io, time::Duration};

use clap::{Args, Subcommand};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        mail::{Log, MailIds, MailStatus, Providers, Retry, Test, TestMail, WhichMails},
        parameters::{Moment, NoQuery},
    },
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, oneshot},
};

use crate::{
    flags::Flags,
    input,
    loopback::Loopback,
    output::{Done, Exit, Failure, Output, counted, table},
    reply::{self, Paging},
    signals::Signals,
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
        #[arg(long, value_parser = input::one_of(&STATES, MailStatus::name))]
        status: Option<MailStatus>,
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
    Sink(SinkArgs),
}

/// The states of a mail.
const STATES: [(MailStatus, &str); 5] = [
    (MailStatus::Queued, "Waits for its next attempt"),
    (MailStatus::Sending, "A process sends it"),
    (MailStatus::Sent, "A provider took it over"),
    (MailStatus::Failed, "Was given up, or refused for good"),
    (MailStatus::Dropped, "An automatic reply that may not be sent"),
];

pub(crate) async fn run(flags: &Flags, out: &Output, command: MailCommand) -> Done {
    match command {
        MailCommand::Sink(args) => sink(out, args).await,
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
                status,
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
        MailCommand::Sink(args) => sink(out, args).await,
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

/// The most connections at once, and the most mails that wait to be shown.
const PLACES: u32 = 64;
/// How long the end waits for clients.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms mail sink
  CMS_MAIL__SMTP_URL=smtp://127.0.0.1:1025 CMS_MAIL__FROM=shop@example.org cms serve
  cms mail sink --port 0 --json --count 3

The line `listening smtp://127.0.0.1:PORT` on standard error tells that it takes mails. Then it
prints a line for each mail: sender, recipients, bytes, subject. With --json each line is an object
that also holds the whole message.")]
pub(crate) struct SinkArgs {
    /// Port of 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 1025)]
    port: u16,
    /// End after this many mails
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print the messages too
    #[arg(long)]
    body: bool,
}

async fn sink(out: &Output, args: SinkArgs) -> Done {
    let loopback = Loopback::listen(args.port, PLACES).await?;
    let mut signals = Signals::open()?;
    let (sender, mut taken) = mpsc::channel(PLACES as usize);
    out.always(&format!("listening smtp://{}", loopback.address()?));
    let mut left = args.count;
    while left != Some(0) {
        tokio::select! {
            (place, stream) = loopback.accept() => {
                let sender = sender.clone();
                tokio::spawn(async move {
                    let _ = session(stream, sender).await;
                    drop(place);
                });
            }
            Some(mail) = taken.recv() => {
                show(out, &mail, args.body)?;
                left = left.map(|left| left - 1);
                if left == Some(0) {
                    let _ = mail.told.await;
                }
            }
            () = signals.next() => return Ok(()),
        }
    }
    // Clients get time to say QUIT; one that does not is cut off.
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, loopback.all_gone()).await;
    Ok(())
}

fn show(out: &Output, mail: &ReceivedMail, body: bool) -> io::Result<()> {
    let message = String::from_utf8_lossy(&mail.message);
    let subject = header(&message, "subject");
    if out.json {
        let line = json!({
            "from": mail.from,
            "to": mail.to,
            "bytes": mail.message.len(),
            "subject": subject,
            "message_id": header(&message, "message-id"),
            "message": message,
        });
        return out.line(&line.to_string());
    }
    let from = if mail.from.is_empty() { "<>" } else { &mail.from };
    let (to, bytes) = (mail.to.join(","), mail.message.len().to_string());
    let columns = [from, &to, &bytes, subject.as_deref().unwrap_or_default()];
    out.line(&columns.join(out.gap()))?;
    if body { out.line(&message.replace("\r\n", "\n")) } else { Ok(()) }
}

/// The value of a header as it was sent, on one line.
fn header(message: &str, name: &str) -> Option<String> {
    let head = message.split("\r\n\r\n").next().unwrap_or_default();
    let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    unfolded.split("\r\n").find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

/// The longest line that is read; SMTP allows shorter ones only.
const MOST_LINE: u64 = 4096;
/// The most bytes of a message.
const MOST_MESSAGE: usize = 32 << 20;
/// Recipients of a mail at most.
const MOST_TO: usize = 100;
/// How long a client may be silent.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A mail as it came.
struct ReceivedMail {
    /// Empty for the null sender.
    from: String,
    to: Vec<String>,
    message: Vec<u8>,
    /// Ends when the client has got its reply.
    told: oneshot::Receiver<()>,
}

struct Dialogue {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

impl Dialogue {
    /// The next line without its end; None when the client has gone or the line is too long.
    async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut limited = (&mut self.reader).take(MOST_LINE);
        let read = limited.read_until(b'\n', &mut line);
        tokio::time::timeout(IDLE_TIMEOUT, read).await.map_err(io::Error::other)??;
        if line.pop() != Some(b'\n') {
            return Ok(None);
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(line))
    }

    async fn say(&mut self, text: &str) -> io::Result<()> {
        self.writer.write_all(format!("{text}\r\n").as_bytes()).await
    }

    /// The message after DATA; None when it is too long or the client has gone.
    async fn message(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut message = Vec::new();
        while let Some(line) = self.line().await? {
            if line == b"." {
                return Ok(Some(message));
            }
            // Removes the doubled dot at the beginning of a line.
            message.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
            message.extend_from_slice(b"\r\n");
            if message.len() > MOST_MESSAGE {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

/// Takes mails until the client leaves.
async fn session(stream: TcpStream, sender: mpsc::Sender<ReceivedMail>) -> io::Result<()> {
    let (reader, writer) = stream.into_split();
    let mut client = Dialogue { reader: BufReader::new(reader), writer };
    client.say("220 cms mail sink").await?;
    let (mut from, mut to): (Option<String>, Vec<String>) = (None, Vec::new());
    while let Some(line) = client.line().await? {
        let line = String::from_utf8_lossy(&line).into_owned();
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        match verb.as_str() {
            "EHLO" => {
                let size = format!("250-SIZE {MOST_MESSAGE}");
                for line in ["250-cms", &size, "250-8BITMIME", "250 SMTPUTF8"] {
                    client.say(line).await?;
                }
            }
            "HELO" | "RSET" => {
                (from, to) = (None, Vec::new());
                client.say("250 ok").await?;
            }
            "NOOP" => client.say("250 ok").await?,
            "MAIL" => {
                (from, to) = (path(&line), Vec::new());
                let is_one = from.is_some();
                client.say(if is_one { "250 ok" } else { "501 MAIL FROM:<address>" }).await?;
            }
            "RCPT" if from.is_some() && to.len() < MOST_TO => match path(&line) {
                Some(address) => {
                    to.push(address);
                    client.say("250 ok").await?;
                }
                None => client.say("501 RCPT TO:<address>").await?,
            },
            "DATA" if !to.is_empty() => {
                client.say("354 go on, end with a dot").await?;
                let Some(message) = client.message().await? else {
                    return client.say("552 too long").await;
                };
                let (telling, told) = oneshot::channel();
                let taken = ReceivedMail {
                    from: from.take().unwrap_or_default(),
                    to: std::mem::take(&mut to),
                    message,
                    told,
                };
                if sender.send(taken).await.is_err() {
                    return client.say("421 the sink has ended").await;
                }
                client.say("250 taken").await?;
                let _ = telling.send(());
            }
            "QUIT" => return client.say("221 bye").await,
            "RCPT" | "DATA" => client.say("503 something is missing before").await?,
            _ => client.say("502 unknown command").await?,
        }
    }
    Ok(())
}

/// The address between `<` and `>`.
fn path(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('<')?;
    Some(rest.split_once('>')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_unfolded_and_bodies_are_none() {
        let message = "From: a\r\nSUBJECT: one\r\n two\r\n\r\nX-Body: no\r\n";
        assert_eq!(header(message, "subject").as_deref(), Some("one two"));
        assert_eq!(header(message, "x-body"), None);
    }
}
