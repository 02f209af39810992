//! `cms media`: uploaded files, through `/api/backend/media`

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::{Bytes, BytesMut};
use clap::{Args, Subcommand};
use cms_core::media::{MediaFile, Use};
use cms_http::{
    client::{Answer, Ask, Client, Outgoing},
    wire::{
        NoBody, OneOrPage,
        media::{Check, Checking, Read, Uses, WhichMedia},
        parameters::{ById, ListQuery, NoQuery},
    },
};
use futures_util::stream;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output, Progress, counted, listed, table},
    prompt,
    reply::{self, Paging, Saved},
    site::Site,
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
    Show(Named),
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
    Uses(Named),
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

/// A file.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Id or path of the file
    file: String,
}

pub(crate) async fn run(flags: &Flags, out: &Output, site: &Site, command: MediaCommand) -> Done {
    let client = &site.client;
    match command {
        MediaCommand::List { folder, kind, search, paging } => {
            let mut columns = ["id", "path", "file_name", "size", "width", "height", "folder"];
            if out.table {
                // The path is long: on a terminal it comes last, where narrow ones cut.
                columns[1..].rotate_left(1);
            }
            let query = |limit, cursor| WhichMedia {
                id: None,
                folder: folder.clone(),
                r#type: kind.clone(),
                list: ListQuery { search: search.clone(), ..ListQuery::page(limit, cursor) },
            };
            reply::list::<Read>(out, client, &paging, &columns, query).await
        }
        MediaCommand::Upload(args) => upload(out, client, &args).await,
        MediaCommand::Show(Named { file }) => reply::shown(out, &find(client, &file).await?.answer),
        MediaCommand::Edit { file, changes } => {
            let body = input::text(&changes)?;
            let saved = find(client, &file).await?;
            let ask = Ask::patch(MEDIA).query("id", saved.id).text(body);
            reply::shown(out, &client.send(ask.if_match(saved.answer.etag)).await?)
        }
        MediaCommand::Uses(Named { file }) => uses(out, client, &file).await,
        MediaCommand::Delete { files, force } => delete(flags, out, client, &files, force).await,
        MediaCommand::Check { remove } => check(out, client, remove).await,
    }
}

async fn uses(out: &Output, client: &Client, file: &str) -> Done {
    let id = find(client, file).await?.id;
    reply::printed::<Uses>(out, client, &ById { id }, &NoBody, |found| {
        let row = |one: Use| vec![one.table.unwrap_or("funnel".to_owned()), one.id, one.part];
        let rows: Vec<_> = found.data.uses.into_iter().map(row).collect();
        if !rows.is_empty() {
            table::rows(out, &["in", "id", "part"], &rows)?;
        }
        match (found.data.hidden, rows.len()) {
            (0, 0) => out.note("Nothing shows the file."),
            (0, _) => {}
            (hidden, _) => out.note(&format!("{hidden} more that you may not read.")),
        }
        Ok(())
    })
    .await
}

/// Stops at the first failure.
async fn delete(
    flags: &Flags,
    out: &Output,
    client: &Client,
    files: &[String],
    force: bool,
) -> Done {
    prompt::confirm(flags, &format!("Delete {}? This cannot be undone.", listed(files)))?;
    let deleted = reply::several(out, files, async |file| {
        let saved = find(client, &file).await?;
        let ask = Ask::delete(MEDIA).query("id", saved.id);
        let ask = ask.maybe("force", force.then_some(true));
        client.send(ask.if_match(saved.answer.etag)).await?;
        Ok(saved.id)
    })
    .await?;
    out.done(&json!({"deleted": deleted}), &format!("Deleted: {}", files.join(", ")))
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

const MEDIA: &str = "/api/backend/media";

/// Finds a file by its id or its path.
async fn find(client: &Client, file: &str) -> Done<Saved> {
    let id = match file.parse() {
        Ok(id) => id,
        Err(_) => id_of(client, file).await?,
    };
    Ok(Saved { id, answer: client.send(Ask::get(MEDIA).query("id", id)).await? })
}

async fn id_of(client: &Client, path: &str) -> Done<i64> {
    let list = ListQuery { search: Some(path.to_owned()), ..ListQuery::default() };
    let asked = WhichMedia { list, ..WhichMedia::default() };
    let found: Vec<MediaFile> = match client.call::<Read>(&asked, &NoBody).await? {
        OneOrPage::Page(page) => page.data,
        OneOrPage::One(_) => Vec::new(),
    };
    found.iter().find(|file| file.path == path).map(|file| file.id).ok_or_else(|| {
        let what = format!("there is no file {path}");
        Failure::new(Exit::NotFound, what).hint("name its id or its path: cms media list")
    })
}

/// Bytes that are read at once.
const STEP: usize = 64 << 10;

#[derive(Args, Debug)]
#[command(after_help = "Example: cms media upload --folder products bicycle.jpg manual.pdf")]
pub(crate) struct UploadArgs {
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Folder to file them in, such as products/2026
    #[arg(long, default_value = "")]
    folder: String,
}

/// Stops at the first failure.
async fn upload(out: &Output, client: &Client, args: &UploadArgs) -> Done {
    for (done, path) in args.files.iter().enumerate() {
        match send(out, client, path, &args.folder).await {
            Ok(answer) => {
                if answer.status == http::StatusCode::OK {
                    out.note(&format!("The content of {} is there already.", path.display()));
                }
                reply::shown(out, &answer)?;
            }
            Err(mut failure) => {
                let left = args.files.len() - done - 1;
                if left > 0 {
                    let left = counted(left as u64, "file");
                    failure.what = format!("{}\n  not tried after it: {left}", failure.what);
                }
                if done > 0 {
                    failure.exit = Exit::Partly;
                }
                let failure = failure.fact("file", path.display().to_string());
                return Err(failure.fact("uploaded", done).fact("not_tried", left));
            }
        }
    }
    Ok(())
}

/// Uploads a file; a failure names it.
async fn send(out: &Output, client: &Client, path: &Path, folder: &str) -> Done<Answer> {
    let failed = |error: std::io::Error| Failure::file(path, &error);
    let file = tokio::fs::File::open(path).await.map_err(failed)?;
    let about = file.metadata().await.map_err(failed)?;
    if !about.is_file() {
        return Err(Failure::usage(format!("{} is no file", path.display())));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let progress = Arc::new(Mutex::new(Progress::of_bytes(out, "upload", Some(about.len()))));
    let parts = parts(file, about.len(), progress.clone());
    let outgoing = Outgoing { name, size: about.len(), parts };
    let fields: &[(&str, &str)] = if folder.is_empty() { &[] } else { &[("folder", folder)] };
    let sent = client.upload(&Ask::post(MEDIA), fields, outgoing).await;
    progress.lock().unwrap_or_else(PoisonError::into_inner).clear();
    sent.map_err(|error| {
        let mut failure = Failure::from(error);
        failure.what = format!("{}: {}", path.display(), failure.what);
        failure
    })
}

/// The content of the file, up to the size that it had when it was opened.
fn parts(
    file: tokio::fs::File,
    size: u64,
    progress: Arc<Mutex<Progress>>,
) -> impl futures_util::Stream<Item = std::io::Result<Bytes>> + Send + 'static {
    stream::try_unfold((file, 0), move |(mut file, sent)| {
        let progress = progress.clone();
        async move {
            let room = usize::try_from(size - sent).unwrap_or(STEP).min(STEP);
            if room == 0 {
                return Ok(None);
            }
            let mut part = BytesMut::zeroed(room);
            let read = file.read(&mut part).await?;
            if read == 0 {
                return Err(std::io::Error::other("the file has become shorter"));
            }
            part.truncate(read);
            let sent = sent + read as u64;
            progress.lock().unwrap_or_else(PoisonError::into_inner).at(sent, sent);
            Ok(Some((part.freeze(), (file, sent))))
        }
    })
}
