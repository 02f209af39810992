//! A mail as the bytes that travel over SMTP.

use std::time::{Duration, SystemTime};

use lettre::{
    Address, Message,
    message::{
        Mailbox, MultiPart, SinglePart,
        header::{HeaderName, HeaderValue},
    },
};

use crate::mail::{address::Sender, outgoing::Outgoing};

/// An address for lettre; else what is wrong. Ours are checked already.
pub(super) fn address(text: &str) -> Result<Address, String> {
    let (local, domain) = text.rsplit_once('@').ok_or("an address without @")?;
    Address::new(local, domain).map_err(|error| error.to_string())
}

/// The message with all its headers; `reply_to` is left out for a server that does not take it. The
/// same mail is the same bytes in every attempt.
pub(super) fn message(
    sender: &Sender,
    mail: &Outgoing,
    reply_to: Option<&str>,
) -> Result<Vec<u8>, String> {
    let queued = Duration::from_millis(u64::try_from(mail.created_at).unwrap_or(0));
    let from = Mailbox::new(sender.name.clone(), address(sender.address.as_str())?);
    let mut builder = Message::builder()
        .from(from)
        .to(Mailbox::new(None, address(&mail.to)?))
        .subject(mail.subject.clone())
        .date(SystemTime::UNIX_EPOCH + queued)
        .message_id(Some(mail.message_id.clone()))
        .raw_header(header("Auto-Submitted", mail.auto_submitted()))
        .raw_header(header("X-Auto-Response-Suppress", "All"));
    if let Some(reply_to) = reply_to {
        builder = builder.reply_to(Mailbox::new(None, address(reply_to)?));
    }
    let text = SinglePart::plain(mail.text.clone());
    let message = match &mail.html {
        None => builder.singlepart(text),
        Some(html) => {
            let boundary =
                format!("part-{}", crate::crypto::sha256_hex(mail.message_id.as_bytes()));
            let parts = MultiPart::alternative().boundary(boundary);
            builder.multipart(parts.singlepart(text).singlepart(SinglePart::html(html.clone())))
        }
    };
    Ok(message.map_err(|error| error.to_string())?.formatted())
}

fn header(name: &'static str, value: &'static str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail() -> Outgoing {
        Outgoing {
            reply_to: Some("jo@example.net".to_owned()),
            subject: "Grüße".to_owned(),
            text: "Hi\n.\nBye".to_owned(),
            created_at: 1_000,
            ..Outgoing::sample()
        }
    }

    fn sent(mail: &Outgoing) -> String {
        let sender = Sender::of("Schön, \"Q\" <shop@example.org>").expect("a sender");
        String::from_utf8(message(&sender, mail, mail.reply_to.as_deref()).expect("a message"))
            .expect("UTF-8")
    }

    #[test]
    fn headers_are_ascii_and_complete() {
        let text = sent(&mail());
        assert!(text.is_ascii(), "{text}");
        for line in [
            "To: ana@example.com\r\n",
            "Reply-To: jo@example.net\r\n",
            "Subject: =?utf-8?b?R3LDvMOfZQ==?=\r\n",
            "Message-ID: <1@example.org>\r\n",
            "Date: Thu, 01 Jan 1970 00:00:01 +0000\r\n",
            "Auto-Submitted: auto-replied\r\n",
            "X-Auto-Response-Suppress: All\r\n",
            "MIME-Version: 1.0\r\n",
        ] {
            assert!(text.contains(line), "{line} {text}");
        }
        assert!(text.contains("\r\n\r\nHi\r\n.\r\nBye"), "{text}");
    }

    #[test]
    fn both_parts_are_there_and_the_bytes_are_the_same_each_time() {
        let mail = Outgoing { html: Some("<p>Hi ü</p>".to_owned()), ..mail() };
        let text = sent(&mail);
        assert!(text.contains("multipart/alternative") && text.contains("text/plain"), "{text}");
        assert!(text.contains("text/html") && text.contains("<p>Hi =C3=BC</p>"), "{text}");
        assert_eq!(text, sent(&mail));
    }

    #[test]
    fn long_lines_are_wrapped() {
        let text = sent(&Outgoing { text: "x".repeat(1 << 20), ..mail() });
        assert!(text.lines().all(|line| line.len() < 1000));
    }
}
