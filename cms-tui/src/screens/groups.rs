//! Groups and their rights.

use std::collections::BTreeSet;

use cms_http::wire::{
    checklist::{Apply, Table},
    permissions,
    user_groups::{Create, Delete, Read, Update},
};

use super::{acts::Kind, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    preview,
    open: Some(|row, _| with_permissions(Some(row.clone()))),
    empty: "No groups. n makes one.",
    sorts: sorted::<Read>,
    ..Spec::new("groups", |_| "Groups".to_owned(), columns, listed::<Read>, act)
};

/// How groups are changed.
static GROUP: Kind = Kind::new("group", acts::again::<Read>, &[]);

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NAME", "name", 0, plain),
        column("MEMBERS", "members", 7, plain),
        column("RIGHTS", "rights", 18, rights),
        column("AGE", "created_at", 5, age),
    ]
}

fn rights(row: &Json, name: &str, _: i64) -> Cell {
    match row[name].as_array() {
        Some(keys) => (count(keys.len(), "right"), Role::Plain),
        None => ("everything".to_owned(), Role::Warn),
    }
}

fn preview(row: &Json, _: Option<&Json>, _: &Json, now: i64) -> Lines {
    let mut lines = others(row, &[], &["name", "rights", "members", "created_at"], now);
    match row["rights"].as_array() {
        None => lines.push((Role::Warn, "Its members may do everything.".to_owned())),
        Some(keys) if keys.is_empty() => lines.push((Role::Quiet, "It has no rights.".to_owned())),
        _ => {
            let keys = texts(&row["rights"]);
            lines.extend(keys.map(|key| (Role::Plain, safe(key).into_owned())));
        }
    }
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "new" => with_permissions(None),
        "rights" => with_permissions(Some(row)),
        "rename" => {
            let fields = vec![Field::text("name", "Name", &name(&row)).required()];
            Form::new(format!("Rename {}", name(&row)), fields, move |values| {
                let wanted = json!({"name": values.text("name")});
                acts::change::<Update>(&GROUP, &row, wanted, "is renamed")
            })
            .step()
        }
        "permissions" => get::<permissions::List>(&all()).then(|reply| {
            let lines = options(&reply).into_iter();
            let line = |(plugin, key)| (Role::Plain, format!("{plugin:<16} {key}"));
            Step::View(Viewer::new("Permission keys", lines.map(line).collect()))
        }),
        "delete" => acts::delete::<Delete>(&GROUP, &row, ""),
        _ => Step::None,
    }
}

fn all() -> Listing {
    Listing { limit: Limit(500), ..Listing::default() }
}

/// Plugin and key of every permission.
fn options(known: &Reply) -> Vec<(String, String)> {
    let known = items(&known.data).iter();
    let text = |row: &Json, name: &str| safe(row[name].as_str().unwrap_or("")).into_owned();
    known.map(|row| (text(row, "plugin"), text(row, "key"))).collect()
}

/// Reads the permission keys, then shows the form.
fn with_permissions(row: Option<Json>) -> Step {
    get::<permissions::List>(&all()).then(move |reply| form(row, &reply).step())
}

fn form(row: Option<Json>, known: &Reply) -> Form {
    let given = row.clone().unwrap_or_default();
    let held: BTreeSet<_> = texts(&given["rights"]).map(str::to_owned).collect();
    let is_admin = given["rights"] == "0";
    let mut fields = vec![
        Field::flag("admin", "Everything", is_admin),
        Field::many("rights", "Rights", options(known), held).hint("_view reads, _edit changes"),
    ];
    let Some(row) = row else {
        fields.insert(0, Field::text("name", "Name", "").required());
        return Form::new("New group", fields, |values| {
            let body = json!({"name": values.text("name"), "rights": rights_of(values)});
            let said = format!("{} is made", values.text("name"));
            send_json::<Create>(&NoQuery {}, body).did(said)
        });
    };
    Form::new(format!("Rights of {}", name(&row)), fields, move |values| {
        change_rights(row.clone(), rights_of(values))
    })
}

/// `"0"` is everything.
fn rights_of(values: &Values) -> Json {
    match values.all["admin"] == true {
        true => "0".into(),
        false => values.all["rights"].clone(),
    }
}

const DONE: &str = "has its new rights";

/// Grants and revokes only the differences from what was shown.
fn change_rights(row: Json, wanted: Json) -> Step {
    let (Some(seen), Some(want)) = (row["rights"].as_array(), wanted.as_array()) else {
        // "Everything" cannot be granted or revoked key by key.
        return acts::change::<Update>(&GROUP, &row, json!({"rights": wanted}), DONE);
    };
    let without = |from: &[Json], these: &[Json]| -> Vec<Json> {
        from.iter().filter(|key| !these.contains(key)).cloned().collect()
    };
    let (add, remove) = (without(want, seen), without(seen, want));
    if add.is_empty() && remove.is_empty() {
        return Step::tell("Nothing was changed.");
    }
    let granted = acts::merge(&GROUP, row, "rights", add, remove, |row, now, add, remove| {
        if !now.data["rights"].is_array() {
            return Err(Fault::new("Its members may do everything meanwhile: look again."));
        }
        let body = json!({
            "table": "user_groups", "column": "rights", "id": id(row),
            "add": add, "remove": remove,
        });
        send_json::<Apply>(&Table::default(), body)
    });
    Act::one(granted, DONE, "").step()
}
