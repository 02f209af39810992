//! Flags that choose records, and what is shown of them

use clap::Args;
use cms_http::client::Ask;

use crate::reply::Choose;

const ITEM: &str = "/api/backend/item";

/// Which records, in which order, and which of their columns.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Filters {
    #[command(flatten)]
    choose: Choose,
    /// Only these columns
    #[arg(long, value_name = "COLUMNS")]
    fields: Option<String>,
    /// Only versions in this language
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
}

impl Filters {
    /// The request for the first page.
    pub(crate) fn ask(&self, table: &str) -> Ask {
        self.choose
            .ask(Ask::get(ITEM).query("table", table))
            .maybe("fields", self.fields.as_ref())
            .maybe("language", self.language.as_ref())
    }
}
