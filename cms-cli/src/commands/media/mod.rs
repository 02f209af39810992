//! `cms media`: uploaded files, through `/api/backend/media`

mod saved;
mod upload;

use std::path::PathBuf;

use clap::Subcommand;
use cms_core::media::Use;
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody,
        media::{Check, Checking, Read, Uses, WhichMedia},
        parameters::{ById, NoQuery},
    },
};
use serde_json::json;

use self::{
    saved::{MEDIA, Saved, print},
    upload::UploadArgs,
};
use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output, table},
    prompt,
    reply::{self, Paging},
    site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum MediaCommand {
    /// List files, newest first
    #[command(after_help = "Example: cms media list --folder products --type image/ --all")]
    List {
        /// Only files of this folder; '' for those of none
        #[arg(long)]
        folder: Option<String>,
        /// Only types that begin so, such as image/
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// Only files whose name, path or folder contains this
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Upload files; content that is there already is not stored again
    Upload(UploadArgs),
    /// Show a file's record
    Show {
        /// Id or path of the file
        file: String,
    },
    /// Change texts, name, folder and focal point: the members of a JSON object
    #[command(
        after_help = "Example: echo '{\"alt\":{\"en\":\"A red bicycle\"}}' | cms media edit 7 -"
    )]
    Edit {
        /// Id or path of the file
        file: String,
        /// File with the JSON; - for standard input
        changes: PathBuf,
    },
    /// List the places that show a file: records and funnels, 20 at most
    Uses {
        /// Id or path of the file
        file: String,
    },
    /// Delete files for good; refused while one is in use
    Delete {
        /// Ids or paths of the files
        #[arg(required = true)]
        files: Vec<String>,
        /// Also files that are in use
        #[arg(long)]
        force: bool,
    },
    /// Compare the media folder with the database; exit code 1 when files are missing
    Check {
        /// Remove files without a record
        #[arg(long)]
        remove: bool,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: MediaCommand) -> Done {
    site::with(flags, out, async |site| at(flags, out, &site.client, command).await).await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: MediaCommand) -> Done {
    match command {
        MediaCommand::List { folder, kind, search, paging } => {
            let columns = ["id", "path", "file_name", "size", "width", "height", "folder"];
            let query = |limit, cursor| WhichMedia {
                id: None,
                folder: folder.clone(),
                r#type: kind.clone(),
                search: search.clone(),
                limit,
                cursor,
            };
            reply::list::<Read>(out, client, &paging, &columns, query).await
        }
        MediaCommand::Upload(args) => upload::run(out, client, &args).await,
        MediaCommand::Show { file } => print(out, &Saved::find(client, &file).await?.answer),
        MediaCommand::Edit { file, changes } => {
            let body = input::text(&changes)?;
            let saved = Saved::find(client, &file).await?;
            let ask = Ask::patch(MEDIA).query("id", saved.id).text(body);
            print(out, &client.send(ask.if_match(saved.answer.etag)).await?)
        }
        MediaCommand::Uses { file } => uses(out, client, &file).await,
        MediaCommand::Delete { files, force } => delete(flags, out, client, &files, force).await,
        MediaCommand::Check { remove } => check(out, client, remove).await,
    }
}

async fn uses(out: &Output, client: &Client, file: &str) -> Done {
    let id = Saved::find(client, file).await?.id;
    let (answer, found) = reply::call::<Uses>(client, &ById { id }, &NoBody).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let row = |one: &Use| {
        let holder = one.table.clone().unwrap_or_else(|| "funnel".to_owned());
        vec![holder, one.id.clone(), one.part.clone()]
    };
    let found = found.data;
    let rows: Vec<_> = found.uses.iter().map(row).collect();
    if !rows.is_empty() {
        table::rows(out, &["in", "id", "part"], &rows)?;
    }
    match (found.hidden, rows.len()) {
        (0, 0) => out.note("Nothing shows the file."),
        (0, _) => {}
        (hidden, _) => out.note(&format!("{hidden} more that you may not read.")),
    }
    Ok(())
}

/// Stops at the first failure.
async fn delete(
    flags: &Flags,
    out: &Output,
    client: &Client,
    files: &[String],
    force: bool,
) -> Done {
    let named = files.join(", ");
    prompt::confirm(flags, &format!("Delete {named}? This cannot be undone."))?;
    let mut deleted = Vec::new();
    for file in files {
        let gone = async {
            let saved = Saved::find(client, file).await?;
            let ask = Ask::delete(MEDIA).query("id", saved.id);
            let ask = ask.maybe("force", force.then_some(true));
            client.send(ask.if_match(saved.answer.etag)).await?;
            Done::Ok(saved.id)
        };
        match gone.await {
            Ok(id) => deleted.push(id),
            Err(failure) if deleted.is_empty() => return Err(failure),
            Err(mut failure) => {
                failure.exit = Exit::Partly;
                return Err(failure.fact("deleted", deleted));
            }
        }
    }
    out.done(&json!({"deleted": deleted}), &format!("Deleted: {named}"))
}

async fn check(out: &Output, client: &Client, remove: bool) -> Done {
    let (answer, checked) = reply::call::<Check>(client, &NoQuery {}, &Checking { remove }).await?;
    reply::show(out, &answer.body, &checked.data)?;
    let found = checked.data;
    if found.lost > 0 {
        let what = format!("{} of the records have lost their file", found.lost);
        return Err(Failure::new(Exit::Failed, what).hint("upload these files again"));
    }
    if found.orphans > found.removed {
        out.note(
            "Files without a record go by themselves within a day: --remove removes them now.",
        );
    }
    Ok(())
}
