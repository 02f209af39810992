//! The records that show a file: columns that hold its path, or a text with it; pages whose widgets
//! do.

use std::time::Duration;

use serde_json::Value as Json;

use super::{Media, TABLE};
use crate::{
    Code, Error, Result,
    content::{Column, Table},
    db::Kind,
    items::{Filter, Op, Query},
};

/// Places that are told at most.
const TOLD: usize = 20;
/// How long is looked. Adopted tables may have millions of rows and no index.
const PATIENCE: Duration = Duration::from_secs(10);

/// A record that shows a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The content table.
    pub table: String,
    /// Id of the record; of a table without a key empty.
    pub id: String,
    /// The column; of a page `draft` or `published`.
    pub column: String,
}

impl Media {
    /// The records that show a file, 20 at most.
    ///
    /// # Errors
    /// `not_found`; `unavailable` when the tables cannot be looked through in 10 s.
    pub async fn uses(&self, id: i64) -> Result<Vec<Use>> {
        let record: Json = serde_json::from_str(&self.get(id).await?).map_err(Error::internal)?;
        let path = record["path"].as_str().unwrap_or_default();
        let found = tokio::time::timeout(PATIENCE, self.uses_of(path)).await;
        found.unwrap_or_else(|_| {
            let detail = "The tables are too large to see in 10 s whether the file is in use: \
                          delete it with force=true, or index their image columns.";
            Err(Error::new(Code::Unavailable, detail))
        })
    }

    async fn uses_of(&self, path: &str) -> Result<Vec<Use>> {
        let (items, mut uses) = (&self.0.items, Vec::new());
        for table in items.tables().iter().filter(|table| table.name != TABLE) {
            let columns = table.columns.iter().filter_map(|column| Some((column, look(column)?)));
            for (column, op) in columns {
                let values = vec![path.to_owned()];
                let filter = Filter { column: column.name.clone(), op, values };
                let key = table.key_columns().map(|key| key.name.clone()).collect();
                let left = u32::try_from(TOLD - uses.len()).unwrap_or(1);
                let query =
                    Query { filters: vec![filter], fields: key, limit: left, ..Query::default() };
                let page = items.list(&table.name, &query).await?.records;
                let rows: Vec<Json> =
                    serde_json::from_str(&format!("[{page}]")).map_err(Error::internal)?;
                uses.extend(rows.iter().map(|row| Use {
                    table: table.name.clone(),
                    id: spelled(table, row),
                    column: column.name.clone(),
                }));
                if uses.len() >= TOLD {
                    return Ok(uses);
                }
            }
        }
        let (drafts, shown) = self.0.pages.holding(path, TOLD - uses.len()).await?;
        let of_page = |column: &str, id: i64| Use {
            table: "pages".to_owned(),
            id: id.to_string(),
            column: column.to_owned(),
        };
        uses.extend(drafts.into_iter().map(|id| of_page("draft", id)));
        uses.extend(shown.into_iter().map(|id| of_page("published", id)));
        uses.truncate(TOLD);
        Ok(uses)
    }
}

/// How a column can hold a path.
fn look(column: &Column) -> Option<Op> {
    match (column.kind, column.field_type.as_str()) {
        (Kind::Text, "image") => Some(Op::Eq),
        (Kind::Text, "richtext_editor" | "textarea" | "code_editor") => Some(Op::Contains),
        _ => None,
    }
}

fn spelled(table: &Table, row: &Json) -> String {
    let mut key = table.key_columns().map(|column| &row[&column.name]);
    match (key.len(), key.next()) {
        (1, Some(Json::String(id))) => id.clone(),
        (1, Some(id)) => id.to_string(),
        (0, _) => String::new(),
        _ => Json::Array(table.key_columns().map(|column| row[&column.name].clone()).collect())
            .to_string(),
    }
}
