//! Reads `plugins/<id>/plugin.json`. A plugin with problems is not loaded; the others are.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{
    Handlers, Manifest, Problem,
    check::{self, CheckContext},
    problem::Places,
    reading::{self, Reading},
};
use crate::content::Tables;

/// A folder under `plugins/` and the result of loading it.
#[non_exhaustive]
pub struct LoadedPlugin {
    /// The folder's name.
    pub id: String,
    /// The manifest, or all of its problems.
    pub outcome: Result<Manifest, Vec<Problem>>,
    places: Places,
    folder: PathBuf,
}

impl LoadedPlugin {
    /// The folder that was read.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Problems that only the tables in service show, for example in columns of adopted tables. Of
    /// other plugins, only the tables of `others` are known; tables in `absent` belong to plugins
    /// out of service.
    pub(crate) fn problems_with<'m>(
        &self,
        manifest: &Manifest,
        others: impl Iterator<Item = &'m Manifest>,
        tables: &Tables,
        absent: &BTreeMap<String, String>,
    ) -> Vec<Problem> {
        let mut known = CheckContext::of(others);
        known.absent.clone_from(absent);
        known.folder = Some(self.folder.clone());
        known.learn(tables);
        self.located(check::problems(manifest, &known, &BTreeSet::new()))
    }

    /// Adds to problems their places in the file.
    pub(crate) fn located(&self, problems: Vec<Problem>) -> Vec<Problem> {
        locate(&self.places, problems)
    }
}

/// Maximum size of a manifest in bytes. A larger file is a mistake.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// All plugins in a folder, by name. A missing folder has none; an unreadable one counts as a
/// plugin with that problem. The tables of the plugins in `given`, for example those of the
/// program, count as known. If the folder has a plugin of the same id, its declaration there
/// counts instead.
#[must_use]
pub fn load_folder(folder: &Path, given: &[Manifest]) -> Vec<LoadedPlugin> {
    if let Err(error) = std::fs::read_dir(folder)
        && error.kind() != ErrorKind::NotFound
    {
        let reading = Reading::unreadable(format!("the folder cannot be read: {error}"));
        return vec![judge_folder(folder, reading, CheckContext::default())];
    }
    let folders = folders(folder);
    let readings: Vec<_> = folders.iter().map(|folder| read(folder)).collect();
    let found: Vec<_> = readings.iter().filter_map(|reading| reading.manifest.clone()).collect();
    let given = given.iter().filter(|one| found.iter().all(|other| other.id != one.id));
    let known = CheckContext::of(given.chain(&found));
    let loaded = folders.iter().zip(readings);
    loaded.map(|(folder, reading)| judge_folder(folder, reading, known.clone())).collect()
}

/// The folders of plugins within a folder, sorted by name.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| has_manifest(path));
    folders.sort();
    folders
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether a path is a folder with a manifest, readable or not.
pub(crate) fn has_manifest(folder: &Path) -> bool {
    let found = std::fs::symlink_metadata(folder.join("plugin.json"));
    folder.is_dir() && !found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// The full path of a plugin's folder. Links are kept, because plugins are taken into service
/// under the path with the link.
#[must_use]
pub fn full_path(folder: &Path) -> PathBuf {
    let full = std::path::absolute(folder).ok().filter(|full| full.file_name().is_some());
    let full = full.or_else(|| std::fs::canonicalize(folder).ok());
    full.unwrap_or_else(|| folder.to_owned())
}

/// Reads and checks a plugin's folder. The tables of the neighbouring plugins count as known.
#[must_use]
pub fn check_folder(folder: &Path) -> LoadedPlugin {
    let folder = full_path(folder);
    let beside = folder.parent().map(folders).unwrap_or_default();
    let readings = beside.iter().filter(|path| **path != folder).map(|path| read(path));
    let others: Vec<_> = readings.filter_map(|reading| reading.manifest).collect();
    judge_folder(&folder, read(&folder), CheckContext::of(others.iter()))
}

/// Checks the text of a `plugin.json` on its own.
///
/// # Errors
/// All problems.
pub fn check_text(bytes: &[u8]) -> Result<Manifest, Vec<Problem>> {
    judge(reading::read(bytes), &CheckContext::default()).0
}

fn read(folder: &Path) -> Reading {
    let path = folder.join("plugin.json");
    let size = match std::fs::metadata(&path) {
        Ok(found) if found.is_file() => found.len(),
        Ok(_) => return Reading::unreadable("plugin.json is no file".to_owned()),
        Err(error) => return Reading::unreadable(format!("plugin.json: {error}")),
    };
    if size > MAX_MANIFEST_BYTES {
        return Reading::unreadable(format!(
            "{size} bytes are more than a manifest can have ({MAX_MANIFEST_BYTES})"
        ));
    }
    match std::fs::read(&path) {
        Ok(bytes) => reading::read(&bytes),
        Err(error) => Reading::unreadable(format!("plugin.json: {error}")),
    }
}

fn judge_folder(folder: &Path, reading: Reading, mut known: CheckContext) -> LoadedPlugin {
    known.folder = Some(folder.to_owned());
    let (outcome, places) = judge(reading, &known);
    LoadedPlugin { id: name(folder), outcome, places, folder: folder.to_owned() }
}

fn judge(reading: Reading, known: &CheckContext) -> (Result<Manifest, Vec<Problem>>, Places) {
    let Reading { manifest, mut problems, faulty, places } = reading;
    if let Some(manifest) = &manifest {
        let mut found = check::problems(manifest, known, &faulty);
        // Only plugins written in Rust have handlers.
        let missing = Handlers::default().missing(manifest).into_iter();
        found.extend(missing.filter(|problem| check::is_sound(&faulty, &problem.pointer)));
        problems.extend(locate(&places, found));
    }
    problems.sort_by_key(|problem| (problem.line, problem.column));
    let outcome = match manifest {
        Some(manifest) if problems.is_empty() => Ok(manifest),
        _ => Err(problems),
    };
    (outcome, places)
}

fn locate(places: &Places, problems: Vec<Problem>) -> Vec<Problem> {
    let located = problems.into_iter().map(|problem| {
        let (pointer, place) = places.find(&problem.pointer);
        let problem = Problem { pointer, ..problem };
        place.map_or_else(|| problem.clone(), |place| problem.clone().at(place))
    });
    located.collect()
}
