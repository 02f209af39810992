//! Mail addresses, checked once: a checked address cannot break out of a header or a command.

use std::fmt;

use crate::{Error, Result, fields};

/// One address such as `name@example.org`. The domain is ASCII in lower case; the part before the @
/// may hold letters of any script (RFC 6531).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailAddress(String);

impl MailAddress {
    /// Parses an address as the field type `email` does, without the blanks around it.
    ///
    /// ```
    /// use cms_core::mail::MailAddress;
    /// let address = MailAddress::parse("jörg@Bücher.example")?;
    /// assert_eq!(address.as_str(), "jörg@xn--bcher-kva.example");
    /// assert!(MailAddress::parse("a@example.org\r\nBcc: b@example.org").is_err());
    /// # Ok::<(), cms_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `validation_failed` on the field `to`, with how to mend it.
    pub fn parse(text: &str) -> Result<Self> {
        Self::of(text).map_err(|why| Error::invalid_field("to", "format", why))
    }

    /// As [`MailAddress::parse`], but the error is only its message.
    pub(super) fn of(text: &str) -> std::result::Result<Self, String> {
        fields::address(text).map(Self)
    }

    /// As [`MailAddress::of`]; the domain may also be a single name, such as `localhost`.
    fn of_sender(text: &str) -> std::result::Result<Self, String> {
        Self::of(text).or_else(|why| {
            let Some((local, host)) = text.trim().rsplit_once('@') else { return Err(why) };
            let is_name = host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            if host.is_empty() || !is_name {
                return Err(why);
            }
            // Checks the part before the @ with a valid domain behind it.
            Self::of(&format!("{local}@{host}.example")).map_err(|_| why)?;
            Ok(Self(format!("{local}@{}", host.to_ascii_lowercase())))
        })
    }

    /// The address as it is stored and sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parts before and after the @.
    #[must_use]
    pub fn parts(&self) -> (&str, &str) {
        self.0.rsplit_once('@').unwrap_or((&self.0, ""))
    }

    /// The mailbox behind the address: capitals, a `+tag` and the dots of a Gmail address do not
    /// make another mailbox.
    pub(crate) fn mailbox(&self) -> String {
        let (local, domain) = self.parts();
        let local = local.split_once('+').map_or(local, |(name, _)| name);
        let local = local.to_lowercase();
        match domain {
            "gmail.com" | "googlemail.com" => format!("{}@gmail.com", local.replace('.', "")),
            _ => format!("{local}@{domain}"),
        }
    }
}

impl fmt::Display for MailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The sender of all mails: `mail.from`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) name: Option<String>,
    pub(super) address: MailAddress,
}

impl Sender {
    /// Parses `shop@example.org` or `Shop <shop@example.org>`; the error says what is wrong.
    pub(super) fn of(text: &str) -> std::result::Result<Self, String> {
        let text = text.trim();
        let Some((name, rest)) = text.split_once('<') else {
            return Ok(Self { name: None, address: MailAddress::of_sender(text)? });
        };
        let address = rest.strip_suffix('>').ok_or("a > is expected at its end")?;
        let name = name.trim().trim_matches('"').trim();
        Ok(Self {
            name: (!name.is_empty()).then(|| name.to_owned()),
            address: MailAddress::of_sender(address)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_counts_once() {
        for (given, mailbox) in [
            ("Ana@Example.org", "ana@example.org"),
            ("ana+1@example.org", "ana@example.org"),
            ("ÄNA+x+y@example.org", "äna@example.org"),
        ] {
            assert_eq!(MailAddress::of(given).expect(given).mailbox(), mailbox);
        }
    }

    #[test]
    fn senders() {
        for (given, name, address) in [
            ("shop@example.org", None, "shop@example.org"),
            (" Shop & Co <shop@example.org> ", Some("Shop & Co"), "shop@example.org"),
            ("\"Shop, Inc.\" <shop@EXAMPLE.org>", Some("Shop, Inc."), "shop@example.org"),
            ("<shop@example.org>", None, "shop@example.org"),
            ("CMS <cms@Localhost>", Some("CMS"), "cms@localhost"),
        ] {
            let sender = Sender::of(given).expect(given);
            assert_eq!((sender.name.as_deref(), sender.address.as_str()), (name, address));
        }
        for wrong in [
            "", "shop", "Shop <shop@example.org", "a b@localhost", "a@b.org, c@d.org",
            "S <a@b.org>\r\nX: y",
        ] {
            assert!(Sender::of(wrong).is_err(), "{wrong:?}");
        }
    }
}
