//! One SMTP dialogue (RFC 5321), on the side of the server.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, oneshot},
};

/// Bytes of a line at most: more than any command or line of a message may have.
const MOST_LINE: u64 = 4096;
/// Bytes of a message at most.
const MOST_MESSAGE: usize = 32 << 20;
/// Recipients of a mail at most.
const MOST_TO: usize = 100;
/// How long a client may be silent.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A mail as it came.
pub(super) struct Taken {
    /// Empty for the null sender.
    pub(super) from: String,
    pub(super) to: Vec<String>,
    pub(super) message: Vec<u8>,
    /// Ends when the client was told so.
    pub(super) told: oneshot::Receiver<()>,
}

struct Dialogue {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

impl Dialogue {
    /// The next line without its end; None when the client has gone or says too much.
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
            // A dot at the beginning of a line was doubled.
            message.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
            message.extend_from_slice(b"\r\n");
            if message.len() > MOST_MESSAGE {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

/// Takes mails until the client goes.
pub(super) async fn session(stream: TcpStream, sender: mpsc::Sender<Taken>) -> io::Result<()> {
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
                let taken = Taken {
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
