//! Wrong logins of the last hour, by network.

use cms_http::wire::auth::{ClearAttempts, ListAttempts, Whose};

use super::{browser::by_id, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    rows: |_, data| by_id(data, "network"),
    preview: |row, _, _, now| {
        members(row, &[("Network", "network"), ("Last", "last_attempt_at")], now)
    },
    empty: "No wrong login in the last hour.",
    ..Spec::new("attempts", |_| "Wrong logins".to_owned(), columns, list, act)
};

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let cursor = asked.cursor.clone();
    get::<ListAttempts>(&Listing { limit: Limit(PAGE), cursor, count: None })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NETWORK", "network", 0, plain),
        column("WRONG", "attempts", 6, plain),
        column("STATE", "locked", 10, locked),
        column("LAST", "last_attempt_at", 6, age),
    ]
}

fn locked(row: &Json, name: &str, _: i64) -> Cell {
    match row[name] == true {
        true => ("✗ locked".to_owned(), Role::Bad),
        false => ("● free".to_owned(), Role::Plain),
    }
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let network = scene.row.and_then(|row| row["network"].as_str()).unwrap_or_default();
    match verb {
        "clear" => {
            let address = network.split('/').next().unwrap_or_default().to_owned();
            let said = format!("{network} may log in again");
            get::<ClearAttempts>(&Whose { address }).did(said)
        }
        _ => Step::None,
    }
}
