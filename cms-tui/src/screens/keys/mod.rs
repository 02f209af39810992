//! API keys.

mod act;
mod matrix;
mod rights;

use cms_http::wire::keys::Read;

pub(crate) use matrix::Matrix;

use super::{acts::Kind, cells::number, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    detail: Some(|row, _| rights::last_denied(row)),
    preview,
    open: Some(|row, _| Step::Open(Place::about("rights", row))),
    empty: "No keys. n makes one.",
    sorts: sorted::<Read>,
    ..Spec::new("keys", |_| "API keys".to_owned(), columns, listed::<Read>, act::act)
};

/// How keys are changed.
pub(crate) static KEY: Kind =
    Kind::new("key", acts::again::<Read>, &["last_used_at", "requests", "denied"]);

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NAME", "name", 0, plain),
        // Below this width the last column would be cut.
        column("PREFIX", "prefix", 14, plain).from(62),
        column("STATE", "active", 9, state),
        column("EXPIRES", "expires_on", 10, |row, name, _| match row[name].as_str() {
            Some(day) => (day.to_owned(), Role::Plain),
            None => ("never".to_owned(), Role::Quiet),
        }),
        column("USED", "last_used_at", 5, age),
        column("DENIED", "denied", 8, number),
    ]
}

/// Whether the key works today. The service knows the site's time zone; here the day is UTC's, so
/// today's may work still.
fn state(row: &Json, name: &str, now: i64) -> Cell {
    let (text, role) = match (row[name] == true, row["expires_on"].as_str()) {
        (false, _) => ("○ off", Role::Quiet),
        (_, Some(day)) if day < moment::day(now).as_str() => ("✗ expired", Role::Bad),
        (_, Some(day)) if day <= moment::day(now + 14 * 86_400_000).as_str() => {
            ("◐ ends", Role::Warn)
        }
        _ => ("● on", Role::Good),
    };
    (text.to_owned(), role)
}

/// A right as the command line writes it.
pub(crate) fn right_text(right: &Json) -> String {
    let methods: Vec<_> = texts(&right["methods"]).collect();
    let endpoint = right["endpoint"].as_str().unwrap_or_default();
    let query = right["query"].as_object().into_iter().flatten();
    let query: Vec<_> =
        query.map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or(""))).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    format!("{} {endpoint}{query}", methods.join(",")).trim().to_owned()
}

fn preview(row: &Json, last: Option<&Json>, _: &Json, now: i64) -> Lines {
    let names = [
        ("Prefix", "prefix"),
        ("Created", "created_at"),
        ("Last used", "last_used_at"),
        ("Requests", "requests"),
        ("Denied", "denied"),
    ];
    let mut lines = members(row, &names, now);
    lines.extend(others(row, &names, &["name", "active", "expires_on"], now));
    if row["denied"].as_i64().unwrap_or(0) > 0 {
        lines.push((Role::Key, "Some calls were denied: c tells why one is.".to_owned()));
        lines.extend(last.and_then(|last| rights::denied_line(last, now)));
    }
    lines.push((Role::Title, "Rights".to_owned()));
    let rights = items(&row["rights"]).iter();
    let rights: Vec<_> =
        rights.map(|right| (Role::Plain, format!("  {}", right_text(right)))).collect();
    if rights.is_empty() {
        lines.push((Role::Warn, "  none: the key allows no call".to_owned()));
    }
    lines.extend(rights.into_iter().map(|(role, text)| (role, safe(&text).into())));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_expired_when_it_has_in_every_time_zone() {
        let now = moment::millis("2026-11-21T12:00:00Z").expect("a time");
        for (expires_on, expected) in [
            (json!("2026-11-20"), "✗ expired"),
            (json!("2026-11-21"), "◐ ends"),
            (json!("2026-11-22"), "◐ ends"),
            (json!("2026-12-06"), "● on"),
            (json!(null), "● on"),
        ] {
            let row = json!({"active": true, "expires_on": expires_on});
            assert_eq!(state(&row, "active", now).0, expected, "{expires_on}");
        }
    }
}
