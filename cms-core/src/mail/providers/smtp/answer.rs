//! What a server's answer means for the mail and for the server.

use std::error::Error as _;

use lettre::transport::smtp::Error;

use super::super::End;
use crate::{mail::rules::Outcome, outbound::in_words};

/// The step of the dialogue that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Greeting, EHLO.
    Hello,
    /// STARTTLS, and EHLO after it.
    Tls,
    Login,
    From,
    To,
    Data,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Hello => "at its greeting",
            Self::Tls => "at TLS",
            Self::Login => "at the login",
            Self::From => "at the sender",
            Self::To => "at the recipient",
            Self::Data => "at the message",
        }
    }
}

/// The end of an attempt that failed with an error of lettre.
pub(super) fn failure(step: Step, error: &Error) -> End {
    let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let Some(code) = error.status() else {
        // No answer, or an answer that is not SMTP.
        return End::because(Outcome::Fault, format!("{}: {}", step.name(), in_words(text)));
    };
    let code = code.to_string();
    let outcome = outcome_of(step, code.parse().unwrap_or(0), &text);
    // A server may repeat the credentials in its answer to the login.
    let text = if step == Step::Login { enhanced(&text).unwrap_or_default() } else { &text };
    End::because(outcome, format!("{}: {code} {text}", step.name()).trim_end())
}

/// The enhanced code at the beginning of an answer, such as `5.1.1` (RFC 3463).
fn enhanced(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next()?;
    let parts: Vec<_> = word.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    (word.len() <= 9 && parts.len() == 3 && parts.iter().all(is_number)).then_some(word)
}

/// Whether the answer to a recipient says that the address does not exist. The words of the
/// address itself are ignored: they may be any.
fn is_unknown(code: u16, text: &str) -> bool {
    match enhanced(text) {
        // About the sender (RFC 3463, 3.2).
        Some("5.1.7" | "5.1.8") => return false,
        Some(enhanced) if enhanced.starts_with("5.1.") => return true,
        Some(enhanced) if enhanced.starts_with("5.7.") => return false,
        _ => {}
    }
    let words = text.split_whitespace().filter(|word| !word.contains('@'));
    let text = words.collect::<Vec<_>>().join(" ").to_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    matches!(code, 550 | 551 | 553)
        && says(&["user", "mailbox", "address", "recipient", "account"])
        && says(&["unknown", "no such", "not found", "not exist", "n't exist", "invalid"])
        && !says(&["relay", "sender"])
}

/// What a negative answer means (RFC 5321, 4.2; RFC 3463 for `5.7.1`).
fn outcome_of(step: Step, code: u16, text: &str) -> Outcome {
    match (step, code) {
        // The server closes or rejects the connection: every mail would fail.
        (Step::Hello | Step::Tls | Step::Login, _) | (_, 421 | 530 | 535) => Outcome::Fault,
        (_, 400..=499) => Outcome::Deferred,
        // 556: the domain takes no mail (RFC 7504).
        (Step::To, 556) => Outcome::Recipient,
        (Step::To, _) if is_unknown(code, text) => Outcome::Recipient,
        // A policy of this server: another one may take the mail.
        _ => Outcome::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        for (step, code, text, outcome) in [
            (Step::Hello, 554, "no service", Outcome::Fault),
            (Step::Hello, 450, "later", Outcome::Fault),
            (Step::Tls, 454, "4.7.0 TLS not available", Outcome::Fault),
            (Step::Login, 535, "5.7.8 wrong password", Outcome::Fault),
            (Step::From, 530, "5.7.0 login required", Outcome::Fault),
            (Step::From, 553, "5.1.8 sender refused", Outcome::Refused),
            (Step::From, 451, "later", Outcome::Deferred),
            (Step::To, 550, "5.1.1 no such user", Outcome::Recipient),
            (Step::To, 550, "User unknown", Outcome::Recipient),
            (Step::To, 554, "5.1.1 unknown", Outcome::Recipient),
            (Step::To, 550, "5.7.1 relaying denied", Outcome::Refused),
            (Step::To, 554, "5.7.1 <a@b>: Relay access denied", Outcome::Refused),
            (Step::To, 550, "relay not permitted", Outcome::Refused),
            (Step::To, 550, "Relaying denied", Outcome::Refused),
            (Step::To, 550, "<unknown-user@b> rejected by policy", Outcome::Refused),
            (Step::To, 553, "5.1.8 Sender address does not exist", Outcome::Refused),
            (
                Step::To,
                550,
                "<relay@b>: Recipient address rejected: User unknown",
                Outcome::Recipient,
            ),
            (Step::To, 550, "No Such User Here", Outcome::Recipient),
            (Step::To, 556, "no mail here", Outcome::Recipient),
            (Step::To, 450, "4.2.0 greylisted", Outcome::Deferred),
            (Step::To, 421, "closing", Outcome::Fault),
            (Step::Data, 552, "5.3.4 too large", Outcome::Refused),
            (Step::Data, 554, "5.6.0 content", Outcome::Refused),
            (Step::Data, 452, "4.3.1 full", Outcome::Deferred),
        ] {
            assert_eq!(outcome_of(step, code, text), outcome, "{step:?} {code} {text}");
        }
    }
}
