//! The primary key of a record, as the parameter `id` writes it: a bare value, or a JSON array for
//! a composite key.

use data_encoding::{BASE64, HEXLOWER};
use serde_json::Value;

use crate::{
    Code, Error, Result,
    content::{Column, Table, check},
    db::dialect::Kind,
};

/// Values of the key's columns in order, in canonical form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key(pub(super) Vec<Value>);

impl Key {
    /// Parses the parameter `id`.
    pub(super) fn parse(table: &Table, id: &str) -> Result<Self> {
        if !table.writable() {
            return Err(Error::new(
                Code::BadQuery,
                format!("{} has no primary key: read it as a list, with filters.", table.name),
            ));
        }
        let wanted = table.key.len();
        let parts: Vec<Value> = if wanted == 1 {
            vec![id.into()]
        } else {
            serde_json::from_str(id)
                .ok()
                .filter(|parts: &Vec<Value>| parts.len() == wanted)
                .ok_or_else(|| composite(table))?
        };
        let values = table
            .key_columns()
            .zip(&parts)
            .map(|(column, part)| check::value(column, table.dialect, part));
        values.collect::<Result<_, _>>().map(Self).map_err(|e| {
            Error::new(
                Code::BadQuery,
                format!("id does not match the key column {}: {}.", e.field, e.message),
            )
        })
    }

    /// Parses the JSON array that the database returns for a key.
    pub(super) fn from_json(table: &Table, json: &str) -> Result<Self> {
        let parts: Vec<Value> = serde_json::from_str(json).map_err(Error::internal)?;
        let values = table.key_columns().zip(parts).map(|(column, part)| match column.kind {
            Kind::Binary => Ok(part),
            _ => check::value(column, table.dialect, &part),
        });
        values.collect::<Result<_, _>>().map(Self).map_err(|e| Error::internal(e.message))
    }

    /// The values as records show them.
    fn shown(&self, table: &Table) -> Vec<Value> {
        let shown = |(column, value): (&Column, &Value)| match (column.kind, value) {
            (Kind::Binary, Value::String(hex)) => HEXLOWER
                .decode(hex.as_bytes())
                .map_or(Value::Null, |bytes| BASE64.encode(&bytes).into()),
            _ => value.clone(),
        };
        table.key_columns().zip(&self.0).map(shown).collect()
    }

    /// As the parameter `id` writes it.
    pub(super) fn spelled(&self, table: &Table) -> String {
        match self.shown(table).as_slice() {
            [Value::String(text)] => text.clone(),
            [one] => one.to_string(),
            many => Value::from(many).to_string(),
        }
    }

    /// As JSON: one value, or an array.
    pub(super) fn json(&self, table: &Table) -> Value {
        match self.shown(table).as_slice() {
            [one] => one.clone(),
            many => Value::from(many),
        }
    }
}

fn composite(table: &Table) -> Error {
    let names: Vec<_> = table.key_columns().map(|column| column.name.as_str()).collect();
    Error::new(
        Code::BadQuery,
        format!(
            "{} has a key of several columns: give id as a JSON array of [{}].",
            table.name,
            names.join(", ")
        ),
    )
}
