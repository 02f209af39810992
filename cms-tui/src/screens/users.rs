//! Users: people who may log in.

use std::collections::BTreeSet;

use cms_http::wire::{
    user_groups,
    users::{
        Create, Delete, NewRecoveryCodes, OfUser, Read, ResetSecondFactor, Revoke, Sessions,
        Update, WhichSessions,
    },
};

use super::{acts::Kind, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    preview,
    empty: "No users. n makes one.",
    sorts: sorted::<Read>,
    ..Spec::new("users", |_| "Users".to_owned(), columns, listed::<Read>, act)
};

/// Members that change by themselves.
const MOVING: [&str; 4] = ["two_factor", "recovery_codes", "sessions", "last_login_at"];

/// How users are changed. Groups are read with their ids and sent by name.
static USER: Kind = Kind {
    body: |mut members| {
        if let Some(groups) = members["groups"].as_array() {
            let name = |group: &Json| group.get("name").unwrap_or(group).clone();
            members["groups"] = groups.iter().map(name).collect();
        }
        members
    },
    ..Kind::new("user", acts::again::<Read>, &MOVING)
};

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

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "new" => with_groups(None),
        "edit" => with_groups(Some(row)),
        "toggle" => acts::toggle::<Update>(scene, &USER),
        "passwd" => passwd(row),
        "sessions" => sessions(&row, scene.now),
        "end_sessions" => {
            let text = format!("End all sessions of {}?", name(&row));
            Step::Confirm(Confirm::new(text, move || {
                let said = format!("All sessions of {} are ended", name(&row));
                get::<Revoke>(&WhichSessions { id: id(&row), session: None }).did(said)
            }))
        }
        "reset" => reset(row),
        "codes" => codes(row),
        "delete" => acts::delete::<Delete>(&USER, &row, "All sessions end."),
        _ => Step::None,
    }
}

/// Reads the groups, then shows the form.
fn with_groups(row: Option<Json>) -> Step {
    let all = OneOrList::page(Limit(500), None);
    get::<user_groups::Read>(&all).then(move |reply| form(row, &reply).step())
}

fn form(row: Option<Json>, groups: &Reply) -> Form {
    let names = |groups: &Json| -> Vec<String> {
        let groups = items(groups).iter();
        groups.filter_map(|group| group["name"].as_str()).map(str::to_owned).collect()
    };
    let options = names(&groups.data).into_iter().map(|name| (String::new(), name)).collect();
    let given = row.clone().unwrap_or_default();
    let chosen: BTreeSet<_> = names(&given["groups"]).into_iter().collect();
    let username = given["username"].as_str().unwrap_or_default();
    let mut fields = vec![
        Field::text("username", "Name", username).required(),
        Field::many("groups", "Groups", options, chosen).required(),
    ];
    let Some(row) = row else {
        fields.insert(1, Field::secret("password", "Password").required().hint("12 characters"));
        fields.push(Field::flag("active", "Active", true));
        let note = "The first login sets up the authenticator.";
        return Form::new("New user", fields, |values| {
            let said = format!("{} is made", values.text("username"));
            send_json::<Create>(&NoQuery {}, Json::Object(values.all.clone())).did(said)
        })
        .note(note);
    };
    acts::edit::<Update>(&USER, row, fields)
}

fn passwd(row: Json) -> Step {
    let fields = vec![Field::secret("password", "New password").required()];
    let note = "All sessions of the user end.";
    Form::new(format!("New password for {}", name(&row)), fields, move |values| {
        let say = format!("{} has a new password", name(&row));
        send_json::<Update>(&by_id(&row), Json::Object(values.all.clone())).did(say)
    })
    .note(note)
    .step()
}

fn sessions(row: &Json, now: i64) -> Step {
    let of = OfUser { id: id(row), limit: Limit(200), cursor: None, count: None };
    let title = format!("Sessions of {}", name(row));
    get::<Sessions>(&of).then(move |reply| {
        let rows = items(&reply.data).iter();
        let text = |row: &Json, name: &str| row[name].as_str().unwrap_or("").to_owned();
        let line = |row: &Json| {
            let seen = moment::age(&text(row, "last_seen_at"), now);
            let (address, agent) = (text(row, "address"), text(row, "user_agent"));
            let line = format!("#{:<6} {address:<20} {seen:>5}  {agent}", id(row));
            (Role::Plain, safe(&line).into_owned())
        };
        let mut lines: Vec<_> = rows.map(line).collect();
        if lines.is_empty() {
            lines.push((Role::Quiet, "No session is open.".to_owned()));
        }
        Step::View(Viewer::new(title, lines))
    })
}

fn reset(row: Json) -> Step {
    let named = name(&row);
    let text = format!(
        "Remove the authenticator and the recovery codes of {named}? The next login sets up new \
         ones."
    );
    let confirm = Confirm::new(text, move || {
        let say = format!("{} sets up an authenticator at the next login", name(&row));
        get::<ResetSecondFactor>(&by_id(&row)).did(say)
    });
    Step::Confirm(confirm.typing(named))
}

fn codes(row: Json) -> Step {
    let text = format!("Replace the recovery codes of {} by eight new ones?", name(&row));
    Step::Confirm(Confirm::new(text, move || {
        get::<NewRecoveryCodes>(&by_id(&row)).then(move |reply| {
            let codes: Vec<_> = texts(&reply.data["recovery_codes"]).collect();
            let about = "Each is good for one login without the authenticator.";
            let title = format!("Recovery codes of {}", name(&row));
            Step::Several(vec![
                Step::did(format!("{} has new recovery codes", name(&row))),
                Step::View(Viewer::once(title, about, codes.join("\n"))),
            ])
        })
    }))
}
