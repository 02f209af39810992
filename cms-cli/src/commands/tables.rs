//! `cms tables`: content tables, from `/api/backend/tables`

use clap::Subcommand;
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody, OneOrPage,
        tables::{Read, WhichTables},
    },
};

use crate::{
    flags::Flags,
    output::{Done, Output, table},
    reply::{self, Paging},
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum TablesCommand {
    /// List the content tables that you may read
    List(Paging),
    /// Show the columns of a table
    #[command(after_help = "Example: cms tables show pages")]
    Show {
        /// Name of the table
        name: String,
    },
}

pub(crate) async fn run(_: &Flags, out: &Output, site: &Site, command: TablesCommand) -> Done {
    match command {
        TablesCommand::List(paging) => {
            let columns = ["name", "plugin", "rows", "adopted", "multilanguage"];
            let query = |limit, cursor| WhichTables { limit, cursor, ..WhichTables::default() };
            reply::list::<Read>(out, &site.client, &paging, &columns, query).await
        }
        TablesCommand::Show { name } => show(out, &site.client, name).await,
    }
}

async fn show(out: &Output, client: &Client, name: String) -> Done {
    let asked = WhichTables { name: Some(name), ..WhichTables::default() };
    let answer = client.send(Ask::of::<Read>(&asked, &NoBody)?).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let OneOrPage::One(found) = answer.read::<Read>()? else { return Ok(()) };
    let found = found.data;
    let mut facts = vec![format!("declared by {}", found.plugin), format!("rows: {}", found.rows)];
    facts.extend(found.adopted.then(|| "adopted".to_owned()));
    facts.extend(found.multilanguage.then(|| format!("languages: {}", found.languages.join(","))));
    out.note(&facts.join("; "));
    let yes = |fact: bool| if fact { "yes" } else { "" }.to_owned();
    let rows: Vec<Vec<String>> = found
        .columns
        .into_iter()
        .map(|column| {
            let references = column.references.unwrap_or_default();
            vec![column.name, column.r#type, yes(column.key), yes(column.required), references]
        })
        .collect();
    Ok(table::rows(out, &["column", "type", "key", "required", "references"], &rows)?)
}
