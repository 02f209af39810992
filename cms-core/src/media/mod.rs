//! Media: files that editors upload and websites show. The content table `media` holds their
//! records; this room accepts, serves and removes the files.
//!
//! ```text
//! incoming  an upload: written and hashed part by part, judged, put in its place
//! kinds     the type that a file's bytes show; extensions, what browsers show (pure)
//! shape     the size of a picture, and whether a file is complete, by its structure
//! name      names in the media folder (pure)
//! files     a file as it is served; files on the disk of this machine
//! variants  smaller pictures, made once
//! store     where files lie: the media folder, or a bucket
//! bucket    an S3-compatible store
//! uses      the records, pages and funnels that show a file
//! sweep     files in doubt; files without rows removed, rows without files reported
//! sql       statements
//! ```
//!
//! A row exists only for a complete file. Storing and removing a file take the same lock, and a
//! removal checks under that lock that no row exists. So equal content uploaded meanwhile is
//! not lost.

#[cfg(feature = "s3")]
mod bucket;
mod files;
mod incoming;
pub(crate) mod kinds;
mod name;
mod shape;
pub(crate) mod sql;
mod store;
mod sweep;
mod uses;
mod variants;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Map, Value as Json, json};

use self::{
    store::{Fate, Store},
    sweep::Doubtful,
};
use crate::{
    Actor, Change, Code, Error, Millis, Result,
    base::Base,
    db::{Lock, watched},
    events::{MEDIA_DELETED, MEDIA_UPLOADED, MediaData},
    items::{IfMatch, Items, List, Query, Record, Written},
    pages::Pages,
    rfc3339,
};

pub use crate::events::MediaFile;
#[cfg(feature = "s3")]
pub(crate) use bucket::{ObjectWriter, Objects};
pub(crate) use files::opened;
pub use files::{Content, Remote, Served};
pub use incoming::{Incoming, Ready};
pub use name::Name;
pub(crate) use store::Files;
pub use store::reach_bucket;
pub use sweep::CheckedFiles;
pub use uses::{Holder, TOLD, Use};
pub use variants::{Found, Unmade, WIDTHS};

/// The content table.
const TABLE: &str = "media";
/// The columns that a search looks in.
const SEARCHED: [&str; 3] = ["file_name", "path", "folder"];
/// A bucket counts as away after this many failed removals; a single one may be the fault of
/// its object.
const FAILURES: u32 = 2;
/// Held while a file and its row are stored or removed.
const TURN: Lock = Lock::new(20);

/// The media of a site: `cms.media()`.
#[derive(Clone)]
pub struct Media(Arc<Inner>);

struct Inner {
    base: Base,
    items: Items,
    pages: Pages,
    store: Store,
    doubtful: Doubtful,
    /// Held while a variant is made: one at a time limits the memory that variants take.
    making: Arc<tokio::sync::Mutex<()>>,
    made: Arc<AtomicU64>,
}

/// The outcome of an upload.
#[derive(Debug)]
pub enum Stored {
    /// A new file, once its change commits.
    New(Name, Box<Written>),
    /// The content is already stored, with this id.
    Present(i64),
}

impl Media {
    pub(crate) fn new(base: &Base, items: &Items, pages: &Pages) -> Result<Self> {
        let store = Store::of(base.settings())?;
        let (base, items, pages) = (base.clone(), items.clone(), pages.clone());
        Ok(Self(Arc::new(Inner {
            base,
            items,
            pages,
            store,
            doubtful: Doubtful::default(),
            making: Arc::default(),
            made: Arc::default(),
        })))
    }

    fn folder(&self) -> &Path {
        &self.0.base.settings().dirs.media
    }

    fn now(&self) -> Millis {
        self.0.base.clock().now()
    }

    /// Files, newest first unless `sort` says otherwise, a page at a time. A search looks in name,
    /// path and folder, unless `search_in` names columns.
    pub async fn list(&self, query: &Query) -> Result<List> {
        let mut query = query.clone();
        if query.sort.is_empty() {
            query.sort.push(("id".to_owned(), true));
        }
        if query.search_in.is_empty() {
            query.search_in = SEARCHED.map(str::to_owned).to_vec();
        }
        self.0.items.list(TABLE, &query).await
    }

    /// The record of a file.
    pub async fn get(&self, id: i64) -> Result<Record> {
        self.0.items.get(TABLE, &id.to_string(), &Query::default()).await
    }

    /// Stores a file with its row and the event `media.uploaded`. Content that is already stored
    /// is not stored again.
    ///
    /// # Errors
    /// `validation_failed` for an invalid folder; `unavailable` when the disk is full, or the
    /// bucket does not answer; as every write.
    pub async fn store(&self, change: &mut Change, ready: Ready, folder: &str) -> Result<Stored> {
        // Kept until the end: its drop lets `tidy` remove a staged file that was not stored.
        let Ready { place: from, staged: _staged, name, kind, given, size, pixels } = ready;
        self.take_turn(change).await?;
        if let Some(id) = sql::by_content(change, name.sha256()).await? {
            // Restores the file if it was lost.
            self.place_unless_there(from, &name).await?;
            return Ok(Stored::Present(id));
        }
        let now = change.now();
        let record = json!({
            "path": name.path(),
            "file_name": given,
            "media_type": kind.media_type,
            "size": size,
            "width": pixels.map(|(width, _)| width),
            "height": pixels.map(|(_, height)| height),
            "sha256": name.sha256(),
            "folder": folder,
            "uploaded_at": rfc3339(now - now.rem_euclid(1000)),
        });
        let record = record.as_object().cloned().unwrap_or_default();
        let written = self.0.items.insert(change, TABLE, &record).await?;
        let shown = Json::Object(written.record.values().clone());
        change.raise_own(MEDIA_UPLOADED, &MediaData::of(shown)?).await?;
        self.doubt(&name);
        self.place(from, &name).await?;
        Ok(Stored::New(name, Box::new(written)))
    }

    /// Variants that this process has made since its start.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.0.made.load(Ordering::Relaxed)
    }

    /// Call this after the change that stored a file has committed.
    pub fn settled(&self, name: &Name) {
        self.0.doubtful.settle(name);
    }

    /// Changes texts, name, folder and focal point of a file.
    ///
    /// # Errors
    /// `not_found`, `stale`, `validation_failed` for other columns and wrong values,
    /// `database_error` for columns that do not exist; as every write.
    pub async fn update(
        &self,
        change: &mut Change,
        id: i64,
        if_match: &IfMatch,
        body: &Map<String, Json>,
    ) -> Result<Written> {
        const EDITED: [&str; 6] = ["alt", "title", "file_name", "folder", "focal_x", "focal_y"];
        if let Some(other) = body.keys().find(|name| !EDITED.contains(&name.as_str())) {
            self.0.items.expect_columns(TABLE, body)?;
            let message = format!("only {} change", EDITED.join(", "));
            return Err(Error::invalid_field(other, "read_only", message));
        }
        self.0.items.set(change, TABLE, &id.to_string(), None, if_match, body).await
    }

    /// Removes the row of a file, with the event `media.deleted`. When the change has been
    /// committed, [`Media::discard`] removes the file.
    ///
    /// # Errors
    /// `not_found`, `stale`; as every write.
    pub async fn delete(&self, change: &mut Change, id: i64, if_match: &IfMatch) -> Result<Name> {
        change.lock(TURN).await?;
        let record = self.0.items.remove(change, TABLE, &id.to_string(), None, if_match).await?;
        let path = record["path"].as_str().unwrap_or_default();
        let name = Name::of_path(path).ok_or_else(|| Error::internal("a path of no file"))?;
        change.raise_own(MEDIA_DELETED, &MediaData::of(record)?).await?;
        self.doubt(&name);
        Ok(name)
    }

    /// Removes a file that has no row. A file that cannot be removed now is tried again
    /// every minute.
    pub async fn discard(&self, name: &Name) {
        // Does not wait for a store that has just failed: the file stays in doubt, and `tidy`
        // removes it.
        if !self.0.store.is_away(self.now()) && !self.has_answered(name).await {
            self.0.store.fail(self.now());
        }
    }

    /// Removes a file that has no row. Returns whether the store has answered.
    async fn has_answered(&self, name: &Name) -> bool {
        let fate = self.remove_unless_known(name).await;
        match &fate {
            // If the store forbids the removal, `sweep` tries again and reports it once a day.
            Ok(_) => self.settled(name),
            Err(error) => tracing::warn!(?error, "a file without a row was not removed yet"),
        }
        fate.is_ok()
    }

    /// Removes files left by changes that did not end.
    pub(crate) async fn tidy(&self) {
        let mut failures = 0;
        for name in self.0.doubtful.in_turn() {
            self.0.doubtful.tries(&name);
            failures += u32::from(!self.has_answered(&name).await);
            // Otherwise a store that is away would make a change wait for each of these files.
            if failures == FAILURES && !self.0.store.is_folder() {
                self.0.store.fail(self.now());
                return;
            }
        }
    }

    /// Removes a file and its variants unless there is a row for it.
    async fn remove_unless_known(&self, name: &Name) -> Result<Fate> {
        self.answers(name).await?;
        let (media, name) = (self.clone(), name.clone());
        // Runs in a task of its own: a caller that stops waiting does not end it, and the lock is
        // held until the store has answered.
        let removal = tokio::spawn(watched(async move {
            // On SQLite the commit that removed the row may not be on the disk yet. `large` writes
            // it to the disk first, and begins a transaction of its own.
            let alone = async || media.0.base.change(Actor::System).await?.large().await;
            let mut change = match alone().await {
                // Another process wrote in between. Retrying is safe, since nothing has been
                // read yet.
                Err(error) if error.code() == Code::Unavailable => alone().await?,
                change => change?,
            };
            media.take_turn(&mut change).await?;
            if sql::by_content(&mut change, name.sha256()).await?.is_some() {
                return Ok(Fate::Known);
            }
            let fate = media.remove(&name).await;
            drop(change);
            fate
        }));
        removal.await.map_err(Error::internal)?
    }

    /// Waits until no other change stores or removes a file. Only such changes wait for this one.
    async fn take_turn(&self, change: &mut Change) -> Result<()> {
        if !self.0.store.is_folder() {
            change.extend_idle_timeout().await?;
        }
        change.lock(TURN).await
    }

    fn doubt(&self, name: &Name) {
        self.0.doubtful.add(name);
    }
}
