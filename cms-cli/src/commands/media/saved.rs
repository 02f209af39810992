//! A file as it is saved

use cms_core::media::MediaFile;
use cms_http::{
    client::{Answer, Ask, Client},
    wire::{
        Data, NoBody, OneOrPage, Record,
        media::{Read, WhichMedia},
    },
};

use crate::{
    output::{Done, Exit, Failure, Output},
    reply,
};

pub(super) const MEDIA: &str = "/api/backend/media";

/// A file with the reply that shows it.
pub(super) struct Saved {
    pub(super) id: i64,
    pub(super) answer: Answer,
}

impl Saved {
    /// Finds a file by its id or its path.
    pub(super) async fn find(client: &Client, file: &str) -> Done<Self> {
        let id = match file.parse() {
            Ok(id) => id,
            Err(_) => at(client, file).await?,
        };
        let answer = client.send(Ask::get(MEDIA).query("id", id)).await?;
        Ok(Self { id, answer })
    }
}

async fn at(client: &Client, path: &str) -> Done<i64> {
    let asked = WhichMedia { search: Some(path.to_owned()), ..WhichMedia::default() };
    let found: Vec<MediaFile> = match client.call::<Read>(&asked, &NoBody).await? {
        OneOrPage::Page(page) => page.data,
        OneOrPage::One(_) => Vec::new(),
    };
    found.iter().find(|file| file.path == path).map(|file| file.id).ok_or_else(|| {
        let what = format!("there is no file {path}");
        Failure::new(Exit::NotFound, what).hint("name its id or its path: cms media list")
    })
}

/// Prints the record in a reply.
pub(super) fn print(out: &Output, answer: &Answer) -> Done {
    let file: Data<Record> = serde_json::from_str(&answer.body).map_err(Failure::unexpected)?;
    reply::show(out, &answer.body, &file.data)
}
