//! An attempt over SMTP (RFC 5321) to the server of `mail.smtp_url`, with TLS from the first byte
//! or after STARTTLS.

mod answer;
mod mime;
mod stream;

use std::{path::Path, sync::Arc, time::Duration};

use lettre::transport::smtp::{
    authentication::{Credentials, DEFAULT_MECHANISMS},
    client::{AsyncSmtpConnection, AsyncTokioStream, Certificate, TlsParameters},
    commands::{Data, Mail, Rcpt},
    extension::{ClientId, Extension, MailBodyParameter, MailParameter},
};
use percent_encoding::percent_decode_str;
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use self::{
    answer::{Step, failure},
    stream::Capped,
};
use super::End;
use crate::{
    Secret,
    mail::{address::Sender, outbox::Outgoing, rules::Outcome},
    outbound::{Undialled, dial, in_words, public_roots, tls},
    settings::{self, SmtpTls},
};

/// How long QUIT may take: the mail is sent by then.
const QUIT: Duration = Duration::from_secs(1);

/// The reply to a message may take this many times `mail.timeout_s`, at most [`LONGEST_REPLY`].
/// Servers scan a message before they accept it, and a mail whose reply is not awaited is sent
/// twice (RFC 5321, 4.5.3.2.6).
const REPLY_TIMES: u32 = 18;
const LONGEST_REPLY: Duration = Duration::from_secs(180);

/// A mail server.
pub(super) struct Smtp {
    url: SmtpUrl,
    timeout: Duration,
    /// For TLS from the first byte.
    first: TlsConnector,
    /// For TLS after STARTTLS.
    start: TlsParameters,
}

impl Smtp {
    /// # Errors
    /// What is wrong with the settings.
    pub(super) fn new(
        settings: &settings::MailSettings,
        timeout: Duration,
    ) -> Result<Self, String> {
        let text = settings.smtp_url.as_ref().map_or("", |url| url.expose());
        let url = SmtpUrl::of(text, settings.smtp_tls);
        let url = url.map_err(|why| format!("mail.smtp_url: {why}"))?;
        let more = settings.smtp_ca_file.as_deref().map(certificates).transpose()?;
        let more = more.unwrap_or_default();
        let mut roots = public_roots();
        let mut start = TlsParameters::builder(url.host.clone());
        for certificate in more {
            let taken = Certificate::from_der(certificate.to_vec()).map_err(|e| e.to_string())?;
            start = start.add_root_certificate(taken);
            let refused = |error| format!("mail.smtp_ca_file: {error}");
            roots.add(certificate).map_err(refused)?;
        }
        let first = tls(roots).map_err(|error| error.to_string())?;
        Ok(Self {
            url,
            timeout,
            first: TlsConnector::from(Arc::new(first)),
            start: start.build_rustls().map_err(|error| error.to_string())?,
        })
    }

    /// Host and port.
    pub(super) fn server(&self) -> String {
        format!("{}:{}", self.url.host, self.url.port)
    }

    pub(super) async fn send(&self, sender: &Sender, mail: &Outgoing) -> End {
        match self.exchange(sender, mail).await {
            Ok(said) => End::sent(Some(said)),
            Err(end) => end,
        }
    }

    /// The whole dialogue. Returns the server's reply to the message.
    async fn exchange(&self, sender: &Sender, mail: &Outgoing) -> Result<String, End> {
        let (mut server, message) = within(self.timeout, self.envelope(sender, mail)).await?;
        let reply =
            async { server.message(&message).await.map_err(|error| failure(Step::Data, &error)) };
        let taken = within((self.timeout * REPLY_TIMES).min(LONGEST_REPLY), reply).await?;
        let said = taken.message().collect::<Vec<_>>().join(" ");
        let _ = tokio::time::timeout(QUIT, server.quit()).await;
        Ok(said)
    }

    /// The dialogue up to DATA: the server then waits for the message.
    async fn envelope(
        &self,
        sender: &Sender,
        mail: &Outgoing,
    ) -> Result<(AsyncSmtpConnection, Vec<u8>), End> {
        let refused = |why: String| End::because(Outcome::Refused, why);
        let to = mime::address(&mail.to).map_err(refused)?;
        // The empty sender keeps servers from answering an automatic reply (RFC 3834, 3.3).
        let from = match mail.auto_reply {
            true => None,
            false => Some(mime::address(sender.address.as_str()).map_err(refused)?),
        };
        let mut parameters = Vec::new();
        let mut server = self.connect(sender).await?;
        let offers = |extension| server.server_info().supports_feature(extension);
        let takes_letters = offers(Extension::SmtpUtfEight);
        let ends_are_ascii = to.to_string().is_ascii() && sender.address.as_str().is_ascii();
        if !ends_are_ascii && !takes_letters {
            let why = "the address has letters that this server does not take (SMTPUTF8)";
            return Err(refused(why.to_owned()));
        }
        let reply_to = mail.reply_to.as_deref().filter(|to| takes_letters || to.is_ascii());
        if !ends_are_ascii || reply_to.is_some_and(|address| !address.is_ascii()) {
            parameters.push(MailParameter::SmtpUtfEight);
        }
        let message = mime::message(sender, mail, reply_to).map_err(refused)?;
        if !message.is_ascii() {
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        let mut say = async |step, command: String| {
            server.command(command).await.map_err(|error| failure(step, &error))
        };
        say(Step::From, Mail::new(from, parameters).to_string()).await?;
        say(Step::To, Rcpt::new(to, Vec::new()).to_string()).await?;
        say(Step::Data, Data.to_string()).await?;
        Ok((server, message))
    }

    /// Connects, with TLS and login as the URL says.
    async fn connect(&self, sender: &Sender) -> Result<AsyncSmtpConnection, End> {
        let SmtpUrl { host, port, tls, login } = &self.url;
        let tcp = dial(host, *port, self.timeout * 4 / 5).await.map_err(undialled)?;
        let fault = |why: String| End::because(Outcome::Fault, why);
        let peer = tcp.peer_addr().map_err(|error| fault(error.to_string()))?;
        let stream: Box<dyn AsyncTokioStream> = match tls {
            Tls::First => {
                let name = ServerName::try_from(host.clone()).map_err(|e| fault(e.to_string()))?;
                let encrypted = self.first.connect(name, tcp).await;
                let why = |e: std::io::Error| format!("TLS: {}", in_words(e.to_string()));
                Box::new(Capped::new(encrypted.map_err(|e| fault(why(e)))?, peer))
            }
            Tls::Start => Box::new(Capped::until_tls(tcp, peer)),
            Tls::Never => Box::new(Capped::new(tcp, peer)),
        };
        let hello = ClientId::Domain(sender.address.parts().1.to_owned());
        let server = AsyncSmtpConnection::connect_with_transport(stream, &hello).await;
        let mut server = server.map_err(|error| failure(Step::Hello, &error))?;
        if *tls == Tls::Start {
            if !server.can_starttls() {
                let why = "the server offers no TLS; mail.smtp_tls = \"off\" sends without it";
                return Err(fault(why.to_owned()));
            }
            let begun = server.starttls(self.start.clone(), &hello).await;
            begun.map_err(|error| failure(Step::Tls, &error))?;
        }
        if let Some((user, password)) = login {
            let known = Credentials::new(user.clone(), password.expose().to_owned());
            let login = server.auth(DEFAULT_MECHANISMS, &known).await;
            login.map_err(|error| failure(Step::Login, &error))?;
        }
        Ok(server)
    }
}

/// The result of a part of the dialogue; a fault when the part does not end in time.
async fn within<T>(
    patience: Duration,
    part: impl Future<Output = Result<T, End>>,
) -> Result<T, End> {
    let late = |_| {
        let why = format!("no complete answer within {} s", patience.as_secs());
        End::because(Outcome::Fault, why)
    };
    tokio::time::timeout(patience, part).await.map_err(late)?
}

fn undialled(why: Undialled) -> End {
    let outcome = if why.is_local { Outcome::Local } else { Outcome::Fault };
    End { is_suspect: why.is_suspect, ..End::because(outcome, why.message) }
}

/// The certificates of a PEM file.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unread = |error: &dyn std::fmt::Display| {
        format!("mail.smtp_ca_file: {} cannot be read: {error}", path.display())
    };
    let found = CertificateDer::pem_file_iter(path).map_err(|error| unread(&error))?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(|error| unread(&error))?;
    match found.is_empty() {
        true => Err(unread(&"it holds no certificate")),
        false => Ok(found),
    }
}

/// A mail server.
#[derive(Clone, Debug)]
struct SmtpUrl {
    host: String,
    port: u16,
    tls: Tls,
    login: Option<(String, Secret)>,
}

/// When TLS begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tls {
    /// With the connection.
    First,
    /// After STARTTLS, which the server must offer.
    Start,
    Never,
}

impl SmtpUrl {
    /// Parses `smtp://host:port` or `smtps://user:password@host:port`; the error says what is
    /// wrong, without the password.
    fn of(text: &str, tls: SmtpTls) -> Result<Self, String> {
        let form = "write it as smtp://host:port or smtps://user:password@host:port";
        let url = Url::parse(text).map_err(|error| format!("{error}; {form}"))?;
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none();
        if !is_bare || url.fragment().is_some() {
            return Err(format!("nothing may follow the port; {form}"));
        }
        let text_of = |part: &str| percent_decode_str(part).decode_utf8().map(|t| t.into_owned());
        // The URL parser leaves the host of an unknown scheme as it is.
        let name = url.host_str().unwrap_or_default();
        let host = Host::parse(&text_of(name).map_err(|_| form.to_owned())?)
            .map_err(|error| format!("{error}; {form}"))?;
        let is_here = match &host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        let host = match host {
            Host::Domain(name) => name,
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        let (tls, port) = match (url.scheme(), tls) {
            ("smtps", _) => (Tls::First, 465),
            ("smtp", SmtpTls::Off) => (Tls::Never, 25),
            ("smtp", SmtpTls::Auto) if is_here => (Tls::Never, 25),
            ("smtp", _) => (Tls::Start, 587),
            _ => return Err(form.to_owned()),
        };
        let login = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => {
                let user = text_of(user).map_err(|_| "the user is not UTF-8".to_owned())?;
                let password = text_of(password.unwrap_or_default())
                    .map_err(|_| "the password is not UTF-8".to_owned())?;
                Some((user, Secret::new(password)))
            }
        };
        Ok(Self { host, port: url.port().unwrap_or(port), tls, login })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let auto = SmtpTls::Auto;
        for (text, tls, host, port, expected) in [
            ("smtp://mail.example.org", auto, "mail.example.org", 587, Tls::Start),
            ("smtp://mail.example.org:2525", auto, "mail.example.org", 2525, Tls::Start),
            ("smtp://mail.example.org:25", SmtpTls::Off, "mail.example.org", 25, Tls::Never),
            ("smtps://mail.example.org", SmtpTls::Off, "mail.example.org", 465, Tls::First),
            ("smtp://127.0.0.1:1025", auto, "127.0.0.1", 1025, Tls::Never),
            ("smtp://localhost", auto, "localhost", 25, Tls::Never),
            ("smtp://[::1]:1025/", auto, "::1", 1025, Tls::Never),
            ("smtp://127.0.0.1:1025", SmtpTls::Required, "127.0.0.1", 1025, Tls::Start),
            ("smtp://bücher.example", auto, "xn--bcher-kva.example", 587, Tls::Start),
        ] {
            let url = SmtpUrl::of(text, tls).expect(text);
            assert_eq!((url.host.as_str(), url.port, url.tls), (host, port, expected), "{text}");
            assert!(url.login.is_none());
        }
        let url = SmtpUrl::of("smtps://ana%40example.org:p%3Aw@h", auto).expect("a login");
        let (user, password) = url.login.expect("a login");
        assert_eq!((user.as_str(), password.expose()), ("ana@example.org", "p:w"));
        for wrong in ["smtp://", "http://h", "smtp://h/x", "smtp://h?tls=no", "smtp://u:hunter2@"] {
            let why = SmtpUrl::of(wrong, auto).expect_err(wrong);
            assert!(!why.contains("hunter2"), "{why}");
        }
    }
}
