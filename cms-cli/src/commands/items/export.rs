//! `cms items export`: all matching rows, page by page, in constant memory

use std::{
    borrow::Cow,
    collections::BTreeSet,
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;
use cms_core::{content::significant_digits, plain::shown};
use cms_http::wire::Page;
use serde_json::json;

use super::{Format, JsonColumns, rows::Filters};
use crate::{
    output::{
        Done, Exit, Failure, Output, Progress, Visible, WholeFile, csv_text,
        record::{Record, readable},
    },
    reply::LARGEST_PAGE,
    site::Site,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms items export blog --out blog.jsonl
  cms items export orders --where status=paid --sort id > paid.csv

Without --format and --out it writes CSV; with --json instead of both, one REST body with all rows.
In CSV an empty cell is null, \"\" is an empty text, and cells of JSON columns hold JSON. Where
there is one column, null is a line with a comma. In JSON Lines numbers that a double would round
are text.

Texts in CSV stay as they are, also those that a spreadsheet takes for a formula. If strangers may
have written them, import the file into the spreadsheet with all columns as text.")]
pub(crate) struct ExportArgs {
    /// Content table
    table: String,
    /// Format, if the name of --out does not tell it
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// CSV column that holds JSON; may be repeated. Only needed over the network, with a key or
    /// user without the right to see the columns of the table
    #[arg(long = "json-column", value_name = "COLUMN")]
    json_columns: Vec<String>,
    #[command(flatten)]
    filters: Filters,
}

pub(crate) async fn run(out: &Output, site: &Site, args: &ExportArgs) -> Done {
    let form = match args.format.or_else(|| Format::of(args.out.as_deref()?)) {
        Some(Format::Csv) => Form::Csv,
        Some(Format::Jsonl) => Form::Jsonl,
        None if out.json && args.out.is_none() => Form::Body,
        None => Form::Csv,
    };
    let rows = match &args.out {
        None => pages(out, site, args, form, &mut Visible::stdout(out)).await?,
        Some(path) => {
            let mut file = WholeFile::private(path)?;
            let rows = pages(out, site, args, form, &mut file).await?;
            file.done()?;
            rows
        }
    };
    if out.json && args.out.is_some() {
        out.data(&json!({"table": args.table, "rows": rows}))?;
    }
    Ok(())
}

async fn pages(
    out: &Output,
    site: &Site,
    args: &ExportArgs,
    form: Form,
    to: &mut impl Write,
) -> Done<u64> {
    let mut json = match form {
        Form::Csv => JsonColumns::of(out, site, &args.table, &args.json_columns).await?,
        Form::Jsonl | Form::Body => JsonColumns::Known(Vec::new()),
    };
    let first = args.filters.ask(&args.table).query("limit", LARGEST_PAGE);
    let (mut cursor, mut rows, mut progress): (Option<String>, u64, Option<Progress>) =
        (None, 0, None);
    let mut columns = Vec::new();
    loop {
        // Counted with the first request only, for the progress bar.
        let counted = (rows == 0 && out.live).then_some(true);
        let body = site
            .client
            .send(first.clone().maybe("cursor", cursor.as_deref()).maybe("count", counted))
            .await?
            .body;
        let page: Page<Record> = serde_json::from_str(&body).map_err(Failure::unexpected)?;
        let progress = progress.get_or_insert_with(|| {
            let total = page.meta.total.and_then(|total| u64::try_from(total).ok());
            Progress::new(out, "export", total)
        });
        if rows == 0 {
            columns = head(form, &page.data, &mut json, to)?;
        }
        for record in &page.data {
            write(form, record, &columns, &json, rows, to)?;
            rows += 1;
        }
        progress.at(rows, rows);
        cursor = page.meta.next;
        if cursor.is_none() {
            if form == Form::Body {
                writeln!(to, "],\"meta\":{{\"limit\":{},\"next\":null}}}}", page.meta.limit)?;
            }
            to.flush()?;
            progress.end("written");
            return Ok(rows);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Csv,
    Jsonl,
    Body,
}

/// Writes what comes before the first row, and returns the names of a CSV header. Where columns are
/// guessed, one holds JSON if the first page has an object or an array in it.
fn head(
    form: Form,
    page: &[Record],
    json: &mut JsonColumns,
    to: &mut impl Write,
) -> io::Result<Vec<String>> {
    if let JsonColumns::Guessed(names) = json {
        let structured =
            page.iter().flat_map(Record::iter).filter(|(_, raw)| raw.starts_with(['{', '[']));
        names.extend(structured.map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>());
    }
    match (form, page.first()) {
        (Form::Body, _) => write!(to, "{{\"data\":[")?,
        (Form::Csv, Some(first)) => {
            line(first.names().map(Some), to)?;
            return Ok(first.names().map(str::to_owned).collect());
        }
        _ => {}
    }
    Ok(Vec::new())
}

fn write(
    form: Form,
    record: &Record,
    columns: &[String],
    json: &JsonColumns,
    number: u64,
    to: &mut impl Write,
) -> Done {
    match form {
        Form::Csv => {
            let row = cells(record, columns, json, number)?;
            line(row.iter().map(Option::as_deref), to)?;
        }
        Form::Jsonl => writeln!(to, "{}", object(record, form))?,
        Form::Body => write!(to, "{}{}", if number == 0 { "" } else { "," }, object(record, form))?,
    }
    Ok(())
}

/// The cells of a record under the header's names. Hooks on reads of the site may add and remove
/// members in some records only.
fn cells<'r>(
    record: &'r Record,
    columns: &[String],
    json: &JsonColumns,
    number: u64,
) -> Done<Vec<Option<Cow<'r, str>>>> {
    if let Some(name) = record.names().find(|name| !columns.iter().any(|known| known == name)) {
        let row = number + 1;
        let why = format!("row {row} has a member {name:?}, for which the first row has no column");
        return Err(Failure::new(Exit::Failed, why).hint("export JSON Lines with --format jsonl"));
    }
    let cell = |name: &String| match record.raw(name)? {
        "null" => None,
        raw if json.named(name) => Some(Cow::Borrowed(raw)),
        raw => Some(readable(raw)),
    };
    Ok(columns.iter().map(cell).collect())
}

fn line<'a>(cells: impl Iterator<Item = Option<&'a str>>, to: &mut impl Write) -> io::Result<()> {
    let mut text = String::new();
    for (number, cell) in cells.enumerate() {
        if number > 0 {
            text.push(',');
        }
        csv_text::push_cell(&mut text, cell);
    }
    // A blank line is no row. This is null in the only column.
    if text.is_empty() {
        text.push(',');
    }
    writeln!(to, "{text}")
}

fn object(record: &Record, form: Form) -> String {
    let fields = record.iter().map(|(name, raw)| {
        let quote = if form == Form::Jsonl && is_rounded(raw) { "\"" } else { "" };
        format!("{}:{quote}{raw}{quote}", serde_json::Value::from(name))
    });
    shown(&format!("{{{}}}", fields.collect::<Vec<_>>().join(","))).into_owned()
}

/// Whether this is a number whose digits a parsed number does not keep: the service keeps them only
/// as text.
fn is_rounded(raw: &str) -> bool {
    let digits = |text: &str| significant_digits(text.as_bytes()).collect::<Vec<_>>();
    let is_integer = raw.parse::<i64>().is_ok() || raw.parse::<u64>().is_ok();
    let parsed = raw.parse::<f64>();
    !is_integer && parsed.is_ok_and(|number| digits(&format!("{number:e}")) != digits(raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_under_the_names_of_the_header() {
        let (columns, json) = (["a", "b"].map(str::to_owned), JsonColumns::Known(Vec::new()));
        let row = |text: &str| -> Done<String> {
            let record: Record = serde_json::from_str(text).expect("a record");
            let mut written = Vec::new();
            write(Form::Csv, &record, &columns, &json, 4, &mut written)?;
            Ok(String::from_utf8(written).expect("text"))
        };
        for (record, expected) in [
            (r#"{"a":1,"b":"x"}"#, "1,x\n"),
            (r#"{"b":"x","a":1}"#, "1,x\n"),
            (r#"{"b":"x"}"#, ",x\n"),
            (r#"{"a":null}"#, ",\n"),
        ] {
            assert_eq!(row(record).expect("a row"), expected, "{record}");
        }
        let refused = row(r#"{"a":1,"c":2}"#).expect_err("a name that the header lacks");
        let why = "row 5 has a member \"c\", for which the first row has no column";
        assert_eq!((refused.exit, refused.what.as_str()), (Exit::Failed, why));
    }

    #[test]
    fn numbers_that_a_parser_rounds_are_text() {
        for (raw, is_text) in [
            ("0.30000000000000004", false),
            ("18446744073709551615", false),
            ("-1.50", false),
            ("1e-07", false),
            ("true", false),
            ("-123456789012345678.5", true),
            ("0.12345678901234567", true),
            ("9007199254740993.0", true),
        ] {
            let row = format!("{{\"a\":{raw}}}");
            let record: Record = serde_json::from_str(&row).expect("a record");
            assert_eq!(object(&record, Form::Body), row);
            let expected = if is_text { format!("{{\"a\":\"{raw}\"}}") } else { row };
            assert_eq!(object(&record, Form::Jsonl), expected);
        }
    }
}
