//! The backups that the service makes by itself, one after another in `backup.to`: a folder, or
//! what objects of a bucket begin with. The oldest go when there are more than `backup.keep`.

use std::{fs, io, path::PathBuf, sync::Arc};

use super::{Saving, object::Object, out::To, save};
use crate::{Clock, Code, Error, Result, settings::Settings};

/// Around the moment in the name of a backup: other files are none of ours.
const BEFORE: &str = "site-";
const BEHIND: &str = ".cms";
/// As `20261126T030000Z`: names in order are moments in order.
const MOMENT: &str = "%Y%m%dT%H%M%SZ";

/// Where they lie together.
enum Place {
    Folder(PathBuf),
    /// The bucket, and what the names of objects begin with.
    Bucket(String, String),
}

/// Makes one, and removes those that are too many.
///
/// # Errors
/// As [`save`]; then none is removed.
pub(crate) async fn scheduled(settings: &Settings) -> Result<()> {
    let Some(to) = &settings.backup.to else { return Ok(()) };
    let place = Place::of(to)?;
    let now = Clock::system().now();
    let moment = jiff::Timestamp::from_millisecond(now).map_err(Error::internal)?;
    let name = format!("{BEFORE}{}{BEHIND}", moment.strftime(MOMENT));
    let how = Saving { with_secrets: false, verify: settings.backup.verify };
    let saved = save(settings, place.to(&name)?, how, Arc::new(|_| {})).await?;
    for warning in &saved.warnings {
        tracing::warn!(warning, "a backup lacks something");
    }
    let keep = usize::try_from(settings.backup.keep).unwrap_or(usize::MAX);
    let removed = place.keep(settings, keep).await?;
    let (bytes, rows) = (saved.bytes, saved.rows);
    tracing::info!(place = %place.shown(&name), bytes, rows, removed, "a backup was made");
    Ok(())
}

/// Whether a file is a backup that was made here.
fn is_ours(name: &str) -> bool {
    let moment = name.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(BEHIND));
    moment.is_some_and(|moment| jiff::civil::DateTime::strptime(MOMENT, moment).is_ok())
}

/// Those that are too many, oldest first, and what killed processes have left, for one process at
/// a time runs the task.
fn too_many(names: Vec<String>, keep: usize) -> Vec<String> {
    let (mut whole, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| is_ours(name));
    whole.sort();
    whole.truncate(whole.len().saturating_sub(keep));
    let is_left = |name: &String| name.strip_suffix(".partial").is_some_and(is_ours);
    whole.into_iter().chain(others.into_iter().filter(is_left)).collect()
}

impl Place {
    fn of(to: &str) -> Result<Self> {
        // The settings were judged: a bucket, and perhaps names behind it.
        Ok(match to.strip_prefix("s3://").map(|rest| rest.split_once('/').unwrap_or((rest, ""))) {
            Some((bucket, names)) => Self::Bucket(bucket.to_owned(), names.to_owned()),
            None => {
                let folder = PathBuf::from(to);
                // One that is made here would hide that a disk is not mounted.
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

    /// Removes all but the newest. Returns how many.
    async fn keep(&self, settings: &Settings, keep: usize) -> Result<usize> {
        match self {
            Self::Folder(folder) => {
                let folder = folder.clone();
                let removed = move || {
                    let entries = fs::read_dir(&folder)?.collect::<io::Result<Vec<_>>>()?;
                    let names = entries.iter().filter_map(|e| e.file_name().into_string().ok());
                    let names = too_many(names.collect(), keep);
                    names.iter().try_for_each(|name| fs::remove_file(folder.join(name)))?;
                    Ok::<_, io::Error>(names.len())
                };
                let removed =
                    tokio::task::spawn_blocking(removed).await.map_err(Error::internal)?;
                removed.map_err(|error| {
                    let what = "Old backups cannot be removed.";
                    Error::new(Code::ValidationFailed, what).caused_by(error)
                })
            }
            #[cfg(feature = "s3")]
            Self::Bucket(bucket, names) => {
                let objects = crate::media::Objects::of(settings, bucket)?;
                let old = too_many(objects.list(names).await?, keep);
                for name in &old {
                    let name = if names.is_empty() { name } else { &format!("{names}/{name}") };
                    objects.remove(name).await?;
                }
                Ok(old.len())
            }
            #[cfg(not(feature = "s3"))]
            Self::Bucket(..) => {
                let _ = settings;
                Err(super::object::without_s3())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_ours_go_and_nothing_else() {
        let names = [
            "site-20261126T030000Z.cms",
            "site-20251231T235959Z.cms",
            "site-20261125T030000Z.cms",
            "site-before-the-move.cms",
            "site-20261399T030000Z.cms",
            "site-20240101T000000Z.cms.partial",
            "other.cms",
        ];
        let all = || names.map(str::to_owned).to_vec();
        let left = "site-20240101T000000Z.cms.partial";
        assert_eq!(
            too_many(all(), 1),
            ["site-20251231T235959Z.cms", "site-20261125T030000Z.cms", left]
        );
        assert_eq!(too_many(all(), 3), [left]);
    }
}
