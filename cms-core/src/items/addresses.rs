//! Finds invalid values in columns of addresses: they were written before the rule, or by
//! other software.

use serde_json::Value as Json;

use super::{Items, Query, Record};
use crate::{
    Address, Result,
    content::{Column, Table},
    ground::MAX_LIMIT,
};

/// A value that should be an address but is not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenAddress {
    /// The table, as the API names it.
    pub table: String,
    /// The id of the row.
    pub id: String,
    /// The column, or the place in the row.
    pub column: String,
    /// What is wrong, and how to mend it.
    pub problem: String,
}

impl Items {
    /// Values of records that should be addresses but are not, at most `most`. Tables are read
    /// page by page.
    pub(crate) async fn broken_addresses(&self, most: usize) -> Result<Vec<BrokenAddress>> {
        let mut found = Vec::new();
        for table in self.tables().iter() {
            let is_address =
                |c: &&Column| c.readable() && Address::of_type(&c.field_type).is_some();
            let columns: Vec<&Column> = table.columns.iter().filter(is_address).collect();
            if columns.is_empty() || !table.writable() {
                continue;
            }
            let names = table.key_columns().chain(columns.iter().copied());
            let mut query = Query { limit: MAX_LIMIT, ..Query::default() };
            for name in names.map(|column| &column.name) {
                if !query.fields.contains(name) {
                    query.fields.push(name.clone());
                }
            }
            loop {
                let page = self.list(&table.name, &query).await?;
                for row in &page.records()? {
                    found.extend(columns.iter().filter_map(|column| broken(table, column, row)));
                    if found.len() >= most {
                        found.truncate(most);
                        return Ok(found);
                    }
                }
                query.cursor = page.next;
                if query.cursor.is_none() {
                    break;
                }
            }
        }
        Ok(found)
    }
}

fn broken(table: &Table, column: &Column, row: &Record) -> Option<BrokenAddress> {
    let text = row.value(&column.name).as_str()?;
    let kind = Address::of_type(&column.field_type)?;
    let problem = kind.problem(text).filter(|_| !text.is_empty() || column.required)?;
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let key: Vec<&Json> = table.key_columns().map(|key| row.value(&key.name)).collect();
    let id = match key.as_slice() {
        [one] => text(one),
        several => serde_json::to_string(several).unwrap_or_default(),
    };
    Some(BrokenAddress { table: table.name.clone(), id, column: column.name.clone(), problem })
}
