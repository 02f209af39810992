//! Origins: websites whose pages may call.

use cms_http::wire::origins::{Create, Delete, Read, Update};

use super::{acts::Kind, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    preview: |row, _, _, now| {
        let names = [("Origin", "origin"), ("Added", "created_at"), ("Active", "active")];
        [members(row, &names, now), others(row, &names, &[], now)].concat()
    },
    empty: "No origins: only pages of the site's own host may call. n adds one.",
    sorts: sorted::<Read>,
    ..Spec::new("origins", |_| "Origins".to_owned(), columns, listed::<Read>, act)
};

/// How origins are changed.
static ORIGIN: Kind = Kind::new("origin", acts::again::<Read>, &[]);

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("ORIGIN", "origin", 0, plain),
        column("STATE", "active", 6, active),
        column("AGE", "created_at", 5, age),
    ]
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "new" => {
            let fields = vec![
                Field::text("origin", "Origin", "https://").required().hint("scheme://host[:port]"),
                Field::flag("active", "Active", true),
            ];
            Form::new("New origin", fields, |values| {
                let said = format!("{} may call", values.text("origin"));
                send_json::<Create>(&NoQuery {}, Json::Object(values.all.clone())).did(said)
            })
            .step()
        }
        "toggle" => acts::toggle::<Update>(scene, &ORIGIN),
        "delete" => acts::delete::<Delete>(&ORIGIN, &row, "Its pages can no longer call."),
        _ => Step::None,
    }
}
