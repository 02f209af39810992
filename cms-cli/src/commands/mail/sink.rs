//! `cms mail sink`: an SMTP server on this machine that shows what comes

mod session;

use std::{io, time::Duration};

use clap::Args;
use serde_json::json;
use tokio::sync::mpsc;

use self::session::{Taken, session};
use crate::{
    loopback::Loopback,
    output::{Done, Output},
    signals::Signals,
};

/// Connections at once, and mails that wait to be shown.
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

pub(super) async fn run(out: &Output, args: SinkArgs) -> Done {
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
    // Clients say goodbye; one that does not is not waited for.
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, loopback.all_gone()).await;
    Ok(())
}

fn show(out: &Output, mail: &Taken, body: bool) -> io::Result<()> {
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

/// The value of a header, on one line, as it travelled.
fn header(message: &str, name: &str) -> Option<String> {
    let head = message.split("\r\n\r\n").next().unwrap_or_default();
    let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    unfolded.split("\r\n").find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
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
