//! A submission in words.

use crate::screens::prelude::*;

/// Cells of a line in the preview.
const PREVIEW: usize = 64;
/// Lines of one answer.
const MOST: usize = 60;

/// The state of the inbox; spam and what was tried are told first.
pub(crate) fn state(row: &Json) -> Cell {
    let state = plain_text(&row["inbox_status"]);
    let (sign, role) = match state.as_str() {
        "new" => ("●", Role::Key),
        "qualified" => ("◆", Role::Warn),
        "contacted" => ("◐", Role::Plain),
        "converted" => ("✓", Role::Good),
        _ => ("⊘", Role::Quiet),
    };
    match (row["is_spam"] == true, row["is_test"] == true) {
        (true, _) => (format!("! {state}"), Role::Bad),
        (_, true) => (format!("t {state}"), Role::Quiet),
        _ => (format!("{sign} {state}"), role),
    }
}

/// Company and first answers in one line, without what the contact says already.
pub(crate) fn about(row: &Json) -> String {
    let [company, summary] = ["company", "summary"].map(|name| plain_text(&row[name]));
    let said = ["contact_name", "contact_email", "company"].map(|name| plain_text(&row[name]));
    let rest = summary.split(" · ").filter(|part| !said.iter().any(|one| one == part));
    let is_told = company.is_empty() || company == super::name(row);
    let known = (!is_told).then_some(company.as_str());
    known.into_iter().chain(rest).collect::<Vec<_>>().join(" · ")
}

/// How far the visit came.
pub(crate) fn visit(row: &Json) -> Cell {
    let last = plain_text(&row["last_node_name"]);
    match row["status"].as_str() {
        Some("completed") => (last, Role::Plain),
        Some("abandoned") => (format!("left: {last}"), Role::Warn),
        _ => (format!("… {last}"), Role::Quiet),
    }
}

fn said(label: &str, text: &str) -> (Role, String) {
    (Role::Plain, format!("{label:<10} {text}"))
}

fn title(text: impl Into<String>) -> (Role, String) {
    (Role::Title, text.into())
}

fn at(json: &Json, now: i64) -> Option<String> {
    let text = json.as_str()?;
    Some(format!("{} ({})", moment::clock(text, now), moment::age(text, now)))
}

/// Whether a visit that was not completed can no longer go on.
fn has_expired(row: &Json, now: i64) -> bool {
    let end = row["expires_at"].as_str().and_then(moment::millis);
    end.is_some_and(|end| end <= now)
}

/// Where the staff and the visit stand.
fn standing(row: &Json, now: i64) -> Lines {
    let (sign, role) = state(row);
    let person = row["assigned_name"].as_str().map_or("nobody".into(), safe);
    let mut lines = vec![(role, format!("{sign} · for {person}"))];
    if row["is_spam"] == true {
        lines.push((Role::Bad, "It looks like a program's: no event, no mail.".to_owned()));
    }
    if row["is_test"] == true {
        lines.push((Role::Quiet, "Its author tried the funnel.".to_owned()));
    }
    let (how, _) = visit(row);
    let pct = plain_text(&row["progress_pct"]);
    let status = match row["status"].as_str() {
        Some("completed") => format!("completed at {how}"),
        Some("abandoned") => format!("{how}, {pct} % of the way"),
        _ if has_expired(row, now) => format!("expired, {pct} %: {how}"),
        _ => format!("under way, {pct} %: {how}"),
    };
    lines.push(said("Visit", &status));
    if let Some(at) = at(&row["started_at"], now) {
        let took = |s: i64| if s == 0 { "0s".to_owned() } else { moment::span(s) };
        let took = row["duration_s"].as_i64().map(|s| format!(", took {}", took(s)));
        lines.push(said("Began", &format!("{at}{}", took.unwrap_or_default())));
    }
    lines
}

/// Who it is, and where staff and visit stand.
pub(crate) fn head(row: &Json, now: i64) -> Lines {
    let mut lines = standing(row, now);
    let members = [
        ("Name", "contact_name"),
        ("E-mail", "contact_email"),
        ("Telephone", "contact_phone"),
        ("Company", "company"),
        ("Score", "score"),
        ("Reference", "reference"),
    ];
    lines.extend(known(row, &members));
    let funnel = plain_text(&row["funnel_name"]);
    lines.push(said("Funnel", &format!("{funnel}, version {}", plain_text(&row["version"]))));
    if let Some(at) = at(&row["kept_until"], now) {
        lines.push(said("Kept until", &at));
    }
    lines
}

/// Where the visitor came from.
pub(crate) fn origin(row: &Json) -> Lines {
    let members = [
        ("Page", "source_url"),
        ("Before", "referer"),
        ("Source", "utm_source"),
        ("Medium", "utm_medium"),
        ("Campaign", "utm_campaign"),
        ("Term", "utm_term"),
        ("Content", "utm_content"),
        ("Language", "language_short"),
    ];
    known(row, &members)
}

/// The members that have a value, a line each.
fn known(row: &Json, members: &[(&str, &str)]) -> Lines {
    let known = members.iter().map(|(label, name)| (*label, plain_text(&row[*name])));
    known.filter(|(_, text)| !text.is_empty()).map(|(label, text)| said(label, &text)).collect()
}

/// What the staff noted.
pub(crate) fn notes(detail: &Json, cells: usize) -> Lines {
    let text = detail["inbox_notes"].as_str().unwrap_or_default();
    if text.is_empty() {
        return vec![(Role::Quiet, "No notes: e writes some.".to_owned())];
    }
    paragraph(Role::Plain, "", text, cells)
}

/// The answers with their labels, in the order of the way.
pub(crate) fn answers(detail: &Json, cells: usize) -> Lines {
    let mut lines = Vec::new();
    items(&detail["answers"]).iter().for_each(|answer| answered(answer, cells, &mut lines));
    if lines.is_empty() {
        lines.push((Role::Quiet, "Nothing was answered.".to_owned()));
    }
    lines
}

/// The label, and the answer behind it or below.
fn answered(answer: &Json, cells: usize, lines: &mut Lines) {
    let label = answer["label"].as_str().filter(|label| !label.is_empty());
    let label = label.map_or_else(|| plain_text(&answer["field"]), |one| safe(one).into_owned());
    let text = answer["text"].as_str().unwrap_or_default();
    let short = format!("{label}: {}", safe(text));
    if !text.contains('\n') && width(&short) <= cells {
        lines.push((Role::Plain, short));
        return;
    }
    lines.push((Role::Plain, format!("{label}:")));
    let said = paragraph(Role::Plain, "  ", text, cells.saturating_sub(2).max(8));
    lines.extend(said.into_iter().take(MOST));
}

/// The way that the visit took, and why it went on as it did.
pub(crate) fn way(detail: &Json, cells: usize) -> Lines {
    let mut lines = Vec::new();
    let passed = items(&detail["path_resolved"]);
    for (n, node) in passed.iter().enumerate() {
        let name = plain_text(&node["name"]);
        let is_last = n + 1 == passed.len();
        let (sign, role, more) = match (node["type"].as_str(), detail["status"].as_str()) {
            (Some("end"), _) => ("●", Role::Good, ""),
            (_, Some("abandoned")) if is_last => ("✗", Role::Warn, "  left here"),
            (_, Some("in_progress")) if is_last => ("▷", Role::Key, "  is here"),
            _ => ("■", Role::Title, ""),
        };
        lines.push((role, format!("{sign} {name}{more}")));
        items(&node["ways"]).iter().for_each(|taken| led(taken, cells, &mut lines));
    }
    lines
}

/// Why a condition led on as it did. What leads on without one needs no word.
fn led(taken: &Json, cells: usize, lines: &mut Lines) {
    let Some(result) = taken["result"].as_bool() else { return };
    let branch = if result { "yes" } else { "no" };
    let to = plain_text(&taken["to_name"]);
    let from = plain_text(&taken["from_name"]);
    lines.push((Role::Key, format!("◆ {from} {branch} → {to}")));
    let words = taken["words"].as_str().unwrap_or_default();
    let why = words.split_once(", because ").map_or("", |(_, why)| why);
    lines.extend(paragraph(Role::Quiet, "│   ", why, cells.saturating_sub(4).max(8)));
}

/// The files that the visitor sent.
pub(crate) fn files(detail: &Json) -> Lines {
    let line = |file: &Json| {
        let [name, kind] = ["name", "media_type"].map(|name| plain_text(&file[name]));
        let size = size(file["size"].as_i64().unwrap_or(0));
        let role = if file["attached"] == true { Role::Plain } else { Role::Quiet };
        let more = if file["attached"] == true { "" } else { ", not part of the answers" };
        (role, format!("{name}  {size}  {kind}{more}"))
    };
    items(&detail["files"]).iter().map(line).collect()
}

/// Bytes in words.
pub(crate) fn size(bytes: i64) -> String {
    match bytes {
        ..=999 => format!("{bytes} B"),
        1_000..=999_999 => format!("{} KB", bytes / 1000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

/// The mails that it caused.
pub(crate) fn mails(detail: &Json, now: i64) -> Lines {
    let mut lines: Lines = Vec::new();
    let rule = detail["mail_rule_id"].as_i64();
    match (detail["mail_status"].as_str(), rule) {
        (Some("unmatched"), _) => {
            lines.push((Role::Warn, "No mail rule matched: w says why.".to_owned()));
        }
        (Some("no_recipient"), _) => {
            lines.push((Role::Bad, "A mail rule matched, but it names nobody.".to_owned()));
        }
        (_, Some(rule)) => {
            lines.push((Role::Plain, format!("Mail rule {rule} matched: w says why.")));
        }
        _ => {}
    }
    for mail in items(&detail["mails"]) {
        lines.push(self::mail(mail, now));
        if let Some(why) = mail["reason"].as_str() {
            lines.push((Role::Bad, format!("    {}", safe(why))));
        }
    }
    lines
}

/// One of them as a line.
pub(crate) fn mail(mail: &Json, now: i64) -> (Role, String) {
    let (sign, role) = match mail["status"].as_str() {
        Some("sent") => ("✓", Role::Good),
        Some("queued" | "sending") => ("●", Role::Plain),
        Some("dropped") => ("⊘", Role::Quiet),
        _ => ("✗", Role::Bad),
    };
    let [to, subject] = ["to", "subject"].map(|name| plain_text(&mail[name]));
    let at = mail["created_at"].as_str().map(|at| moment::clock(at, now)).unwrap_or_default();
    (role, format!("{sign} {at} to {to}: {subject}"))
}

/// What happened, as far as it is known.
pub(crate) fn history(detail: &Json, now: i64) -> Lines {
    let mut events: Vec<(i64, String)> = Vec::new();
    let mut happened = |at: &Json, what: String| {
        events.extend(at.as_str().and_then(moment::millis).map(|at| (at, what)));
    };
    happened(&detail["started_at"], "the visit began".to_owned());
    happened(&detail["completed_at"], format!("completed at {}", visit(detail).0));
    happened(&detail["abandoned_at"], visit(detail).0);
    happened(&detail["first_touched_at"], "the staff did something about it first".to_owned());
    for file in items(&detail["files"]) {
        happened(&file["created_at"], format!("sent the file {}", plain_text(&file["name"])));
    }
    for mail in items(&detail["mails"]) {
        let to = plain_text(&mail["to"]);
        happened(&mail["created_at"], format!("mail to {to} queued"));
        happened(&mail["settled_at"], format!("mail to {to} {}", plain_text(&mail["status"])));
    }
    events.sort();
    let line = |(at, what): (i64, String)| {
        (Role::Plain, format!("{:<11} {what}", moment::clock(&moment::text(at), now)))
    };
    let mut lines: Lines = events.into_iter().map(line).collect();
    let changes = usize::try_from(detail["inbox_rev"].as_i64().unwrap_or(0)).unwrap_or(0);
    if changes > 0 {
        lines.push((Role::Quiet, format!("{} by the staff so far", count(changes, "change"))));
    }
    if let Some(at) = detail["expires_at"].as_str().filter(|_| detail["status"] == "in_progress") {
        let what = if has_expired(detail, now) { "has expired" } else { "expires" };
        lines.push((Role::Quiet, format!("the visit {what} ({})", moment::age(at, now))));
    }
    lines
}

/// The lines beside the list.
pub(super) fn preview(row: &Json, detail: Option<&Json>, now: i64) -> Lines {
    let mut lines = standing(row, now);
    let Some(detail) = detail else {
        lines.push(loading());
        return lines;
    };
    if !plain_text(&detail["inbox_notes"]).is_empty() {
        lines.push(title("Notes"));
        lines.extend(notes(detail, PREVIEW));
    }
    let parts = [
        ("Answers", answers(detail, PREVIEW)),
        ("The way", way(detail, PREVIEW)),
        ("Files", files(detail)),
        ("Mails", mails(detail, now)),
    ];
    for (name, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        lines.push(title(name));
        lines.extend(part);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(row: &Json) -> String {
        let now = moment::millis("2026-11-21T12:00:00Z").expect("a time");
        let lines = standing(row, now).into_iter().chain(history(row, now));
        lines.map(|(_, line)| line + "\n").collect()
    }

    #[test]
    fn a_visit_under_way_is_told_from_one_that_has_expired() {
        for (expires_at, visit, end) in [
            ("2026-11-21T12:05:00Z", "under way, 33 %: ", "the visit expires (in 5m)"),
            ("2026-11-21T12:00:00Z", "expired, 33 %: ", "the visit has expired (now)"),
            ("2026-11-20T12:00:00Z", "expired, 33 %: ", "the visit has expired (24h)"),
        ] {
            let row = json!({
                "status": "in_progress", "progress_pct": 33, "expires_at": expires_at,
            });
            let told = told(&row);
            assert!(told.contains(visit) && told.contains(end), "{expires_at}: {told}");
        }
    }

    #[test]
    fn a_visit_of_no_second_took_none() {
        let row =
            |seconds: i64| json!({"started_at": "2026-11-21T11:00:00Z", "duration_s": seconds});
        assert!(told(&row(0)).contains(", took 0s\n"));
        assert!(told(&row(95)).contains(", took 95s\n"));
    }
}
