//! What can be done with users.

use std::collections::BTreeSet;

use cms_http::wire::{
    parameters::{Limit, NoQuery, OneOrList},
    user_groups,
    users::{
        Create, Delete, NewRecoveryCodes, OfUser, ResetSecondFactor, Revoke, Sessions, Update,
        Which,
    },
};
use serde_json::Value as Json;

use super::USER;
use crate::{
    actions::Scene,
    calls::Reply,
    moment,
    screens::acts::{self, by_id, id, name},
    step::{Confirm, Form, Step, get, send_json},
    theme::Role,
    widgets::{field::Field, viewer::Viewer},
};

pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
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
                get::<Revoke>(&Which { id: id(&row), session: None })
                    .map(|call| {
                        let say = format!("All sessions of {} are ended", name(&row));
                        call.then(move |_| Step::did(say))
                    })
                    .into()
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
    get::<user_groups::Read>(&all)
        .map(|call| call.then(move |reply| form(row, &reply).step()))
        .into()
}

fn form(row: Option<Json>, groups: &Reply) -> Form {
    let names = |groups: &Json| -> Vec<String> {
        let groups = groups.as_array().into_iter().flatten();
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
            send_json::<Create>(&NoQuery {}, Json::Object(values.all.clone()))
                .map(|call| call.then(move |_| Step::did(said)))
                .into()
        })
        .note(note);
    };
    Form::new(format!("Edit {}", name(&row)), fields, move |values| {
        if values.changed.is_empty() {
            return Step::Tell("Nothing was changed.".to_owned());
        }
        acts::change::<Update>(&USER, &row, Json::Object(values.changed.clone()), "is saved")
    })
}

fn passwd(row: Json) -> Step {
    let fields = vec![Field::secret("password", "New password").required()];
    let note = "All sessions of the user end.";
    Form::new(format!("New password for {}", name(&row)), fields, move |values| {
        let say = format!("{} has a new password", name(&row));
        send_json::<Update>(&by_id(&row), Json::Object(values.all.clone()))
            .map(|call| call.then(move |_| Step::did(say)))
            .into()
    })
    .note(note)
    .step()
}

fn sessions(row: &Json, now: i64) -> Step {
    let of = OfUser { id: id(row), limit: Limit(200), cursor: None, count: None };
    let title = format!("Sessions of {}", name(row));
    get::<Sessions>(&of)
        .map(|call| {
            call.then(move |reply| {
                let rows = reply.data.as_array().into_iter().flatten();
                let text = |row: &Json, name: &str| row[name].as_str().unwrap_or("").to_owned();
                let line = |row: &Json| {
                    let seen = moment::age(&text(row, "last_seen_at"), now);
                    let (address, agent) = (text(row, "address"), text(row, "user_agent"));
                    let line = format!("#{:<6} {address:<20} {seen:>5}  {agent}", id(row));
                    (Role::Plain, crate::text::safe(&line).into_owned())
                };
                let mut lines: Vec<_> = rows.map(line).collect();
                if lines.is_empty() {
                    lines.push((Role::Quiet, "No session is open.".to_owned()));
                }
                Step::View(Viewer::new(title, lines))
            })
        })
        .into()
}

fn reset(row: Json) -> Step {
    let named = name(&row);
    let text = format!(
        "Remove the authenticator and the recovery codes of {named}? The next login sets up new \
         ones."
    );
    let confirm = Confirm::new(text, move || {
        let say = format!("{} sets up an authenticator at the next login", name(&row));
        get::<ResetSecondFactor>(&by_id(&row)).map(|call| call.then(move |_| Step::did(say))).into()
    });
    Step::Confirm(confirm.typing(named))
}

fn codes(row: Json) -> Step {
    let text = format!("Replace the recovery codes of {} by eight new ones?", name(&row));
    Step::Confirm(Confirm::new(text, move || {
        get::<NewRecoveryCodes>(&by_id(&row))
            .map(|call| {
                call.then(move |reply| {
                    let codes = reply.data["recovery_codes"].as_array().into_iter().flatten();
                    let codes: Vec<_> = codes.filter_map(Json::as_str).collect();
                    let about = "Each is good for one login without the authenticator.";
                    let title = format!("Recovery codes of {}", name(&row));
                    Step::Several(vec![
                        Step::did(format!("{} has new recovery codes", name(&row))),
                        Step::View(Viewer::once(title, about, codes.join("\n"))),
                    ])
                })
            })
            .into()
    }))
}
