//! The automatic backups of the service, in `backup.to`: a folder, or a bucket with a prefix for
//! objects. When there are more than `backup.keep`, the oldest are removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Saving,
    manifest::key_of,
    out::{Object, PARTIAL, To},
    save,
    save::is_lost,
};
use crate::{Clock, Code, Error, Result, settings::Settings};

/// The prefix before the moment in the name of a backup. Files with other names are never touched.
const BEFORE: &str = "site-";
const BEHIND: &str = ".cms";
/// For example `20261126T030000Z`: sorting by name sorts by time.
const MOMENT: &str = "%Y%m%dT%H%M%SZ";
/// Digits that distinguish the sites that share a place.
const DIGITS: usize = 8;

/// The place of all automatic backups.
#[derive(Clone)]
enum Place {
    Folder(PathBuf),
    /// The bucket, and the prefix of the objects' names.
    Bucket(String, String),
}

/// The names of a site's backups.
#[derive(Clone)]
struct Names {
    before: String,
}

/// Makes a backup, and removes the oldest beyond `backup.keep`.
///
/// # Errors
/// As [`save`], and `validation_failed` for an incomplete backup. That backup stays, and no older
/// one is removed.
pub(crate) async fn scheduled(settings: &Settings) -> Result<()> {
    let Some(to) = settings.backup.to.clone() else { return Ok(()) };
    let place = tokio::task::spawn_blocking(move || Place::of(&to)).await;
    let (place, names) = (place.map_err(Error::internal)??, Names::of(settings));
    let name = names.at(Clock::system().now())?;
    let how = Saving { verify: settings.backup.verify, ..Saving::default() };
    let saved = save(settings, place.to(&name)?, how, Arc::new(|_| {})).await?;
    for warning in &saved.warnings {
        tracing::warn!(warning, "a backup lacks something");
    }
    // The older backups may be the last that contain what is missing.
    let lost: Vec<_> = saved.warnings.iter().filter(|what| is_lost(what)).collect();
    if let Some(first) = lost.first() {
        return Err(incomplete(&place.shown(&name), first, lost.len() - 1));
    }
    let keep = usize::try_from(settings.backup.keep).unwrap_or(usize::MAX);
    let too_many = {
        let name = name.clone();
        move |found| names.too_many(found, &name, keep)
    };
    let removed = place.keep(settings, too_many).await?;
    let (bytes, rows) = (saved.bytes, saved.rows);
    tracing::info!(place = %place.shown(&name), bytes, rows, removed, "a backup was made");
    Ok(())
}

fn incomplete(place: &str, first: &str, more: usize) -> Error {
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    let what = format!(
        "The backup {place} was made, but lacks something: {first}{more}. No older backup was \
         removed."
    );
    Error::new(Code::ValidationFailed, what)
}

impl Names {
    /// Sites that share a place have different encryption keys.
    fn of(settings: &Settings) -> Self {
        let before = match key_of(settings) {
            Some(key) => format!("{BEFORE}{}-", &key[..DIGITS]),
            None => BEFORE.to_owned(),
        };
        Self { before }
    }

    fn at(&self, now: i64) -> Result<String> {
        let moment = jiff::Timestamp::from_millisecond(now).map_err(Error::internal)?;
        Ok(format!("{}{}{BEHIND}", self.before, moment.strftime(MOMENT)))
    }

    /// Whether a file is an automatic backup of this site.
    fn is_ours(&self, name: &str) -> bool {
        let moment = name.strip_prefix(&self.before).and_then(|rest| rest.strip_suffix(BEHIND));
        moment.is_some_and(|moment| jiff::civil::DateTime::strptime(MOMENT, moment).is_ok())
    }

    /// The backups to remove: the oldest beyond `keep`, counting the new one, and unfinished ones
    /// of killed processes.
    fn too_many(&self, found: Vec<String>, new: &str, keep: usize) -> Vec<String> {
        let (mut whole, others): (Vec<_>, Vec<_>) =
            found.into_iter().filter(|name| name != new).partition(|name| self.is_ours(name));
        whole.sort();
        whole.truncate(whole.len().saturating_sub(keep.saturating_sub(1)));
        let is_left =
            |name: &String| name.strip_suffix(PARTIAL).is_some_and(|name| self.is_ours(name));
        whole.into_iter().chain(others.into_iter().filter(is_left)).collect()
    }
}

/// Removes a file, unless it is still being written.
fn remove(path: &Path) -> io::Result<()> {
    if path.to_string_lossy().ends_with(PARTIAL)
        && matches!(fs::File::open(path)?.try_lock(), Err(fs::TryLockError::WouldBlock))
    {
        return Ok(());
    }
    fs::remove_file(path)
}

impl Place {
    fn of(to: &str) -> Result<Self> {
        // The settings were checked: a bucket, possibly followed by a prefix.
        Ok(match to.strip_prefix("s3://").map(|rest| rest.split_once('/').unwrap_or((rest, ""))) {
            Some((bucket, names)) => Self::Bucket(bucket.to_owned(), names.to_owned()),
            None => {
                let folder = PathBuf::from(to);
                // The folder is not created, because that would hide a disk that is not mounted.
                if !folder.is_dir() {
                    let what = format!(
                        "The folder of backups {} is not there: make it, or mount its disk.",
                        folder.display()
                    );
                    return Err(Error::new(Code::ValidationFailed, what));
                }
                Self::Folder(folder)
            }
        })
    }

    fn shown(&self, name: &str) -> String {
        match self {
            Self::Folder(folder) => folder.join(name).display().to_string(),
            Self::Bucket(bucket, names) if names.is_empty() => format!("s3://{bucket}/{name}"),
            Self::Bucket(bucket, names) => format!("s3://{bucket}/{names}/{name}"),
        }
    }

    fn to(&self, name: &str) -> Result<To> {
        let shown = self.shown(name);
        Ok(match Object::parse(&shown)? {
            Some(object) => To::Object(object),
            None => To::File(PathBuf::from(shown)),
        })
    }

    /// Removes the backups that `too_many` selects among the names found here. Returns
    /// their number.
    async fn keep(
        &self,
        settings: &Settings,
        too_many: impl FnOnce(Vec<String>) -> Vec<String> + Send + 'static,
    ) -> Result<usize> {
        match self {
            Self::Folder(folder) => {
                let shown = folder.display().to_string();
                let folder = folder.clone();
                let removed = move || {
                    let entries = fs::read_dir(&folder)?.collect::<io::Result<Vec<_>>>()?;
                    let names = entries.iter().filter_map(|e| e.file_name().into_string().ok());
                    let names = too_many(names.collect());
                    names.iter().try_for_each(|name| remove(&folder.join(name)))?;
                    Ok::<_, io::Error>(names.len())
                };
                let removed =
                    tokio::task::spawn_blocking(removed).await.map_err(Error::internal)?;
                removed.map_err(|error| {
                    let what = format!("Old backups cannot be removed from {shown}.");
                    Error::new(Code::ValidationFailed, what).caused_by(error)
                })
            }
            #[cfg(feature = "s3")]
            Self::Bucket(bucket, names) => {
                let objects = crate::media::Objects::of(settings, bucket)?;
                let old = too_many(objects.list(names).await?);
                for name in &old {
                    let name = if names.is_empty() { name } else { &format!("{names}/{name}") };
                    objects.remove(name).await?;
                }
                Ok(old.len())
            }
            #[cfg(not(feature = "s3"))]
            Self::Bucket(..) => {
                let _ = (settings, too_many);
                Err(super::out::without_s3())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_ours_go_and_nothing_else() {
        let names = Names { before: "site-0a1b2c3d-".to_owned() };
        let new = names.at(1_795_662_000_000).unwrap();
        assert_eq!(new, "site-0a1b2c3d-20261126T030000Z.cms");
        let found = [
            &*new,
            "site-0a1b2c3d-20251231T235959Z.cms",
            "site-0a1b2c3d-20261125T030000Z.cms",
            "site-0a1b2c3d-before-the-move.cms",
            "site-0a1b2c3d-20261399T030000Z.cms",
            "site-0a1b2c3d-20240101T000000Z.cms.partial",
            // A backup of another site in the same folder.
            "site-99999999-20240101T000000Z.cms",
            "site-99999999-20240101T000000Z.cms.partial",
            "site-20240101T000000Z.cms",
            "other.cms",
        ];
        let all = || found.map(str::to_owned).to_vec();
        let (old, newer) = (found[1], found[2]);
        let left = "site-0a1b2c3d-20240101T000000Z.cms.partial";
        assert_eq!(names.too_many(all(), &new, 1), [old, newer, left]);
        assert_eq!(names.too_many(all(), &new, 2), [old, left]);
        assert_eq!(names.too_many(all(), &new, 3), [left]);
        // The clock was set back: the new backup stays all the same.
        let earlier = "site-0a1b2c3d-20200101T000000Z.cms";
        let mut with = all();
        with.push(earlier.to_owned());
        assert!(!names.too_many(with, earlier, 1).contains(&earlier.to_owned()));
        let none = Names::of(&Settings::default());
        assert!(none.is_ours("site-20240101T000000Z.cms") && !none.is_ours(&new));
    }

    #[test]
    fn what_somebody_writes_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("site-20240101T000000Z.cms{PARTIAL}"));
        let writer = fs::File::create(&path).unwrap();
        writer.lock().unwrap();
        remove(&path).unwrap();
        assert!(path.exists());
        drop(writer);
        remove(&path).unwrap();
        assert!(!path.exists());
    }
}
