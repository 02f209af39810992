//! Flags that choose rows of a table

use clap::Args;
use cms_http::client::Ask;

const ITEM: &str = "/api/backend/item";

/// Which rows, in which order, and which of their columns.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Filters {
    /// Only rows that fulfil column=value or column:op=value, op one of eq ne gt gte lt lte in nin
    /// contains starts_with ends_with null; may be repeated
    #[arg(long = "where", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<(String, String)>,
    /// Order by these columns, - in front for descending: -created,title
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Only these columns
    #[arg(long, value_name = "COLUMNS")]
    fields: Option<String>,
    /// Only versions in this language
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
    /// Only rows with this text in one of their columns
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

impl Filters {
    /// The request for the first page.
    pub(crate) fn ask(&self, table: &str) -> Ask {
        let ask = Ask::get(ITEM).query("table", table);
        let ask = self.conditions.iter().fold(ask, |ask, (name, value)| ask.query(name, value));
        ask.maybe("sort", self.sort.as_ref())
            .maybe("fields", self.fields.as_ref())
            .maybe("language", self.language.as_ref())
            .maybe("search", self.search.as_ref())
    }
}

/// Reads `column:op=value` as the query parameter `filter[column][op]`.
fn condition(text: &str) -> Result<(String, String), String> {
    let form = "write column=value or column:op=value, such as total:gte=100";
    let (left, value) = text.split_once('=').ok_or(form)?;
    let (column, op) = left.rsplit_once(':').unwrap_or((left, "eq"));
    if column.is_empty() || op.is_empty() {
        return Err(form.to_owned());
    }
    Ok((format!("filter[{column}][{op}]"), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions() {
        let table = [
            ("a=1", Some(("filter[a][eq]", "1"))),
            ("a:gte=1", Some(("filter[a][gte]", "1"))),
            ("a:eq=x=y:z", Some(("filter[a][eq]", "x=y:z"))),
            ("a=", Some(("filter[a][eq]", ""))),
            ("a", None),
            ("=1", None),
            ("a:=1", None),
        ];
        for (text, expected) in table {
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(condition(text).ok(), expected, "{text}");
        }
    }
}
