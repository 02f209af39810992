//! Logs slow lists, with the index to declare for them.

use tokio::time::Instant;

use super::{Op, query::Query};
use crate::{content::Table, db::Kind};

/// Measures one list.
pub(super) struct Watch(Instant);

impl Watch {
    pub(super) fn begin() -> Self {
        Self(Instant::now())
    }

    /// Logs the list when it took `slow_ms` or longer.
    pub(super) fn end(self, slow_ms: u64, table: &Table, query: &Query) {
        let took_ms = self.0.elapsed().as_millis();
        if slow_ms == 0 || took_ms < u128::from(slow_ms) {
            return;
        }
        let table_name = &table.name;
        match advice(table, query) {
            Some(index) => {
                tracing::warn!(table = table_name, took_ms, "slow list: declare the index {index}");
            }
            None => tracing::warn!(
                table = table_name,
                took_ms,
                "slow list: no index serves it; filter by eq, or sort by fewer columns"
            ),
        }
    }
}

/// The index that would serve a list: columns with one value, then the order or a range. None when
/// no column can be part of an index.
fn advice(table: &Table, query: &Query) -> Option<String> {
    let mut columns: Vec<String> = Vec::new();
    let mut add = |name: &str, text: String| {
        let fits = table.columns.iter().any(|column| {
            column.name == name
                && column.readable()
                && !matches!(column.kind, Kind::Json | Kind::Binary)
        });
        let is_key = table.key_columns().any(|key| key.name == name);
        if fits && !is_key && !columns.iter().any(|c| c.trim_start_matches('-') == name) {
            columns.push(text);
        }
    };
    for filter in query.filters.iter().filter(|filter| matches!(filter.op, Op::Eq | Op::In)) {
        add(&filter.column, filter.column.clone());
    }
    if table.multilanguage && query.language.is_some() {
        add("language_short", "language_short".to_owned());
    }
    for (name, descending) in &query.sort {
        add(name, format!("{}{name}", if *descending { "-" } else { "" }));
    }
    if query.sort.is_empty() {
        let range = |op| matches!(op, Op::Gt | Op::Gte | Op::Lt | Op::Lte | Op::Null);
        if let Some(filter) = query.filters.iter().find(|filter| range(filter.op)) {
            add(&filter.column, filter.column.clone());
        }
    }
    let list: Vec<_> = columns.iter().map(|column| format!("\"{column}\"")).collect();
    (!list.is_empty()).then(|| format!("[{}] of {}", list.join(", "), table.name))
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::{content::Column, db::Dialect};

    #[test]
    fn a_slow_list_is_told_its_index() {
        let column = |name: &str, kind| Column::declared(name, kind);
        let table = Table {
            name: "blog".to_owned(),
            source: "blog".to_owned(),
            plugin: "p".to_owned(),
            columns: vec![
                column("id", Kind::Integer),
                column("status", Kind::Text),
                column("at", Kind::DateTime),
                column("tags", Kind::Json),
                column("language_short", Kind::Text),
            ],
            key: vec![0],
            multilanguage: true,
            adopted: false,
            require_if_match: false,
            silent: false,
            dialect: Dialect::Sqlite,
            object: OnceLock::new(),
        };
        for (query, expected) in [
            ("filter[status]=x&sort=-at", Some(r#"["status", "-at"] of blog"#)),
            (
                "sort=-at&filter[status]=x&language=en",
                Some(r#"["status", "language_short", "-at"] of blog"#),
            ),
            ("sort=status,-at,-id", Some(r#"["status", "-at"] of blog"#)),
            ("filter[at][gt]=2026-01-01", Some(r#"["at"] of blog"#)),
            ("filter[status][in]=a,b&sort=-status", Some(r#"["status"] of blog"#)),
            ("search=x", None),
            ("filter[tags]=[]&sort=id", None),
        ] {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let query_ = Query::parse(pairs).expect(query);
            assert_eq!(advice(&table, &query_).as_deref(), expected, "{query}");
        }
    }
}
