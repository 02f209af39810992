//! Files that visitors send: bound to their session and a field, judged by their bytes.

use std::sync::Arc;

use serde_json::{Map, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::OwnedSemaphorePermit,
};

use super::{
    session::Session,
    sql::{self, NewFile},
    start::{DAY_MS, OF_ADDRESS},
    types::Uploaded,
    visit::{Visit, is_file, missing, open},
};
use crate::{
    Change, Code, Error, Result,
    db::args,
    fields::{Field, Upload},
    funnels::{Funnels, graph::Node},
    ground::{crypto::sha256_hex, plain},
    mail::shortened,
    media::kinds,
};

/// Maximum number of files of a session, and of their bytes together.
const FILES: i64 = 20;
const BYTES: i64 = 50 << 20;
/// Maximum characters of a name.
const NAME: usize = 200;

/// Maximum number of files of all visits that no answer holds, and of their bytes together.
const WAITING: i64 = 10_000;
const WAITING_BYTES: i64 = 2 << 30;
/// Maximum of such files for visits that began at one address, so that no address uses up the room
/// of all.
const WAITING_NEAR: i64 = 200;
const WAITING_NEAR_BYTES: i64 = 100 << 20;
/// Maximum of files that answers hold, for visits that began at one address on a day.
const DAILY_NEAR: i64 = 1_000;
const DAILY_NEAR_BYTES: i64 = 1 << 30;
/// Seconds after which a refused file may be sent again: while others wait, and after a full day.
const AGAIN_S: u64 = 60;
const AGAIN_DAILY_S: u64 = 3_600;

/// A file that may be stored.
pub struct JudgedFile {
    /// Its permit for one of the files in memory.
    _place: OwnedSemaphorePermit,
    field: String,
    name: String,
    media_type: &'static str,
    content: Vec<u8>,
}

impl std::fmt::Debug for JudgedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JudgedFile").field("size", &self.content.len()).finish_non_exhaustive()
    }
}

impl Funnels {
    /// Judges a file by its size and first bytes, then reads it.
    ///
    /// # Errors
    /// `not_found`, `already_completed`, `session_expired`; `validation_failed` for a field that
    /// takes no file or that no presented step asks for, and for a file that the field refuses;
    /// `rate_limited` while too many files from the visitor's address wait for their answers, and
    /// when too many came from the address today; `unavailable` while too many files of all
    /// visitors wait.
    pub async fn judge_file(
        &self,
        visit: &Visit,
        field: &str,
        name: &str,
        size: u64,
        content: &mut (impl AsyncRead + Unpin + Send),
    ) -> Result<JudgedFile> {
        let unreadable = |error: std::io::Error| {
            Error::new(Code::Unavailable, "The file cannot be read.").caused_by(error)
        };
        // Only `upload` locks the session, and judges again.
        let found = self.0.base.db().optional(sql::BY_UUID, args![&visit.uuid]).await?;
        let session: Session = found.ok_or_else(missing)?;
        open(&session, self.0.base.clock().now())?;
        let asked = visit.asked(&session.path, field)?;
        let place = Arc::clone(&self.0.judging).acquire_owned().await.map_err(Error::internal)?;
        self.check_room(visit).await?;
        let mut bytes = Vec::new();
        let mut head = content.take(kinds::HEAD as u64);
        head.read_to_end(&mut bytes).await.map_err(unreadable)?;
        let media_type = kinds::media_type(&bytes);
        visit.judge(asked, media_type, size)?;
        let most = u64::try_from(BYTES).unwrap_or(u64::MAX);
        if size == 0 || size > most {
            let message = format!("a file of 1 to {most} bytes is expected");
            return Err(Error::invalid_field(field, "too_large", message));
        }
        let mut rest = content.take(size);
        rest.read_to_end(&mut bytes).await.map_err(unreadable)?;
        let name = shortened(name, NAME).replace(plain::is_hidden, "").replace(['/', '\\'], "_");
        let (field, content) = (field.to_owned(), bytes);
        Ok(JudgedFile { _place: place, field, name, media_type, content })
    }

    /// Checks that one more file may wait for its answer.
    async fn check_room(&self, visit: &Visit) -> Result<()> {
        let db = self.0.base.db();
        let (files, bytes): (i64, i64) = db.one(sql::WAITING, args![false, WAITING]).await?;
        if files >= WAITING || bytes >= WAITING_BYTES {
            let detail = "Too many files wait for their answers: try again later.";
            return Err(Error::new(Code::Unavailable, detail));
        }
        let args = args![false, WAITING_NEAR, &visit.uuid, OF_ADDRESS];
        let (files, bytes): (i64, i64) = db.one(sql::WAITING_NEAR, args).await?;
        if files >= WAITING_NEAR || bytes >= WAITING_NEAR_BYTES {
            let detail = "Too many files from this address wait for their answers: send the steps \
                          that they belong to, or try again later.";
            return Err(Error::new(Code::RateLimited, detail).retry_after(AGAIN_S));
        }
        let since = self.0.base.clock().now() - DAY_MS;
        let args = args![true, DAILY_NEAR, &visit.uuid, OF_ADDRESS, since];
        let (files, bytes): (i64, i64) = db.one(sql::HELD_NEAR, args).await?;
        if files >= DAILY_NEAR || bytes >= DAILY_NEAR_BYTES {
            let detail = "Too many files came from this address today: try again tomorrow.";
            return Err(Error::new(Code::RateLimited, detail).retry_after(AGAIN_DAILY_S));
        }
        Ok(())
    }

    /// Stores a visitor's file. The file is removed after a day if no answer holds it.
    ///
    /// # Errors
    /// `not_found`, `already_completed`, `session_expired`; `validation_failed` for a field of a
    /// step that was not presented, for a file that the field refuses, and for too many files; as
    /// every write.
    pub async fn upload(
        &self,
        change: &mut Change,
        visit: &Visit,
        file: JudgedFile,
    ) -> Result<Uploaded> {
        let mut session = visit.lock(change).await?;
        let now = change.now();
        open(&session, now)?;
        let asked = visit.asked(&session.path, &file.field)?;
        let size = i64::try_from(file.content.len()).unwrap_or(i64::MAX);
        visit.judge(asked, file.media_type, size.unsigned_abs())?;
        let (files, bytes): (i64, i64) = change.one(sql::SENT_SIZE, args![session.id]).await?;
        if files >= FILES || bytes.saturating_add(size) > BYTES {
            let most = BYTES >> 20;
            let message = format!("a visit may send {FILES} files of {most} MiB together");
            return Err(Error::invalid_field(file.field, "too_large", message));
        }
        let JudgedFile { _place, field, name, media_type, content } = file;
        let uid = self.0.base.random().uuid_v4()?;
        let new = NewFile {
            uid: &uid,
            field: &field,
            name: &name,
            media_type,
            sha256: sha256_hex(&content),
            content,
        };
        sql::add_file(change, session.id, new).await?;
        visit.store_presence(change, &mut session).await?;
        Ok(Uploaded { file: uid, media_type: media_type.to_owned(), size })
    }
}

impl Visit {
    /// The field on this path that takes a file. Steps that exclude each other may ask for one file
    /// with other settings.
    fn asked(&self, path: &[i64], field: &str) -> Result<&Field> {
        let on_path = path.iter().filter_map(|id| self.version.graph.node(*id));
        let mut fields = on_path.flat_map(Node::fields);
        fields.find(|one| one.id() == field && is_file(one.type_name())).ok_or_else(|| {
            let message = "a field of the presented step that takes files is expected";
            Error::invalid_field("field", "unknown", message)
        })
    }

    /// Judges a file by the settings of a field.
    fn judge(&self, asked: &Field, media_type: &str, bytes: u64) -> Result<()> {
        let upload = Upload { media_type: media_type.to_owned(), bytes };
        let context = self.context(0).upload("file", upload);
        let answer = if asked.type_name() == "signature" { json!("file") } else { json!(["file"]) };
        let given = Map::from_iter([(asked.id().to_owned(), answer)]);
        asked.take(&given, &context).map(drop).map_err(|fault| Error::invalid(vec![fault]))
    }
}
