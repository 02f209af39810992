//! Content tables: what there is to edit.

use cms_http::wire::tables::{Read, WhichTables};

use super::{browser::by_id, cells::number, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    rows: |_, data| by_id(data, "name"),
    preview: |row, _, _, _| described(row),
    open: Some(|row, _| Step::Open(Place::about("records", row))),
    empty: "No content table that you may read.",
    poll_s: 10,
    ..Spec::new("content", |_| "Content".to_owned(), columns, list, act)
};

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Read>(&WhichTables {
        limit: Limit(PAGE),
        cursor: asked.cursor.clone(),
        ..WhichTables::default()
    })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("TABLE", "name", 0, plain),
        column("PLUGIN", "plugin", 14, plain),
        column("ROWS", "rows", 9, number),
        column("LANGUAGES", "languages", 12, plain),
        column("ADOPTED", "adopted", 7, yes),
    ]
}

/// The columns of a table.
fn described(row: &Json) -> Lines {
    let columns = items(&row["columns"]).iter();
    let line = |column: &Json| {
        let mut text =
            format!("{:<22} {:<12}", plain_text(&column["name"]), plain_text(&column["type"]));
        for (is, word) in [("key", " key"), ("required", " required"), ("has_default", " default")]
        {
            if column[is] == true {
                text.push_str(word);
            }
        }
        if let Some(table) = column["references"].as_str() {
            text.push_str(&format!(" → {}", safe(table)));
        }
        (Role::Plain, text)
    };
    let mut lines: Vec<_> = columns.map(line).collect();
    let indexes = items(&row["indexes"]).iter();
    lines.extend(indexes.map(|index| (Role::Quiet, format!("index {}", plain_text(index)))));
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    match (verb, scene.row) {
        ("records", Some(row)) => Step::Open(Place::about("records", row)),
        ("columns", Some(row)) => {
            let title = format!("Columns of {}", plain_text(&row["name"]));
            Step::View(Viewer::new(title, described(row)))
        }
        _ => Step::None,
    }
}
