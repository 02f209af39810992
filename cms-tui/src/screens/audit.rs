//! The audit log: who did what to which row.

use cms_http::wire::audit::{List, WhichAuditRows};

use super::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    tokens: Some(|_| TOKENS.to_owned()),
    empty: "Nothing was changed yet.",
    poll_s: 3,
    ..Spec::new("audit", |_| "Audit log".to_owned(), columns, list, |_, _| Step::None)
};

const TOKENS: &str = "table:users,user_groups or just a table's name";

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let mut which = WhichAuditRows {
        limit: Limit(PAGE),
        cursor: asked.cursor.clone(),
        ..WhichAuditRows::default()
    };
    for piece in &pieces(asked.filter) {
        match piece.word() {
            Word::Token("table", table) | Word::Text(table) => {
                which.table = Some(table.to_owned());
            }
            Word::Token(name, _) => return Err(unknown(name, TOKENS)),
        }
    }
    get::<List>(&which)
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("TIME", "created_at", 11, clock),
        column("WHO", "actor", 18, who),
        column("DID", "action", 10, plain),
        column("TABLE", "table", 0, plain),
        column("ROW", "row_id", 10, plain),
        column("COLUMNS", "columns", 0, plain),
    ]
}

fn who(row: &Json, name: &str, _: i64) -> Cell {
    let actor = &row[name];
    let kind = plain_text(&actor["kind"]);
    let text = match actor["name"].as_str() {
        Some(name) => format!("{kind} {}", safe(name)),
        None => kind,
    };
    (text, Role::Plain)
}
