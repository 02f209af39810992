//! Formats of files with rows

use std::path::Path;

use clap::ValueEnum;

use crate::site::Site;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Column names on the first line, then rows; an empty cell is null, "" is an empty text
    Csv,
    /// A JSON object on each line
    Jsonl,
}

impl Format {
    /// The format that a file's name tells.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            _ => None,
        }
    }
}

/// Which CSV columns hold JSON.
#[derive(Clone, Debug)]
pub(crate) enum JsonColumns {
    /// These columns.
    Known(Vec<String>),
    /// These columns, and every cell that holds an object or an array.
    Guessed(Vec<String>),
}

impl JsonColumns {
    /// Asks the site when it is open here. Over the network the types of columns are unknown.
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
