use cms_core::Random;
use serde_json::{Value as Json, json};

use crate::{
    routes::pagebuilder::{BUILDER, site},
    support::Site,
};

/// The rows of a page as a plain model: ids only.
type Model = Vec<(i64, Vec<(i64, Vec<i64>)>)>;

async fn read(site: &Site) -> Model {
    let list = |json: &Json, name: &str| json[name].as_array().cloned().unwrap();
    let id = |json: &Json| json["id"].as_i64().unwrap();
    let draft = site.draft(1).await.data();
    let widgets = |col: &Json| list(col, "widgets").iter().map(id).collect();
    let cols = |row: &Json| list(row, "cols").iter().map(|col| (id(col), widgets(col))).collect();
    list(&draft, "rows").iter().map(|row| (id(row), cols(row))).collect()
}

/// Any edits in any order: the draft is what the model says, and its places have no gaps.
#[tokio::test]
async fn a_draft_is_what_a_model_of_it_says() {
    let site = site().await;
    let (random, mut model) = (Random::seeded(7), Model::new());
    let draw = |below: usize| -> usize {
        let bytes = random.bytes::<8>().unwrap();
        (u64::from_le_bytes(bytes) % below.max(1) as u64) as usize
    };
    for round in 0..160 {
        let (row, act) = (draw(model.len()), draw(10));
        match act {
            0 | 1 => {
                let at = draw(model.len() + 1);
                let node = json!({"kind": "row", "parent": {"page_id": 1}, "position": at});
                let id = site.add(node).await["id"].as_i64().unwrap();
                model.insert(at, (id, Vec::new()));
            }
            2 | 3 if !model.is_empty() && model[row].1.len() < 12 => {
                let at = draw(model[row].1.len() + 1);
                let parent = json!({"row_id": model[row].0});
                let node = json!({"kind": "col", "parent": parent, "position": at});
                let id = site.add(node).await["id"].as_i64().unwrap();
                model[row].1.insert(at, (id, Vec::new()));
            }
            4..=6 if model.get(row).is_some_and(|row| !row.1.is_empty()) => {
                let col = draw(model[row].1.len());
                let (id, widgets) = &mut model[row].1[col];
                let at = draw(widgets.len() + 1);
                let node = json!({"kind": "widget", "parent": {"col_id": id}, "widget": "title",
                                  "position": at});
                widgets.insert(at, site.add(node).await["id"].as_i64().unwrap());
            }
            7 if !model.is_empty() => {
                let to = draw(model.len());
                let moved = model.remove(row);
                let node = json!({"kind": "row", "id": moved.0, "position": to});
                model.insert(to, moved);
                site.act("move", node).await;
            }
            8 => {
                // A widget from any column to any other, or within its own.
                let cols: Vec<(usize, usize)> = (0..model.len())
                    .flat_map(|row| (0..model[row].1.len()).map(move |col| (row, col)))
                    .collect();
                let full: Vec<_> =
                    cols.iter().filter(|(r, c)| !model[*r].1[*c].1.is_empty()).collect();
                if full.is_empty() {
                    continue;
                }
                let (row, col) = *full[draw(full.len())];
                let from = draw(model[row].1[col].1.len());
                let id = model[row].1[col].1.remove(from);
                let (row, col) = cols[draw(cols.len())];
                let (parent, widgets) = &mut model[row].1[col];
                let to = draw(widgets.len() + 1);
                widgets.insert(to, id);
                let parent = json!({"col_id": parent});
                let node = json!({"kind": "widget", "id": id, "parent": parent, "position": to});
                site.act("move", node).await;
            }
            9 if round % 3 == 0 && !model.is_empty() => {
                let (id, _) = model.remove(row);
                site.delete(&format!("{BUILDER}?kind=row&id={id}")).await;
            }
            _ => {}
        }
        if round % 8 == 0 {
            assert_eq!(read(&site).await, model, "round {round}");
        }
    }
    assert_eq!(read(&site).await, model);
    site.act("publish", json!({"page_id": 1})).await;
    for (id, _) in &model {
        site.delete(&format!("{BUILDER}?kind=row&id={id}")).await;
    }
    site.act("discard", json!({"page_id": 1})).await;
    assert_eq!(read(&site).await, model, "discarding brings all of it back");
    for (table, parent) in [
        ("cms_page_rows", "page_id"),
        ("cms_page_cols", "row_id"),
        ("cms_page_row_col_widget", "col_id"),
    ] {
        let gaps = format!(
            "select count(*) from {table} n where n.sort_order <> (select count(*) from {table} o \
             where o.{parent} = n.{parent} and o.sort_order < n.sort_order)"
        );
        assert_eq!(site.database.count(&gaps).await, 0, "{table}");
    }
}
