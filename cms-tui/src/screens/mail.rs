//! Mails: what waits, what was sent, what was given up; who sends them.

use cms_http::wire::{
    health::Readyz,
    mail::{Log, MailIds, Providers, Retry, Test, TestMail, WhichMails},
};

use super::{
    browser::{Above, by_id},
    prelude::*,
};

pub(crate) static SPEC: Spec = Spec {
    above: Some(&ABOVE),
    detail: Some(|row, _| whole(row)),
    preview,
    tokens: Some(|_| TOKENS.to_owned()),
    // By its id there is one, which is no list.
    rows: |_, data| by_id(if data.is_object() { Json::Array(vec![data]) } else { data }, "id"),
    open: Some(|row, _| show(row)),
    empty: "No mail was queued yet.",
    poll_s: 2,
    ..Spec::new("mail", |_| "Mails".to_owned(), columns, list, act)
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
    for piece in &pieces(asked.filter) {
        match piece.word() {
            Word::Token("status", value) | Word::Text(value) => {
                let status = serde_json::from_value(value.into());
                which.status = Some(status.map_err(|_| unknown(value, "status:failed"))?);
            }
            Word::Token("id", value) => which.id = parsed(value, "id:7")?,
            Word::Token("to", value) => which.to = Some(value.to_owned()),
            Word::Token("purpose", value) => which.purpose = Some(value.to_owned()),
            Word::Token("since", value) => which.since = since_at(value, asked.now, "since:2h")?,
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

fn preview(row: &Json, detail: Option<&Json>, _: &Json, now: i64) -> Lines {
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
    lines.extend(reason(&row["reason"]));
    lines.extend(members(row, &names, now));
    let Some(detail) = detail else {
        lines.push(loading());
        return lines;
    };
    let attempts = items(&detail["attempts"]).iter();
    for (at, attempt) in attempts.enumerate() {
        if at == 0 {
            lines.push((Role::Title, "Attempts".to_owned()));
        }
        let (when, _) = clock(attempt, "created_at", now);
        let [by, outcome] = ["provider", "outcome"].map(|name| plain_text(&attempt[name]));
        let role = if outcome == "sent" { Role::Good } else { Role::Warn };
        lines.push((role, format!("{when}  {by}: {outcome}")));
        let why = attempt["reason"].as_str().unwrap_or_default();
        lines.extend(paragraph(Role::Plain, "  ", why, 74));
    }
    lines.push((Role::Title, "Text".to_owned()));
    let text = detail["text"].as_str().unwrap_or_default().lines().take(200);
    lines.extend(text.map(|line| (Role::Plain, safe(line).into_owned())));
    lines
}

pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    match verb {
        "show" => show(&scene.row.cloned().unwrap_or_default()),
        "retry" => retry(scene),
        "test" => test(),
        _ => Step::None,
    }
}

pub(super) fn show(row: &Json) -> Step {
    let title = format!("Mail {}", acts::id(row));
    whole(row).view(title)
}

/// All or none, as the service does it.
fn retry(scene: &Scene<'_>) -> Step {
    let ids: Vec<_> = scene.rows().iter().map(|row| acts::id(row)).collect();
    send::<Retry>(&NoQuery {}, &MailIds { ids }).then(|reply| {
        let queued = reply.data["queued"].as_u64().unwrap_or(0);
        let mails = count(usize::try_from(queued).unwrap_or(0), "mail");
        Step::did(format!("{mails} due now"))
    })
}

fn test() -> Step {
    let providers = ["all in turn", "transactional", "newsletter", "smtp"];
    let fields = vec![
        Field::text("to", "To", "").hint("name@example.org").required(),
        Field::one("provider", "Through", &providers, 0).hint("Space: the next one"),
    ];
    Form::new("Send a test mail".to_owned(), fields, move |values| {
        let provider = Some(values.text("provider")).filter(|name| name != providers[0]);
        let mail = TestMail { to: values.text("to"), provider };
        send::<Test>(&NoQuery {}, &mail).then(|reply| {
            let status = plain_text(&reply.data["status"]);
            match reply.data["reason"].as_str() {
                Some(why) => Step::Tell(format!("The test mail is {status}: {why}")),
                None => Step::did(format!("The test mail is {status}")),
            }
        })
    })
    .step()
}

static ABOVE: Above = Above {
    title: "Providers",
    asks: &[|| get::<Providers>(&NoQuery {}), || get::<Readyz>(&Default::default())],
    height: 4,
    lines: provider_lines,
};

fn provider_lines(known: &[Json], now: i64) -> Lines {
    let (Some(Json::Array(providers)), ready) = (known.first(), known.get(1)) else {
        return vec![loading()];
    };
    let mut lines: Vec<_> = providers.iter().map(|one| provider_line(one, now)).collect();
    if lines.is_empty() {
        let why = "None is set: mails wait. Set mail.smtp_url or another provider.";
        lines.push((Role::Bad, why.to_owned()));
    }
    let sends = ready.is_some_and(|ready| ready["mail"] == "running");
    lines.push(match sends {
        true => (Role::Good, "● the process that answers sends".to_owned()),
        false => (Role::Quiet, "○ the process that answers sends none; others may".to_owned()),
    });
    lines
}

fn provider_line(provider: &Json, now: i64) -> (Role, String) {
    let [name, kind, server, reason] =
        ["name", "kind", "server", "reason"].map(|name| plain_text(&provider[name]));
    let until = provider["rests_until"].as_str().map(|at| moment::clock(at, now));
    let (role, state) = match (provider["state"].as_str(), until) {
        (Some("resting"), Some(until)) => (Role::Bad, format!("✗ rests until {until}: {reason}")),
        (Some("probing"), _) => (Role::Warn, format!("◐ the next mail tries it: {reason}")),
        _ => (Role::Good, "✓ ready".to_owned()),
    };
    let place = &provider["place"];
    (role, format!("{place} {name:<13} {kind:<9} {server:<28} {state}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_asks_the_service_or_is_refused() {
        let line = |filter: &str| SPEC.asks(&Json::Null, filter);
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

    #[test]
    fn each_provider_has_a_line_and_none_is_told() {
        let smtp = json!({"name": "smtp", "place": 1, "kind": "smtp", "state": "resting",
                          "server": "mail.example.org:25", "reason": "hung up",
                          "rests_until": "2026-11-21T12:00:00Z"});
        let said = provider_lines(&[json!([smtp]), json!({"mail": "running"})], 0);
        assert!(said[0].0 == Role::Bad && said[0].1.contains("hung up"), "{said:?}");
        assert_eq!((said.len(), said[1].0), (2, Role::Good));
        assert_eq!(provider_lines(&[json!([])], 0)[0].0, Role::Bad);
        assert_eq!(provider_lines(&[], 0)[0].0, Role::Quiet);
    }
}
