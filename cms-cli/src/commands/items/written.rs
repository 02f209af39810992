//! How an export writes rows

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use cms_core::plain::shown;

use super::format::JsonColumns;
use crate::output::{
    csv_text,
    record::{Record, readable},
};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Csv,
    Jsonl,
    Body,
}

/// Writes what stands before the first row. Over the network, a column holds JSON when the first
/// page shows an object or an array in it.
pub(super) fn head(
    form: Form,
    page: &[Record],
    json: &mut JsonColumns,
    to: &mut impl Write,
) -> io::Result<()> {
    if let JsonColumns::Guessed(names) = json {
        let structured =
            page.iter().flat_map(Record::iter).filter(|(_, raw)| raw.starts_with(['{', '[']));
        names.extend(structured.map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>());
    }
    match (form, page.first()) {
        (Form::Body, _) => write!(to, "{{\"data\":["),
        (Form::Csv, Some(first)) => line(first.names().map(Some), to),
        _ => Ok(()),
    }
}

pub(super) fn write(
    form: Form,
    record: &Record,
    json: &JsonColumns,
    number: u64,
    to: &mut impl Write,
) -> io::Result<()> {
    match form {
        Form::Csv => {
            let cells: Vec<_> = record
                .iter()
                .map(|(name, raw)| match raw {
                    "null" => None,
                    _ if json.named(name) => Some(raw.into()),
                    _ => Some(readable(raw)),
                })
                .collect();
            line(cells.iter().map(Option::as_deref), to)
        }
        Form::Jsonl => writeln!(to, "{}", object(record)),
        Form::Body => write!(to, "{}{}", if number == 0 { "" } else { "," }, object(record)),
    }
}

fn line<'a>(cells: impl Iterator<Item = Option<&'a str>>, to: &mut impl Write) -> io::Result<()> {
    let mut text = String::new();
    for (number, cell) in cells.enumerate() {
        if number > 0 {
            text.push(',');
        }
        csv_text::push_cell(&mut text, cell);
    }
    writeln!(to, "{text}")
}

fn object(record: &Record) -> String {
    let fields =
        record.iter().map(|(name, raw)| format!("{}:{raw}", serde_json::Value::from(name)));
    shown(&format!("{{{}}}", fields.collect::<Vec<_>>().join(","))).into_owned()
}
