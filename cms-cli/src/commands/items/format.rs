//! Files of rows: CSV or JSON Lines

use std::path::Path;

use clap::ValueEnum;

use crate::site::Site;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line of column names, then a line for each row; an empty cell is null, "" an empty text
    Csv,
    /// A JSON object on each line
    Jsonl,
}

impl Format {
    /// By the name of the file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            _ => None,
        }
    }
}

/// Which CSV cells are JSON.
#[derive(Clone, Debug)]
pub(crate) enum JsonColumns {
    /// These.
    Known(Vec<String>),
    /// Those that hold an object or an array, and these.
    Guessed(Vec<String>),
}

impl JsonColumns {
    /// The site knows its columns when it is open here; over the network nothing tells them.
    pub(crate) fn of(site: &Site, table: &str, given: &[String]) -> Self {
        let known = site.cms.as_ref().and_then(|cms| cms.tables().find(table)).map(|table| {
            let json =
                table.columns.iter().filter(|column| column.kind == cms_core::db::Kind::Json);
            json.map(|column| column.name.clone()).chain(given.iter().cloned()).collect()
        });
        known.map_or_else(|| Self::Guessed(given.to_vec()), Self::Known)
    }

    pub(crate) fn named(&self, column: &str) -> bool {
        let (Self::Known(names) | Self::Guessed(names)) = self;
        names.iter().any(|name| name == column)
    }
}
