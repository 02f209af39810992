//! Users: people who may log in.

mod act;

use cms_http::wire::users::{Read, WhichUsers};

use super::{acts::Kind, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    preview,
    empty: "No users. n makes one.",
    sorts: |_| ["username", "active", "last_login_at", "created_at"].map(str::to_owned).to_vec(),
    ..Spec::new("users", |_| "Users".to_owned(), columns, list, act::act)
};

/// How users are changed. Groups are read with their ids and sent by name.
static USER: Kind = Kind {
    what: "user",
    again: |row| get::<Read>(&WhichUsers { id: Some(id(row)), ..WhichUsers::default() }),
    moving: &["two_factor", "recovery_codes", "sessions", "last_login_at"],
    unread: &[],
    body: |mut members| {
        if let Some(groups) = members["groups"].as_array() {
            let name = |group: &Json| group.get("name").unwrap_or(group).clone();
            members["groups"] = groups.iter().map(name).collect();
        }
        members
    },
};

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Read>(&WhichUsers { list: asked.page(), ..WhichUsers::default() })
}

/// Names of the groups.
fn groups(row: &Json, name: &str, _: i64) -> Cell {
    let groups = items(&row[name]).iter();
    let names: Vec<_> = groups.filter_map(|group| group["name"].as_str()).collect();
    (safe(&names.join(", ")).into_owned(), Role::Plain)
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NAME", "username", 0, plain),
        column("STATE", "active", 6, active),
        column("GROUPS", "groups", 0, groups),
        column("2FA", "two_factor", 4, yes),
        column("CODES", "recovery_codes", 5, plain),
        column("OPEN", "sessions", 4, plain),
        column("LOGIN", "last_login_at", 6, age),
    ]
}

fn preview(row: &Json, _: Option<&Json>, _: &Json, now: i64) -> Lines {
    let names = [
        ("Created", "created_at"),
        ("Last login", "last_login_at"),
        ("Sessions", "sessions"),
        ("Codes left", "recovery_codes"),
    ];
    let mut lines = members(row, &names, now);
    lines.extend(others(row, &names, &["username", "active", "two_factor"], now));
    lines.push((Role::Plain, format!("{:<12} {}", "Groups", groups(row, "groups", now).0)));
    if row["two_factor"] == false {
        let say = "No authenticator yet: the next login sets it up.";
        lines.push((Role::Warn, say.to_owned()));
    }
    lines
}
