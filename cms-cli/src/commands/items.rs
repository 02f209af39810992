//! `cms items`: rows of content tables, through `/api/backend/item`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use cms_http::client::Ask;
use serde_json::json;

use crate::{
    args::Global,
    commands::{export, import},
    exit::Exit,
    failure::{Done, Failure},
    input,
    output::Output,
    paging::{self, Paging, unexpected},
    prompt,
    record::{One, Record},
    site::Site,
    table,
};

pub(crate) const ITEM: &str = "/api/backend/item";

/// Which rows, and how much of them.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Filters {
    /// column=value or column:op=value, op one of eq ne gt gte lt lte in nin contains starts_with
    /// ends_with null
    #[arg(long = "where", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<(String, String)>,
    /// Columns, - in front for descending: -created,title
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Only these columns
    #[arg(long, value_name = "COLUMNS")]
    fields: Option<String>,
    /// Only versions in this language
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
    /// Rows with this text in some column
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ItemsCommand {
    /// Rows of a table
    #[command(after_help = "Examples:
  cms items list blog --where published=true --sort -published_at --limit 5
  cms items list orders --where 'total:gte=100' --where 'status:in=new,paid' --count")]
    List {
        table: String,
        #[command(flatten)]
        filters: Filters,
        #[command(flatten)]
        paging: Paging,
        /// Also count all matching rows
        #[arg(long)]
        count: bool,
    },
    /// One row
    Get {
        table: String,
        id: String,
        /// Its version in this language
        #[arg(long, value_name = "LANGUAGE")]
        lang: Option<String>,
    },
    /// Add a row (a JSON object), or several (an array; all or none)
    #[command(after_help = "Example: echo '{\"name\":\"Ada\"}' | cms items create authors -")]
    Create {
        table: String,
        /// File, or - for standard input
        file: PathBuf,
    },
    /// Change the columns that a JSON object names
    Update {
        table: String,
        id: String,
        /// File, or - for standard input
        file: PathBuf,
        /// Only if the row still has this entity tag (cms items get -v shows it)
        #[arg(long, value_name = "ETAG")]
        if_match: Option<String>,
        /// Its version in this language
        #[arg(long, value_name = "LANGUAGE")]
        lang: Option<String>,
    },
    /// Remove rows
    Delete {
        table: String,
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Add the rows of a CSV or JSON Lines file
    Import(import::ImportArgs),
    /// Write rows as CSV or JSON Lines
    Export(export::ExportArgs),
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

/// `col:op=value` as the query parameter `filter[col][op]`.
fn condition(text: &str) -> Result<(String, String), String> {
    let form = "write column=value or column:op=value, such as total:gte=100";
    let (left, value) = text.split_once('=').ok_or(form)?;
    let (column, op) = left.rsplit_once(':').unwrap_or((left, "eq"));
    if column.is_empty() || op.is_empty() {
        return Err(form.to_owned());
    }
    Ok((format!("filter[{column}][{op}]"), value.to_owned()))
}

pub(crate) async fn run(global: &Global, out: &Output, site: &Site, command: ItemsCommand) -> Done {
    match command {
        ItemsCommand::List { table, filters, paging, count } => {
            let ask = filters.ask(&table).maybe("count", count.then_some(true));
            paging::print(out, &site.client, ask, &paging, &[]).await
        }
        ItemsCommand::Get { table, id, lang } => {
            record(
                out,
                site,
                Ask::get(ITEM).query("table", table).query("id", id).maybe("language", lang),
            )
            .await
        }
        ItemsCommand::Create { table, file } => {
            record(out, site, Ask::post(ITEM).query("table", table).text(input::text(&file)?)).await
        }
        ItemsCommand::Update { table, id, file, if_match, lang } => {
            let ask =
                Ask::patch(ITEM).query("table", table).query("id", id).maybe("language", lang);
            record(out, site, ask.text(input::text(&file)?).if_match(if_match)).await
        }
        ItemsCommand::Delete { table, ids } => delete(global, out, site, &table, &ids).await,
        ItemsCommand::Import(args) => import::run(out, site, args).await,
        ItemsCommand::Export(args) => export::run(out, site, &args).await,
    }
}

/// Sends, and prints what comes back: one record or several.
async fn record(out: &Output, site: &Site, ask: Ask) -> Done {
    let answer = site.client.send(ask).await?;
    if let Some(etag) = &answer.etag {
        out.detail(&format!("ETag: {etag}"));
    }
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    // Without paging there is no meta.
    let several: Result<Several, _> = serde_json::from_str(&answer.body);
    match several {
        Ok(several) => Ok(table::records(out, &[], &several.data, Record::shown)?),
        Err(_) => Ok(table::record(
            out,
            &serde_json::from_str::<One>(&answer.body).map_err(unexpected)?.data,
            Record::shown,
        )?),
    }
}

#[derive(serde::Deserialize)]
struct Several {
    data: Vec<Record>,
}

async fn delete(global: &Global, out: &Output, site: &Site, table: &str, ids: &[String]) -> Done {
    prompt::confirm(
        global,
        &format!("Delete {} of {table}? This cannot be undone.", ids.join(", ")),
    )?;
    for (done, id) in ids.iter().enumerate() {
        if let Err(error) =
            site.client.send(Ask::delete(ITEM).query("table", table).query("id", id)).await
        {
            let mut failure = Failure::from(error);
            if done == 0 {
                return Err(failure);
            }
            out.note(&format!("Deleted before that: {}", ids[..done].join(", ")));
            failure.exit = Exit::Partly;
            return Err(failure.fact("deleted", ids[..done].to_vec()));
        }
    }
    if out.json {
        return Ok(out.data(&json!({"deleted": ids}))?);
    }
    out.note(&format!("Deleted: {}", ids.join(", ")));
    Ok(())
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
