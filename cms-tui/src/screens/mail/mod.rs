//! Mails: what waits, what was sent, what was given up.

mod act;
mod providers;

use cms_http::wire::{
    mail::{Log, WhichMails},
    parameters::{Limit, Moment},
};
use serde_json::Value as Json;

use super::{
    acts,
    browser::{ListQuery, Spec, by_id},
    cells::{Cell, Column, age, clock, column, members, plain, plain_text},
    filter_words::{Word, since, unknown, words},
};
use crate::{
    calls::Fault,
    step::{Calling, get},
    text::{safe, wrapped},
    theme::Role,
    widgets::window::PAGE,
};

pub(crate) static SPEC: Spec = Spec {
    above: Some(&providers::ABOVE),
    detail: Some(|row, _| whole(row)),
    preview,
    tokens: Some(|_| TOKENS.to_owned()),
    // By its id there is one, which is no list.
    rows: |_, data| by_id(if data.is_object() { Json::Array(vec![data]) } else { data }, "id"),
    open: Some(|row, _| act::show(row)),
    empty: "No mail was queued yet.",
    poll_s: 2,
    ..Spec::new("mail", |_| "Mails".to_owned(), columns, list, act::act)
};

const TOKENS: &str = "status:failed (queued sending sent dropped) to:ADDRESS purpose:form.notice \
    since:2h id:7";

/// A mail with its text and attempts.
fn whole(row: &Json) -> Result<Calling, Fault> {
    get::<Log>(&WhichMails { id: Some(acts::id(row)), ..WhichMails::default() })
}

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let mut which =
        WhichMails { limit: Limit(PAGE), cursor: asked.cursor.clone(), ..WhichMails::default() };
    for word in words(asked.filter) {
        match word {
            Word::Token("status", value) | Word::Text(value) => {
                let status = serde_json::from_value(value.into());
                which.status = Some(status.map_err(|_| unknown(value, "status:failed"))?);
            }
            Word::Token("id", value) => {
                which.id = Some(value.parse().map_err(|_| unknown(value, "id:7"))?);
            }
            Word::Token("to", value) => which.to = Some(value.to_owned()),
            Word::Token("purpose", value) => which.purpose = Some(value.to_owned()),
            Word::Token("since", value) => {
                let at = since(value, asked.now).ok_or_else(|| unknown(value, "since:2h"))?;
                which.since = Some(Moment(at));
            }
            Word::Token(name, _) => return Err(unknown(name, TOKENS)),
        }
    }
    get::<Log>(&which)
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("TIME", "created_at", 11, clock),
        column("TO", "to", 0, plain),
        column("SUBJECT", "subject", 0, plain),
        column("STATUS", "status", 10, state),
        column("NEXT", "next_attempt_at", 6, age),
    ]
}

fn state(row: &Json, name: &str, _: i64) -> Cell {
    let (sign, role) = match row[name].as_str() {
        Some("sent") => ("✓", Role::Good),
        Some("queued") if row["tries"] != 0 => ("◐", Role::Warn),
        Some("queued" | "sending") => ("●", Role::Plain),
        Some("dropped") => ("⊘", Role::Quiet),
        _ => ("✗", Role::Bad),
    };
    (format!("{sign} {}", plain_text(&row[name])), role)
}

fn preview(row: &Json, detail: Option<&Json>, _: &Json, now: i64) -> Vec<(Role, String)> {
    let (said, role) = state(row, "status", now);
    let names = [
        ("For", "purpose"),
        ("About", "cause"),
        ("Queued", "created_at"),
        ("Next try", "next_attempt_at"),
        ("Settled", "settled_at"),
        ("Sent by", "provider"),
        ("Failed", "tries"),
    ];
    let mut lines = vec![(role, said)];
    if let Some(why) = row["reason"].as_str() {
        lines.extend(wrapped(why, 76).into_iter().map(|line| (Role::Bad, line)));
    }
    lines.extend(members(row, &names, now));
    let Some(detail) = detail else {
        lines.push((Role::Quiet, "Loading …".to_owned()));
        return lines;
    };
    let attempts = detail["attempts"].as_array().into_iter().flatten();
    for (at, attempt) in attempts.enumerate() {
        if at == 0 {
            lines.push((Role::Title, "Attempts".to_owned()));
        }
        let (when, _) = clock(attempt, "created_at", now);
        let [by, outcome] = ["provider", "outcome"].map(|name| plain_text(&attempt[name]));
        let role = if outcome == "sent" { Role::Good } else { Role::Warn };
        lines.push((role, format!("{when}  {by}: {outcome}")));
        let why = attempt["reason"].as_str().unwrap_or_default();
        lines.extend(wrapped(why, 74).into_iter().map(|line| (Role::Plain, format!("  {line}"))));
    }
    lines.push((Role::Title, "Text".to_owned()));
    let text = detail["text"].as_str().unwrap_or_default().lines().take(200);
    lines.extend(text.map(|line| (Role::Plain, safe(line).into_owned())));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_filter_asks_the_service_or_is_refused() {
        let line = |filter: &str| {
            list(&ListQuery { subject: &Json::Null, filter, ..ListQuery::default() })
                .map(|call| call.ask.line())
        };
        let asked = line("failed to:ana@example.org").expect("a call");
        assert!(asked.contains("status=failed") && asked.contains("to=ana"), "{asked}");
        let asked = line("id:7").expect("a call");
        assert!(asked.contains("id=7"), "{asked}");
        for wrong in ["gone", "status:x", "since:x", "id:x", "colour:red"] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_mail_that_failed_before_is_told_from_one_that_is_new() {
        let said = |tries| state(&json!({"status": "queued", "tries": tries}), "status", 0).1;
        assert_eq!((said(0), said(2)), (Role::Plain, Role::Warn));
    }
}
