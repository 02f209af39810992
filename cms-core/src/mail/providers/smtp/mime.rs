//! A mail as the bytes that travel over SMTP.

use std::time::{Duration, SystemTime};

use email_encoding::headers::{rfc2047, writer::EmailWriter};
use lettre::{
    Address, Message,
    message::{
        Mailbox, MultiPart, SinglePart,
        header::{HeaderName, HeaderValue},
    },
};

use crate::mail::{address::Sender, outbox::Outgoing};

/// Converts an address for lettre; the error says what is wrong. Queued addresses are
/// checked already.
pub(super) fn address(text: &str) -> Result<Address, String> {
    let (local, domain) = text.rsplit_once('@').ok_or("an address without @")?;
    Address::new(local, domain).map_err(|error| error.to_string())
}

/// The message with all its headers. `reply_to` is None for a server that does not take the
/// address. Every attempt at a mail sends the same bytes.
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
        .raw_header(subject(&mail.subject)?)
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

/// The subject header. A visitor may write text that looks encoded; such a text is encoded as a
/// whole, because mail programs would decode any part that is left plain.
fn subject(text: &str) -> Result<HeaderValue, String> {
    let name = HeaderName::new_from_ascii_str("Subject");
    if !text.contains("=?") {
        return Ok(HeaderValue::new(name, text.to_owned()));
    }
    let mut encoded = String::new();
    let mut writer = EmailWriter::new(&mut encoded, "Subject: ".len(), 0, false);
    rfc2047::encode(text, &mut writer).map_err(|error| error.to_string())?;
    drop(writer);
    Ok(HeaderValue::dangerous_new_pre_encoded(name, text.to_owned(), encoded))
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

    /// A header as a mail program shows it: unfolded, its encoded words decoded (RFC 2047, 6.2).
    fn read(message: &str, name: &str) -> String {
        let head = message.split("\r\n\r\n").next().unwrap_or_default().replace("\r\n ", " ");
        let start = format!("{name}: ");
        let value = head.split("\r\n").find_map(|line| line.strip_prefix(&start));
        let (mut shown, mut was_encoded) = (String::new(), true);
        for word in value.expect("the header").split(' ') {
            let inner = word.strip_prefix("=?").and_then(|word| word.strip_suffix("?="));
            let parts: Vec<_> = inner.into_iter().flat_map(|inner| inner.split('?')).collect();
            let decoded = match parts.as_slice() {
                [_, "b", text] => Some(data_encoding::BASE64.decode(text.as_bytes()).expect("64")),
                [_, _, text] => Some(format!("DECODED {text}").into_bytes()),
                _ => None,
            };
            if !(shown.is_empty() || was_encoded && decoded.is_some()) {
                shown.push(' ');
            }
            was_encoded = decoded.is_some();
            let text = decoded.unwrap_or_else(|| word.as_bytes().to_vec());
            shown.push_str(std::str::from_utf8(&text).expect("UTF-8"));
        }
        shown
    }

    #[test]
    fn what_looks_encoded_is_shown_as_it_was_written() {
        for text in [
            "=?utf-8?q?Your_password?=",
            "From Ana =?utf-8?q?a?= =?utf-8?b?Yg==?= and more",
            "=?utf-8?q?Gr=C3=BC=C3=9Fe?= Grüße",
            &format!("{} =?utf-8?q?x?=", "word ".repeat(30)),
            "a =? b ?=",
            "Grüße aus Köln",
            "plain",
        ] {
            let message = sent(&Outgoing { subject: text.to_owned(), ..mail() });
            assert_eq!(read(&message, "Subject"), text, "{message}");
            let lines = message.split("\r\n").take_while(|line| !line.is_empty());
            assert!(lines.into_iter().all(|line| line.len() <= 78), "{message}");
        }
        let named = Sender::of("=?utf-8?q?Bank?= <shop@example.org>").expect("a sender");
        let message = message(&named, &mail(), None).expect("a message");
        let message = String::from_utf8(message).expect("UTF-8");
        assert_eq!(read(&message, "From"), "=?utf-8?q?Bank?= <shop@example.org>");
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
