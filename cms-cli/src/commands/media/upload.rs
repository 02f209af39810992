//! `cms media upload`: files sent part by part

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::{Bytes, BytesMut};
use clap::Args;
use cms_http::client::{Answer, Ask, Client, Outgoing};
use futures_util::stream;
use tokio::io::AsyncReadExt as _;

use super::saved::{MEDIA, print};
use crate::output::{Done, Exit, Failure, Output, Progress};

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
pub(super) async fn run(out: &Output, client: &Client, args: &UploadArgs) -> Done {
    for (done, path) in args.files.iter().enumerate() {
        match send(out, client, path, &args.folder).await {
            Ok(answer) => {
                if answer.status == http::StatusCode::OK {
                    out.note(&format!("The content of {} is there already.", path.display()));
                }
                print(out, &answer)?;
            }
            Err(failure) if done == 0 => return Err(failure),
            Err(mut failure) => {
                failure.exit = Exit::Partly;
                return Err(failure.fact("uploaded", done));
            }
        }
    }
    Ok(())
}

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
    Ok(sent?)
}

/// The file as long as it was when it was opened.
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
