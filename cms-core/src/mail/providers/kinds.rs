//! The makes of providers with an HTTP API: where the token goes, how a mail is encoded, how a
//! reply is judged. `docs/mail.md` shows each.

use serde_json::{Map, Value as Json, json};

use crate::mail::{address::Sender, outbox::Outgoing};

/// A make of provider.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Its public address.
    pub(super) url: Option<&'static str>,
    /// The header that carries the token.
    pub(super) token: fn(&str) -> (&'static str, String),
    /// The body of a request.
    pub(super) body: fn(&Sender, &Outgoing) -> Json,
    /// The member of a success reply with the provider's id of the mail. A reply without this
    /// member is not from this make.
    pub(super) id: &'static str,
    /// The member of a bad reply that says why.
    pub(super) message: &'static str,
    /// Whether a bad reply means that the address cannot get mail.
    pub(super) is_bad_recipient: fn(&Json) -> bool,
    /// Whether a bad reply is about the account or the sender, not about the mail.
    pub(super) is_fault: fn(&Json) -> bool,
    /// Whether the provider takes only ASCII before the @.
    pub(super) is_ascii_only: bool,
}

pub(super) static KINDS: [Kind; 3] = [
    Kind {
        name: "postmark",
        url: Some("https://api.postmarkapp.com/email"),
        token: |token| ("x-postmark-server-token", token.to_owned()),
        body: postmark,
        id: "MessageID",
        message: "Message",
        // 300: a wrong address; only the text says whose. 406: the address is inactive.
        is_bad_recipient: |reply| {
            reply["ErrorCode"] == 406
                || (reply["ErrorCode"] == 300 && says(&reply["Message"], "'To'"))
        },
        // 400, 401: the sender is unknown or not confirmed. 405, 412, 413: the account has no
        // credit, waits for its approval, may not send.
        is_fault: |reply| {
            reply["ErrorCode"]
                .as_u64()
                .is_some_and(|code| matches!(code, 400 | 401 | 405 | 412 | 413))
        },
        is_ascii_only: true,
    },
    Kind {
        name: "brevo",
        url: Some("https://api.brevo.com/v3/smtp/email"),
        token: |token| ("api-key", token.to_owned()),
        body: brevo,
        id: "messageId",
        message: "message",
        is_bad_recipient: |reply| {
            reply["code"] == "invalid_parameter" && says(&reply["message"], "not valid in to")
        },
        is_fault: |reply| {
            reply["code"].as_str().is_some_and(|code| BREVO_FAULTS.contains(&code))
                || (reply["code"] == "invalid_parameter" && says(&reply["message"], "sender"))
        },
        is_ascii_only: true,
    },
    Kind {
        name: "json",
        url: None,
        token: |token| ("authorization", format!("Bearer {token}")),
        body: plain,
        id: "id",
        message: "error",
        is_bad_recipient: |reply| reply["error"] == "bad_recipient",
        is_fault: |_| false,
        is_ascii_only: false,
    },
];

/// Codes of Brevo for an account that cannot send.
const BREVO_FAULTS: [&str; 4] =
    ["account_under_validation", "not_enough_credits", "permission_denied", "unauthorized"];

fn says(text: &Json, part: &str) -> bool {
    text.as_str().is_some_and(|text| text.contains(part))
}

/// The headers of every mail that have no member of their own.
fn headers(mail: &Outgoing) -> [(&'static str, &str); 3] {
    [
        ("Message-ID", &mail.message_id),
        ("Auto-Submitted", mail.auto_submitted()),
        ("X-Auto-Response-Suppress", "All"),
    ]
}

/// The address for replies, if it is ASCII: these providers take no other.
fn ascii_reply_to(mail: &Outgoing) -> Option<&str> {
    mail.reply_to.as_deref().filter(|address| address.is_ascii())
}

/// An object of the members that have a value.
fn object(members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    let given = members.into_iter().filter(|(_, value)| !value.is_null());
    given.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}

/// A text for a header that the provider writes. Mail programs would decode a text that looks
/// encoded, so an invisible word joiner splits each `=?`. The joiner also makes the provider
/// encode the text.
fn readable(text: &str) -> String {
    text.replace("=?", "=\u{2060}?")
}

fn postmark(sender: &Sender, mail: &Outgoing) -> Json {
    let list = headers(mail).into_iter().chain([("X-PM-KeepID", "true")]);
    let list: Vec<_> = list.map(|(name, value)| json!({"Name": name, "Value": value})).collect();
    let from = match &sender.name {
        None => sender.address.to_string(),
        Some(name) => {
            let quoted = readable(name).replace('\\', "\\\\").replace('"', "\\\"");
            format!("\"{quoted}\" <{}>", sender.address)
        }
    };
    object([
        ("From", json!(from)),
        ("To", json!(mail.to)),
        ("ReplyTo", json!(ascii_reply_to(mail))),
        ("Subject", json!(readable(&mail.subject))),
        ("TextBody", json!(mail.text)),
        ("HtmlBody", json!(mail.html)),
        ("Headers", json!(list)),
    ])
}

fn brevo(sender: &Sender, mail: &Outgoing) -> Json {
    let name = sender.name.as_deref().map(readable);
    let from = object([("name", json!(name)), ("email", json!(sender.address.as_str()))]);
    let reply_to = ascii_reply_to(mail).map(|address| json!({"email": address}));
    object([
        ("sender", from),
        ("to", json!([{"email": mail.to}])),
        ("replyTo", json!(reply_to)),
        ("subject", json!(readable(&mail.subject))),
        ("textContent", json!(mail.text)),
        ("htmlContent", json!(mail.html)),
        ("headers", object(headers(mail).map(|(name, value)| (name, json!(value))))),
    ])
}

fn plain(sender: &Sender, mail: &Outgoing) -> Json {
    let [_, rest @ ..] = headers(mail);
    json!({
        "message_id": mail.message_id,
        "from": {"name": sender.name.as_deref().map(readable), "address": sender.address.as_str()},
        "to": mail.to,
        "reply_to": mail.reply_to,
        "subject": readable(&mail.subject),
        "text": mail.text,
        "html": mail.html,
        "headers": object(rest.map(|(name, value)| (name, json!(value)))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::MailAddress;

    fn body(kind: &str) -> Json {
        let address = MailAddress::parse("shop@example.org").expect("an address");
        let sender = Sender { name: Some("A \"B\"".to_owned()), address };
        let kind = KINDS.iter().find(|known| known.name == kind).expect("a kind");
        (kind.body)(&sender, &Outgoing::sample())
    }

    #[test]
    fn nothing_looks_encoded_to_a_provider() {
        let address = MailAddress::parse("shop@example.org").expect("an address");
        let sender = Sender { name: Some("=?utf-8?q?Bank?=".to_owned()), address };
        let subject = "Re: =?utf-8?q?Your_password?=".to_owned();
        let mail = Outgoing { subject, ..Outgoing::sample() };
        for kind in &KINDS {
            let body = (kind.body)(&sender, &mail).to_string();
            assert!(!body.contains("=?") && body.contains("utf-8?q?Your_password"), "{body}");
        }
    }

    #[test]
    fn bodies() {
        let auto = "auto-replied";
        assert_eq!(
            body("postmark"),
            json!({
                "From": "\"A \\\"B\\\"\" <shop@example.org>",
                "To": "ana@example.com",
                "Subject": "Hello",
                "TextBody": "Hi",
                "Headers": [
                    {"Name": "Message-ID", "Value": "<1@example.org>"},
                    {"Name": "Auto-Submitted", "Value": auto},
                    {"Name": "X-Auto-Response-Suppress", "Value": "All"},
                    {"Name": "X-PM-KeepID", "Value": "true"},
                ],
            })
        );
        assert_eq!(
            body("brevo"),
            json!({
                "sender": {"name": "A \"B\"", "email": "shop@example.org"},
                "to": [{"email": "ana@example.com"}],
                "subject": "Hello",
                "textContent": "Hi",
                "headers": {
                    "Message-ID": "<1@example.org>",
                    "Auto-Submitted": auto,
                    "X-Auto-Response-Suppress": "All",
                },
            })
        );
        let expected = json!({
            "message_id": "<1@example.org>",
            "from": {"name": "A \"B\"", "address": "shop@example.org"},
            "to": "ana@example.com",
            "reply_to": null,
            "subject": "Hello",
            "text": "Hi",
            "html": null,
            "headers": {"Auto-Submitted": auto, "X-Auto-Response-Suppress": "All"},
        });
        assert_eq!(body("json"), expected);
    }

    #[test]
    fn settings_and_makes_name_the_same_kinds() {
        assert_eq!(KINDS.each_ref().map(|kind| kind.name), crate::settings::MAIL_KINDS);
    }
}
