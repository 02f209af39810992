//! Flags that choose rows of a list

use clap::Args;
use cms_http::client::Ask;

/// Which rows, in which order.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Choose {
    /// Only rows that fulfil column=value or column:op=value, op one of eq ne gt gte lt lte in nin
    /// contains starts_with ends_with null; or JSON that combines conditions by and, or, not:
    /// '{"or":[{"status":{"eq":"new"}},{"total":{"gte":10}}]}'; may be repeated
    #[arg(long = "where", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<Condition>,
    /// Order by these columns, - in front for descending: -created,title
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Only rows with this text in a column that is searched
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// One condition of the command line.
#[derive(Clone, Debug, PartialEq)]
enum Condition {
    /// A parameter and its value.
    Column(String, String),
    /// JSON for the parameter `filter`.
    Json(String),
}

impl Choose {
    /// The request, for these rows alone.
    pub(crate) fn ask(&self, ask: Ask) -> Ask {
        let ask = self.conditions.iter().fold(ask, |ask, condition| match condition {
            Condition::Column(name, value) => ask.query(name, value),
            Condition::Json(_) => ask,
        });
        ask.maybe("filter", self.json())
            .maybe("sort", self.sort.as_ref())
            .maybe("search", self.search.as_ref())
    }

    /// All JSON in one, because the service takes the parameter once.
    fn json(&self) -> Option<String> {
        let json = self.conditions.iter().filter_map(|condition| match condition {
            Condition::Json(json) => Some(json.as_str()),
            Condition::Column(..) => None,
        });
        match json.collect::<Vec<_>>().as_slice() {
            [] => None,
            [one] => Some((*one).to_owned()),
            several => Some(format!("{{\"and\":[{}]}}", several.join(","))),
        }
    }
}

/// Reads `column:op=value` as the query parameter `filter[column][op]`, and JSON as it is.
fn condition(text: &str) -> Result<Condition, String> {
    if text.trim_start().starts_with('{') {
        // Read here too: several are put together, and one that is cut off would change the others.
        let read = serde_json::from_str::<&serde_json::value::RawValue>(text);
        return match read {
            Ok(_) => Ok(Condition::Json(text.to_owned())),
            Err(why) => Err(format!("this is no JSON ({why})")),
        };
    }
    let form = "write column=value or column:op=value, such as total:gte=100";
    let (left, value) = text.split_once('=').ok_or(form)?;
    let (column, op) = left.rsplit_once(':').unwrap_or((left, "eq"));
    if column.is_empty() || op.is_empty() {
        return Err(form.to_owned());
    }
    Ok(Condition::Column(format!("filter[{column}][{op}]"), value.to_owned()))
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
            let expected =
                expected.map(|(name, value)| Condition::Column(name.to_owned(), value.to_owned()));
            assert_eq!(condition(text).ok(), expected, "{text}");
        }
        for (text, is_json) in [(r#" {"a":{"eq":1}}"#, true), ("{", false), ("{}]}", false)] {
            let expected = is_json.then(|| Condition::Json(text.to_owned()));
            assert_eq!(condition(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn json_is_sent_once() {
        let given = |conditions: &[&str]| {
            let conditions = conditions.iter().map(|text| condition(text).expect(text)).collect();
            Choose { conditions, ..Choose::default() }.json()
        };
        let (one, other) = (r#"{"a":{"eq":1}}"#, r#"{"b":{"eq":2}}"#);
        assert_eq!(given(&["a=1"]), None);
        assert_eq!(given(&[one, "a=1"]).as_deref(), Some(one));
        let both = format!("{{\"and\":[{one},{other}]}}");
        assert_eq!(given(&[one, other]), Some(both));
    }
}
