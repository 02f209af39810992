//! The lines of each tab of a delivery.

use crate::screens::{cells::status, prelude::*};

/// A tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
    Request,
    Response,
    Headers,
    Signature,
    Attempts,
}

pub(super) const TABS: [Tab; 5] =
    [Tab::Request, Tab::Response, Tab::Headers, Tab::Signature, Tab::Attempts];

impl Tab {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Response => "Response",
            Self::Headers => "Headers",
            Self::Signature => "Signature",
            Self::Attempts => "Attempts",
        }
    }
}

/// What a tab shows of an attempt and its webhook.
pub(super) fn lines(tab: Tab, attempt: &Json, webhook: &Json, now: i64) -> Lines {
    // Only the attempt as it was read tells what was removed.
    let is_read = attempt.get("removed").is_some();
    match tab {
        Tab::Request | Tab::Response if !is_read => vec![loading()],
        Tab::Request => request(attempt, webhook),
        Tab::Response => response(attempt, now),
        Tab::Headers => headers(attempt, webhook),
        Tab::Signature => signature(attempt, webhook),
        Tab::Attempts => Vec::new(),
    }
}

/// An attempt as a line of the list of attempts.
pub(super) fn attempt_line(attempt: &Json, now: i64) -> (String, Role) {
    let (outcome, role) = status(attempt, "status", now);
    let at = attempt["created_at"].as_str().map(|at| moment::clock(at, now)).unwrap_or_default();
    let code = plain_text(&attempt["response_code"]);
    let (number, ms) = (plain_text(&attempt["attempt"]), plain_text(&attempt["duration_ms"]));
    (format!("{number:>3} {at:<11} {outcome:<14} {code:<4} {ms:>8}"), role)
}

fn request(attempt: &Json, webhook: &Json) -> Lines {
    let url = webhook["url"].as_str().unwrap_or("(its webhook is gone)");
    let mut lines = vec![(Role::Title, format!("POST {}", safe(url)))];
    match &attempt["payload"] {
        Json::Null => {
            let why = "The body is not shown: it is no longer kept, or you may not see it.";
            lines.push((Role::Quiet, why.to_owned()));
        }
        payload => lines.extend(json_lines(payload)),
    }
    if let Some(removed) = attempt["removed"].as_array().filter(|removed| !removed.is_empty()) {
        let removed = plain_text(&Json::from(removed.clone()));
        lines.push((Role::Warn, format!("Removed by the payload filter: {removed}")));
    }
    lines
}

fn response(attempt: &Json, now: i64) -> Lines {
    let (outcome, role) = status(attempt, "status", now);
    let (code, ms) = (plain_text(&attempt["response_code"]), plain_text(&attempt["duration_ms"]));
    let mut lines = vec![(role, format!("{outcome}  {code}  after {ms} ms"))];
    lines.extend(reason(&attempt["error_message"]));
    let Some(text) = attempt["response"].as_str().filter(|text| !text.is_empty()) else {
        lines.push((Role::Quiet, "No body came back, or you may not see it.".to_owned()));
        return lines;
    };
    lines.extend(laid_out(text));
    let note = "At most the first 4 KiB of a reply are kept; its headers are not.";
    lines.push((Role::Quiet, note.to_owned()));
    lines
}

/// The headers of every attempt, then the webhook's own. Values are those of this attempt where
/// the log has them.
fn headers(attempt: &Json, webhook: &Json) -> Lines {
    let of = |name: &str| plain_text(&attempt[name]);
    let each = "new for each attempt".to_owned();
    let sent = [
        ("content-type", "application/json".to_owned()),
        ("x-webhook-event", of("event")),
        ("x-delivery-id", of("queue_id")),
        ("webhook-id", of("event_id")),
        ("webhook-timestamp", format!("({each})")),
        ("webhook-signature", format!("({each}: see Signature)")),
        ("x-webhook-signature", format!("({each}: see Signature)")),
    ];
    let line = |name: &str, value: &str| (Role::Plain, format!("{name:<22} {value}"));
    let mut lines: Lines = sent.iter().map(|(name, value)| line(name, value)).collect();
    let own = webhook["custom_headers"].as_object().into_iter().flatten();
    let own: Vec<_> = own.map(|(name, value)| line(&safe(name), &plain_text(value))).collect();
    if !own.is_empty() {
        lines.push((Role::Title, "Of this webhook, as it is now".to_owned()));
        lines.extend(own);
    }
    lines
}

/// What is signed and with what. Signatures are made for each attempt and never stored.
fn signature(attempt: &Json, webhook: &Json) -> Lines {
    let id = plain_text(&attempt["event_id"]);
    let plain = |text: &str| (Role::Plain, text.to_owned());
    let mut lines = vec![
        (Role::Title, "X-Webhook-Signature".to_owned()),
        plain("HMAC-SHA256 of the body, in hex; the key is the secret as it was shown."),
        plain(""),
        (Role::Title, "webhook-signature".to_owned()),
        plain(&format!("HMAC-SHA256 of {id}.TIMESTAMP.BODY, in base64, as v1,…;")),
        plain("the key is what follows whsec_, decoded from base64."),
        plain("After a rotation with a grace, the old secret signs beside the new one."),
        plain(""),
    ];
    let name = plain_text(&webhook["name"]);
    if !name.is_empty() {
        lines.push(plain(&format!(
            "The secret is that of {name}: it was shown once, S gives a new one."
        )));
    }
    let check = "Whether a body that arrived is genuine: cms webhooks verify BODY --headers FILE";
    lines.push((Role::Key, check.to_owned()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tab_shows_its_part_and_no_secret() {
        let attempt = json!({
            "id": 7, "queue_id": 3, "event": "item.posts.created", "event_id": "evt_1",
            "attempt": 2, "status": "status", "response_code": 503, "duration_ms": 12,
            "error_message": "The receiver answered 503.", "response": "{\"error\": \"away\"}",
            "payload": {"data": {"title": "a"}}, "removed": ["data.password"],
        });
        let webhook = json!({
            "name": "shop", "url": "https://shop.example.org", "secret": "whsec_abc",
            "custom_headers": {"X-Tenant": "***"},
        });
        let shown = |tab: Tab| -> String {
            let lines = lines(tab, &attempt, &webhook, 0).into_iter();
            lines.map(|(_, line)| line + "\n").collect()
        };
        for (tab, says) in [
            (Tab::Request, "POST https://shop.example.org"),
            (Tab::Request, "Removed by the payload filter: data.password"),
            (Tab::Response, "\"error\": \"away\""),
            (Tab::Headers, "x-delivery-id          3"),
            (Tab::Headers, "X-Tenant               ***"),
            (Tab::Signature, "evt_1.TIMESTAMP.BODY"),
        ] {
            assert!(shown(tab).contains(says), "{says} is not in {}", shown(tab));
        }
        assert!(TABS.iter().all(|tab| !shown(*tab).contains("whsec_abc")));
    }
}
