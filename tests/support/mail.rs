//! Mails of a site, and providers on loopback whose answers a test chooses.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use cms_core::{
    Actor, Secret,
    mail::{LoggedDetail, Mail, MailAddress, Subject},
    settings::{MailProvider, MailSettings, Settings},
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use super::{Answer, Delivery, Receiver, Site};

/// A mail that a mail server took.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Empty for the null sender.
    pub from: String,
    pub to: Vec<String>,
    pub message: String,
}

impl Taken {
    /// The value of a header, unfolded.
    pub fn header(&self, name: &str) -> Option<String> {
        let head = self.message.split("\r\n\r\n").next().unwrap();
        let unfolded = head.replace("\r\n ", " ");
        let mut lines = unfolded.split("\r\n").filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
    }
}

/// What a mail server says.
#[derive(Clone, Copy, Debug)]
pub enum Say {
    /// Takes every mail.
    Take,
    /// This, instead of its greeting.
    Greeting(&'static str),
    /// This, to each recipient.
    To(&'static str),
    /// This, after the message.
    Data(&'static str),
    /// Nothing, after the message, which it holds.
    Silence,
    /// It takes the message once [`Smtp::open`] was called.
    Wait,
    /// It takes the message after so many seconds.
    Scan(u64),
    /// Nothing at all.
    Mute,
    /// Takes every mail, without SMTPUTF8.
    Ascii,
    /// Letters without end.
    Flood,
}

type Script = Arc<dyn Fn(usize) -> Say + Send + Sync>;

/// A mail server without TLS.
pub struct Smtp {
    pub url: String,
    got: Arc<Got>,
    connections: Arc<Mutex<usize>>,
}

/// What a mail server got.
struct Got {
    taken: Mutex<Vec<Taken>>,
    /// Messages that it did not answer.
    held: Mutex<Vec<Taken>>,
    /// Closed while messages wait to be taken.
    gate: Semaphore,
}

impl Smtp {
    pub async fn start(say: Say) -> Self {
        Self::scripted(move |_| say).await
    }

    /// `say` gets the number of the connection, from 0.
    pub async fn scripted(say: impl Fn(usize) -> Say + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}", listener.local_addr().unwrap());
        let gate = Semaphore::new(0);
        let got = Arc::new(Got { taken: Mutex::default(), held: Mutex::default(), gate });
        let connections = Arc::<Mutex<usize>>::default();
        let (kept, count, script): (_, _, Script) =
            (got.clone(), connections.clone(), Arc::new(say));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = {
                    let mut count = count.lock().unwrap();
                    *count += 1;
                    *count - 1
                };
                tokio::spawn(dialogue(stream, script(number), kept.clone()));
            }
        });
        Self { url, got, connections }
    }

    pub fn taken(&self) -> Vec<Taken> {
        self.got.taken.lock().unwrap().clone()
    }

    /// The messages that it got and did not answer.
    pub fn held(&self) -> Vec<Taken> {
        self.got.held.lock().unwrap().clone()
    }

    /// Takes the messages that wait, and all later ones.
    pub fn open(&self) {
        self.got.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// Waits until so many have connected.
    pub async fn reached(&self, connections: usize) {
        let all = async {
            while self.connections() < connections {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let reached = tokio::time::timeout(Duration::from_secs(120), all).await;
        reached.unwrap_or_else(|_| panic!("{} connections", self.connections()));
    }

    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

/// One dialogue; None when the client has gone.
async fn dialogue(stream: TcpStream, say: Say, got: Arc<Got>) -> Option<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader);
    let greeting = match say {
        Say::Flood => loop {
            writer.write_all(&[b'x'; 8192]).await.ok()?;
        },
        Say::Mute => {
            let _ = lines.read_u8().await;
            return None;
        }
        Say::Greeting(text) => text,
        _ => "220 test",
    };
    writer.write_all(format!("{greeting}\r\n").as_bytes()).await.ok()?;
    let (mut from, mut to) = (String::new(), Vec::new());
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let path = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        let path = path.map(|(path, _)| path.to_owned()).unwrap_or_default();
        let reply = match (line[..4.min(line.len())].to_uppercase().as_str(), say) {
            ("EHLO", Say::Ascii) => "250-test\r\n250 8BITMIME",
            ("EHLO", _) => "250-test\r\n250-8BITMIME\r\n250 SMTPUTF8",
            ("MAIL", _) => {
                from = path;
                "250 ok"
            }
            ("RCPT", Say::To(text)) => text,
            ("RCPT", _) => {
                to.push(path);
                "250 ok"
            }
            ("DATA", _) => {
                writer.write_all(b"354 go on\r\n").await.ok()?;
                let message = message(&mut lines).await?;
                let (from, to) = (std::mem::take(&mut from), std::mem::take(&mut to));
                let mail = Taken { from, to, message };
                match say {
                    Say::Scan(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                    Say::Wait => got.gate.acquire().await.unwrap().forget(),
                    _ => {}
                }
                match say {
                    Say::Data(text) => text,
                    Say::Silence => {
                        got.held.lock().unwrap().push(mail);
                        // Until the client goes.
                        let _ = lines.read_u8().await;
                        return None;
                    }
                    _ => {
                        got.taken.lock().unwrap().push(mail);
                        "250 taken as 7"
                    }
                }
            }
            ("QUIT", _) => "221 bye",
            _ => "250 ok",
        };
        writer.write_all(format!("{reply}\r\n").as_bytes()).await.ok()?;
    }
}

async fn message(lines: &mut (impl AsyncBufReadExt + Unpin)) -> Option<String> {
    let mut message = String::new();
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if line == ".\r\n" {
            return Some(message);
        }
        message.push_str(line.strip_prefix('.').unwrap_or(&line));
    }
}

/// A reply in JSON.
pub fn json_reply(status: u16, body: &str) -> Answer {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close");
    Answer::Raw(format!("{head}\r\n\r\n{body}").into_bytes())
}

/// A provider over HTTP that takes every mail, as one of these kinds would.
pub async fn provider() -> Receiver {
    Receiver::scripted(|number, _| taken(number)).await
}

/// As [`provider`], but it answers 503 until this is true.
pub async fn failing_provider() -> (Receiver, Arc<AtomicBool>) {
    let works = Arc::new(AtomicBool::new(false));
    let seen = works.clone();
    let provider = Receiver::scripted(move |number, _| match seen.load(Ordering::SeqCst) {
        true => taken(number),
        false => Answer::Status(503),
    });
    (provider.await, works)
}

/// The reply of a provider that takes a mail.
pub fn taken(number: usize) -> Answer {
    let body = json!({"MessageID": format!("p{number}"), "messageId": "b", "id": number});
    json_reply(200, &body.to_string())
}

/// The ids of the mails that arrived at a provider of the kind `json`.
pub fn ids(deliveries: &[Delivery]) -> Vec<String> {
    let id = |delivery: &Delivery| delivery.json()["message_id"].as_str().unwrap().to_owned();
    deliveries.iter().map(id).collect()
}

/// Settings of a provider over HTTP.
pub fn over_http(kind: &str, url: &str) -> MailProvider {
    let mut provider = MailProvider::default();
    provider.kind = Some(kind.to_owned());
    provider.url = Some(url.to_owned());
    provider.token = Some(Secret::new("t0ken"));
    provider
}

/// Sends as `shop@example.org`.
pub fn from_shop(settings: &mut Settings) {
    settings.mail.from = Some("Shop <shop@example.org>".to_owned());
}

/// A site that sends as `shop@example.org`, with these settings of mails.
pub async fn mailing(change: impl FnOnce(&mut MailSettings)) -> Site {
    let settings = |settings: &mut Settings| {
        from_shop(settings);
        change(&mut settings.mail);
    };
    Site::builder().await.settings(settings).open().await
}

/// A site that sends mails to this server.
pub async fn site_with(smtp: &str) -> Site {
    mailing(|mail| mail.smtp_url = Some(Secret::new(smtp))).await
}

/// A mail server that says this to all, and a site that sends mails to it.
pub async fn served(say: Say) -> (Smtp, Site) {
    scripted(move |_| say).await
}

/// As [`served`]; what it says depends on the number of the connection.
pub async fn scripted(say: impl Fn(usize) -> Say + Send + Sync + 'static) -> (Smtp, Site) {
    let smtp = Smtp::scripted(say).await;
    let site = site_with(&smtp.url).await;
    (smtp, site)
}

/// A plain mail.
pub fn mail(to: &str) -> Mail {
    Mail::new("form.notice", MailAddress::parse(to).unwrap(), Subject::of("Hello"), "Hi\n")
}

impl Site {
    /// Queues a plain mail.
    pub async fn mail(&self, to: &str) -> i64 {
        self.queue_mail(&mail(to)).await
    }

    /// As [`Site::mail`], and sends what is due.
    pub async fn try_mail(&self, to: &str) -> i64 {
        let id = self.mail(to).await;
        self.send_mails().await;
        id
    }

    pub async fn queue_mail(&self, mail: &Mail) -> i64 {
        let mut change = self.cms.change(Actor::Operator).await.unwrap();
        let id = self.cms.mail().queue(&mut change, mail).await.unwrap();
        change.commit().await.unwrap();
        id
    }

    /// Sends what is due.
    pub async fn send_mails(&self) {
        self.cms.mail().postman().step().await.unwrap();
    }

    pub async fn mail_detail(&self, id: i64) -> LoggedDetail {
        self.cms.mail().detail(id).await.unwrap()
    }

    /// Status of a mail, then provider and outcome of each attempt: `sent: smtp fault, smtp sent`.
    pub async fn mail_story(&self, id: i64) -> String {
        let detail = self.mail_detail(id).await;
        let told = detail.attempts.iter().map(|a| format!("{} {}", a.provider, a.outcome));
        let told = told.collect::<Vec<_>>().join(", ");
        format!("{}: {told}", detail.mail.status).trim_end_matches(": ").to_owned()
    }
}
