//! Funnels, and one of them as a drawn graph.
//!
//! ```text
//! graph    the screen of one: nodes to walk through, counts on its edges, what is wrong with it
//! lanes    how a graph is drawn
//! wording  nodes, edges and conditions in words
//! act      what can be done with funnels
//! ```

mod act;
mod graph;
mod lanes;
mod wording;

use cms_http::wire::funnels::{Get, List, OneFunnel, WhichFunnels};

pub(super) use graph::Graph;

use super::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    detail: Some(|row, _| whole(row)),
    preview: |row, detail, _, now| preview(row, detail, now),
    tokens: Some(|_| TOKENS.to_owned()),
    open: Some(|row, _| Step::Open(Place::about("funnel", row))),
    empty: "No funnel yet: n makes one.",
    sorts: |_| {
        ["name", "slug", "language_short", "status", "updated_at"].map(str::to_owned).to_vec()
    },
    ..Spec::new("funnels", |_| "Funnels".to_owned(), columns, list, act::act)
};

const TOKENS: &str = "status:published (draft archived) lang:de TEXT";

/// A funnel as it is drawn.
fn whole(row: &Json) -> Result<Calling, Fault> {
    get::<Get>(&OneFunnel { id: acts::id(row).to_string() })
}

/// Of all languages, unless the filter names one. The first word that is a state is one, unless a
/// token names the state; other words are searched for.
fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let mut which = WhichFunnels {
        language: Some("*".to_owned()),
        list: asked.page(),
        ..WhichFunnels::default()
    };
    let state = |value: &str| serde_json::from_value(value.into());
    let (pieces, mut texts) = (pieces(asked.filter), Vec::new());
    for piece in &pieces {
        match piece.word() {
            Word::Token("lang", value) => which.language = Some(value.to_owned()),
            Word::Token("status", value) => {
                which.status = Some(state(value).map_err(|_| unknown(value, TOKENS))?);
            }
            Word::Text(value) => texts.push(value),
            Word::Token(name, _) => return Err(unknown(name, TOKENS)),
        }
    }
    let mut searched = Vec::new();
    for value in texts {
        match state(value) {
            Ok(status) if which.status.is_none() => which.status = Some(status),
            _ => searched.push(value),
        }
    }
    which.list.search = Some(searched.join(" ")).filter(|searched| !searched.is_empty());
    get::<List>(&which)
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NAME", "name", 0, plain),
        column("SLUG", "slug", 0, plain),
        column("LANG", "language_short", 4, plain),
        column("STATE", "status", 14, state),
        column("SAVED", "updated_at", 6, age),
    ]
}

fn state(row: &Json, name: &str, _: i64) -> Cell {
    let version = row["version"].as_i64().map(|version| format!(" {version}")).unwrap_or_default();
    match row[name].as_str() {
        Some("published") => (format!("● published{version}"), Role::Good),
        Some("draft") => ("○ draft".to_owned(), Role::Warn),
        other => (format!("⊘ {}", other.unwrap_or_default()), Role::Quiet),
    }
}

fn preview(row: &Json, detail: Option<&Json>, now: i64) -> Lines {
    let (said, role) = state(row, "status", now);
    let mut lines = vec![(role, said)];
    lines.extend(members(row, &[("Published", "published_at"), ("Saved", "updated_at")], now));
    let kept = match (row["save_abandoned"].as_i64(), row["abandon_after_min"].as_i64()) {
        (Some(1), Some(minutes)) => format!("abandoned after {minutes} minutes of rest"),
        _ => "visits that end early are not marked".to_owned(),
    };
    lines.push((Role::Plain, format!("{:<12} {kept}", "Visits")));
    let Some(detail) = detail else {
        lines.push(loading());
        return lines;
    };
    lines.push((Role::Title, "Nodes".to_owned()));
    for node in graph::drawn(detail) {
        lines.push((Role::Plain, node));
    }
    for (at, rule) in items(&detail["email_routings"]).iter().enumerate() {
        if at == 0 {
            lines.push((Role::Title, "Mail rules".to_owned()));
        }
        lines.push((Role::Plain, wording::rule(rule)));
    }
    lines
}

fn name(row: &Json) -> String {
    plain_text(&row["name"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_state_or_is_searched_for() {
        let line = |filter: &str| SPEC.asks(&Json::Null, filter);
        let table: [(&str, &[&str], &str); 4] = [
            ("", &["language=%2A"], "search"),
            ("lang:de draft", &["language=de", "status=draft"], "search"),
            ("status:archived my bike", &["status=archived", "search=my%20bike"], "draft"),
            ("draft status:published", &["status=published", "search=draft"], "status=draft"),
        ];
        for (filter, asks, other) in table {
            let asked = line(filter).expect("a call");
            assert!(asks.iter().all(|ask| asked.contains(ask)), "{filter}: {asked}");
            assert!(!asked.contains(other), "{filter}: {asked}");
        }
        for wrong in ["status:gone", "colour:red"] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }
}
