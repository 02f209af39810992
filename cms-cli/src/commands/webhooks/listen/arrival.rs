//! A received delivery, and how it is printed

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::{Value as Json, json};

use crate::output::{Done, Output, Part, Style};

/// What the check of the signatures found.
pub(super) enum Verdict {
    Ok,
    Wrong(String),
    NotChecked,
}

/// A delivery that was received.
pub(super) struct Arrival {
    pub(super) time: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) signature: Verdict,
    pub(super) repeated: bool,
    pub(super) status: StatusCode,
}

impl Arrival {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Prints a line; with `body`, the body below it.
pub(super) fn print(out: &Output, arrival: &Arrival, body: bool) -> Done {
    if out.json {
        return Ok(out.line(&document(arrival, body).to_string())?);
    }
    let (signature, why) = match &arrival.signature {
        Verdict::Ok => (Part::In(Style::Good, "signature ok"), String::new()),
        Verdict::Wrong(why) => (Part::In(Style::Bad, "signature wrong"), format!(": {why}")),
        Verdict::NotChecked => (Part::Plain("signature not checked"), String::new()),
    };
    let header = |name| arrival.header(name).unwrap_or("-").to_owned();
    let cells = [
        arrival.time.clone(),
        header("x-webhook-event"),
        header("x-delivery-id"),
        header("webhook-id"),
    ];
    let outcome = [
        why,
        if arrival.repeated { "repeated" } else { "first" }.to_owned(),
        arrival.status.as_u16().to_string(),
    ];
    let gap = out.gap();
    let (cells, outcome) = (cells.join(gap) + gap, outcome.join(gap) + "\n");
    out.parts(&[Part::Plain(&cells), signature, Part::Plain(&outcome)])?;
    if body {
        out.line(&String::from_utf8_lossy(&arrival.body))?;
    }
    Ok(())
}

fn document(arrival: &Arrival, body: bool) -> Json {
    let (signature, why) = match &arrival.signature {
        Verdict::Ok => ("ok", None),
        Verdict::Wrong(why) => ("wrong", Some(why)),
        Verdict::NotChecked => ("not_checked", None),
    };
    let mut document = json!({
        "time": arrival.time,
        "event": arrival.header("x-webhook-event"),
        "delivery_id": arrival.header("x-delivery-id"),
        "webhook_id": arrival.header("webhook-id"),
        "signature": signature,
        "why": why,
        "repeated": arrival.repeated,
        "status": arrival.status.as_u16(),
    });
    if body {
        // As text: the signature covers bytes, not values.
        document["body"] = String::from_utf8_lossy(&arrival.body).into();
    }
    document
}
