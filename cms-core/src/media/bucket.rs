//! A bucket of an S3-compatible store. The key of an object is the prefix and the path that the
//! file would have in the media folder.
//!
//! ```text
//! objects   whole objects under names of their own
//! link      the address, the client and its timeouts; the names in a folder; the message of
//!           a failure
//! parts     a file sent part by part, and parts that an upload has left
//! ```

mod link;
mod objects;
mod parts;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::{
    Error as Fault, GetOptions, GetRange, ObjectMeta, ObjectStore as _, ObjectStoreExt as _,
    aws::AmazonS3, client::HttpClient, path::Path as Key,
};
use tokio::sync::{Mutex, Semaphore};

pub(crate) use self::objects::{ObjectWriter, Objects};
use self::{
    link::{answered, unreachable, within},
    parts::Sending,
};
use super::{
    files::{Content, Opened},
    name::Name,
};
use crate::{Code, Error, Millis, Result, settings};

/// Timeout of a response of the store; sending a part may take longer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a response that a change waits for: short, because others wait for the change.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest pause while an object is read.
const PAUSE: Duration = Duration::from_secs(30);
/// How long the result of a check for the bucket is reused.
const PROBE_TTL: Duration = Duration::from_secs(10);
/// Parts that may be in memory at the same time, for all uploads together.
const AT_ONCE: usize = 4;

/// A bucket.
pub(super) struct Bucket {
    store: AmazonS3,
    /// For the one call that `store` lacks.
    client: HttpClient,
    address: String,
    region: String,
    /// The name from the settings, for messages.
    name: String,
    /// The prefix of every key; empty: none.
    prefix: Key,
    /// Each part in memory holds a permit.
    turns: Semaphore,
    sending: Sending,
    /// When the bucket was last checked, and whether it was reachable.
    known: Mutex<Option<(Instant, bool)>>,
    pub(super) removals: Removals,
}

impl Bucket {
    /// Sends no request to the store yet.
    pub(super) fn new(settings: &settings::MediaSettings) -> Result<Self> {
        let invalid = |error: object_store::Error| {
            Error::invalid_field("media.bucket", "format", link::reason(&error))
        };
        let client = link::client()?;
        let address = link::address(settings)?;
        Ok(Self {
            store: link::store(settings, &address, client.clone()).map_err(invalid)?,
            client: HttpClient::new(client),
            address,
            region: settings.region.clone(),
            name: settings.bucket.clone().unwrap_or_default(),
            prefix: Key::from(settings.prefix.clone().unwrap_or_default()),
            turns: Semaphore::new(AT_ONCE),
            sending: Sending::default(),
            known: Mutex::default(),
            removals: Removals::default(),
        })
    }

    /// The key of a place in the media folder.
    fn key(&self, place: &Path) -> Key {
        let names = place.components().map(|part| part.as_os_str().to_string_lossy());
        names.fold(self.prefix.clone(), |key, name| key.join(name.as_ref()))
    }

    /// Checks that the store answers, has the bucket and accepts the access keys.
    pub(super) async fn reach(&self) -> Result<()> {
        let mut listed = self.store.list(Some(&self.key(Path::new("00"))));
        let cannot = |reason: String| {
            let detail = format!("The bucket {} cannot be reached: {reason}.", self.name);
            Error::new(Code::Unavailable, detail).retry_after(link::AGAIN_S)
        };
        match tokio::time::timeout(RESPONSE_TIMEOUT, listed.try_next()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(fault)) => Err(cannot(link::reason(&fault))),
            Err(_) => Err(cannot(link::late(RESPONSE_TIMEOUT))),
        }
    }

    /// As [`Bucket::reach`], but reuses a result for [`PROBE_TTL`]. Needed because a store answers
    /// for a missing bucket as for a missing object.
    async fn reach_cached(&self) -> Result<()> {
        let mut known = self.known.lock().await;
        if known.is_none_or(|(asked, _)| asked.elapsed() >= PROBE_TTL) {
            *known = Some((Instant::now(), self.reach().await.is_ok()));
        }
        match *known {
            Some((_, true)) => Ok(()),
            _ => Err(unreachable(format!("the bucket {} cannot be reached", self.name))),
        }
    }

    /// Checks that the store answers. Called before a change that removes a file, so that no
    /// change waits for a store that is away.
    pub(super) async fn answers(&self, name: &Name) -> Result<()> {
        let key = self.key(&name.place());
        let asked = async {
            match self.store.head(&key).await {
                Ok(_) => Ok(true),
                // A key that may not read may still remove.
                Err(fault) if link::is_forbidden(&fault) => Ok(true),
                Err(Fault::NotFound { .. }) => Ok(false),
                Err(fault) => Err(fault),
            }
        };
        match within(CHANGE_TIMEOUT, asked).await? {
            true => Ok(()),
            false => self.reach_cached().await,
        }
    }

    async fn about(&self, key: &Key, patience: Duration) -> Result<Option<ObjectMeta>> {
        answered(patience, self.store.head(key)).await
    }

    /// Whether a file that was sent still exists. The change that stores the file waits for this.
    pub(super) async fn has(&self, name: &Name) -> Result<bool> {
        Ok(self.about(&self.key(&name.place()), CHANGE_TIMEOUT).await?.is_some())
    }

    /// Opens the object of a place, whose content is read on demand. `None`: there is no object.
    pub(super) async fn open(&self, place: &Path) -> Result<Option<Opened>> {
        let key = self.key(place);
        let Some(about) = self.about(&key, RESPONSE_TIMEOUT).await? else {
            return self.reach_cached().await.map(|()| None);
        };
        let store = self.store.clone();
        let read = move |first: u64, length: u64| {
            let range = Some(GetRange::Bounded(first..first + length));
            let options = GetOptions { range, ..GetOptions::default() };
            let begun = async move {
                let got = within(RESPONSE_TIMEOUT, store.get_opts(&key, options)).await?;
                let parts = got.into_stream();
                Ok::<_, Error>(stream::try_unfold(parts, |mut parts| async move {
                    let part = within(PAUSE, parts.try_next()).await?;
                    Ok(part.map(|part| (part, parts)))
                }))
            };
            stream::once(begun).try_flatten().boxed()
        };
        let modified = about.last_modified.timestamp_millis();
        Ok(Some((Content::Remote(Box::new(read)), about.size, modified)))
    }

    /// Removes the objects of these places; missing ones are no error. The first is removed before
    /// the others. A change waits for this. Returns false when the store forbids the removal.
    ///
    /// # Errors
    /// `unavailable` when it is unknown whether the objects are or will be removed.
    pub(super) async fn remove(&self, places: &[PathBuf]) -> Result<bool> {
        let (first, others) = places.split_at(places.len().min(1));
        let all = async {
            let mut is_allowed = true;
            for part in [first, others] {
                let keys: Vec<_> = part.iter().map(|place| Ok(self.key(place))).collect();
                let mut gone = self.store.delete_stream(stream::iter(keys).boxed());
                while let Some(one) = gone.next().await {
                    match one {
                        Ok(_) | Err(Fault::NotFound { .. }) => {}
                        Err(fault) if link::is_forbidden(&fault) => {
                            // Logged once for all objects of a file.
                            if std::mem::take(&mut is_allowed) {
                                let (place, reason) = (first.first(), link::reason(&fault));
                                tracing::warn!(?place, reason, "a file may not be removed");
                            }
                        }
                        Err(fault) => return Err(fault),
                    }
                }
            }
            Ok(is_allowed)
        };
        within(CHANGE_TIMEOUT, all).await
    }

    /// The names in a folder with their lengths, without subfolders.
    pub(super) async fn list(&self, folder: &Path) -> Result<Vec<(String, u64)>> {
        link::list(&self.store, &self.key(folder)).await
    }
}

/// After this time a store has carried out a request, or never will.
const UNDECIDED_MS: Millis = 60_000;
/// For this long after a failed removal, only `Media::tidy` tries removals.
const AWAY_MS: Millis = 60_000;

/// Removals that failed in this process. A store that did not answer may still carry out the
/// removal for a while: until that is decided, nothing may rely on the object. For a while other
/// removals do not wait for the store either.
#[derive(Default)]
pub(super) struct Removals {
    /// Files, each with the time until which its removal is undecided.
    undecided: std::sync::Mutex<BTreeMap<Name, Millis>>,
    /// The time until which the store counts as away.
    away: AtomicI64,
}

impl Removals {
    /// Notes that the removal of a file may or may not have happened.
    pub(super) fn doubt(&self, name: &Name, now: Millis) {
        let mut undecided = self.undecided.lock().unwrap_or_else(PoisonError::into_inner);
        undecided.retain(|_, until| *until > now);
        undecided.insert(name.clone(), now + UNDECIDED_MS);
    }

    /// Milliseconds until the removal of a file is decided; `None`: it is decided.
    pub(super) fn undecided(&self, name: &Name, now: Millis) -> Option<Millis> {
        let undecided = self.undecided.lock().unwrap_or_else(PoisonError::into_inner);
        undecided.get(name).map(|until| until - now).filter(|left| *left > 0)
    }

    /// Notes that a removal failed.
    pub(super) fn fail(&self, now: Millis) {
        self.away.store(now + AWAY_MS, Ordering::Relaxed);
    }

    /// Whether a removal failed recently.
    pub(super) fn is_away(&self, now: Millis) -> bool {
        now < self.away.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_is_undecided_for_a_minute() {
        let name = |digit: &str| Name::read("ab", &format!("{}.png", digit.repeat(62)));
        let (one, other) = (name("1").expect("a name"), name("2").expect("a name"));
        let removals = Removals::default();
        removals.doubt(&one, 1_000);
        assert_eq!(removals.undecided(&one, 1_000), Some(60_000));
        assert_eq!(removals.undecided(&one, 60_999), Some(1));
        assert_eq!(removals.undecided(&one, 61_000), None);
        assert_eq!(removals.undecided(&other, 1_000), None);
        removals.doubt(&other, 61_000);
        assert_eq!(removals.undecided.lock().expect("the files").len(), 1, "the old one is gone");
        assert!(!removals.is_away(1_000));
        removals.fail(1_000);
        assert!(removals.is_away(60_999) && !removals.is_away(61_000));
    }
}
