//! The address of a mail server: `mail.smtp_url`.

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::{Secret, settings::SmtpTls};

/// A mail server.
#[derive(Clone, Debug)]
pub(super) struct SmtpUrl {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Tls,
    pub(super) login: Option<(String, Secret)>,
}

/// When TLS begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tls {
    /// With the connection.
    First,
    /// After STARTTLS, which the server must offer.
    Start,
    Never,
}

impl SmtpUrl {
    /// Reads `smtp://host:port` or `smtps://user:password@host:port`; else what is wrong, without
    /// the password.
    pub(super) fn of(text: &str, tls: SmtpTls) -> Result<Self, String> {
        let form = "write it as smtp://host:port or smtps://user:password@host:port";
        let url = Url::parse(text).map_err(|error| format!("{error}; {form}"))?;
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none();
        if !is_bare || url.fragment().is_some() {
            return Err(format!("nothing may follow the port; {form}"));
        }
        let text_of = |part: &str| percent_decode_str(part).decode_utf8().map(|t| t.into_owned());
        // The parser leaves hosts of schemes that it does not know as they are.
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
