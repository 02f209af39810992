//! Reads `plugins/<id>/plugin.json`. A plugin with problems is not loaded; the others are.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{Handlers, Manifest, Problem, locate::locate};

/// A folder under `plugins/` and the result of loading it.
#[derive(Clone, Debug)]
pub struct LoadedPlugin {
    /// The folder's name.
    pub id: String,
    /// The manifest, or all of its problems.
    pub outcome: Result<Manifest, Vec<Problem>>,
}

/// Largest manifest in bytes. Manifests are small; a larger file is a mistake.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// All plugins in a folder, by name. A missing folder has none; one that cannot be read counts as a
/// plugin with that problem.
#[must_use]
pub fn load_folder(folder: &Path) -> Vec<LoadedPlugin> {
    let id = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut folders: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            let problem = Problem::new("", format!("the folder cannot be read: {error}"));
            return vec![LoadedPlugin { id: id(folder), outcome: Err(vec![problem]) }];
        }
    };
    folders.retain(|path| path.is_dir() && has_manifest(path));
    folders.sort();
    let load = |path: PathBuf| {
        let id = id(&path);
        LoadedPlugin { outcome: read(&path.join("plugin.json"), &id), id }
    };
    folders.into_iter().map(load).collect()
}

/// Whether a folder names a manifest, be it readable or not.
fn has_manifest(folder: &Path) -> bool {
    let found = std::fs::symlink_metadata(folder.join("plugin.json"));
    !found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn read(path: &Path, id: &str) -> Result<Manifest, Vec<Problem>> {
    let unreadable = |cause: String| vec![Problem::new("", cause)];
    let size = std::fs::metadata(path).map_err(|e| unreadable(e.to_string()))?.len();
    if size > MAX_MANIFEST_BYTES {
        return Err(unreadable(format!(
            "{size} bytes are more than a manifest can have ({MAX_MANIFEST_BYTES})"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(e.to_string()))?;
    parse(&text, id)
}

/// The manifest of the plugin `id`, or every problem with its line.
fn parse(text: &str, id: &str) -> Result<Manifest, Vec<Problem>> {
    let manifest: Manifest = serde_json::from_str(text).map_err(|error| {
        vec![Problem { line: Some(error.line()), ..Problem::new("", error.to_string()) }]
    })?;
    let mut problems = manifest.problems();
    problems.extend(Handlers::default().missing(&manifest));
    if manifest.id != id {
        let remedy = format!("the id is {:?}, but the folder is named {id:?}", manifest.id);
        problems.push(Problem::new("/id", remedy));
    }
    if problems.is_empty() {
        return Ok(manifest);
    }
    locate(text, &mut problems);
    Err(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_name_their_lines() {
        let text = "{\n  \"id\": \"shop\",\n  \"tables\": [\n    {\"name\": \"a\",\n     \
                    \"columns\": \
                    [{\"name\": \"x\", \"type\": \"text\"},\n       {\"name\": \"y\", \"type\": \
                    \"string\"}]}\n  ]\n}";
        let problems = parse(text, "shop").expect_err("a problem");
        let found: Vec<_> = problems.iter().map(|p| (p.pointer.as_str(), p.line)).collect();
        assert_eq!(found, [("/tables/0/columns/1/type", Some(6))]);
        let other = parse(r#"{"id": "shop"}"#, "blog").expect_err("another folder");
        assert_eq!((other[0].pointer.as_str(), other[0].line), ("/id", Some(1)));
        let broken = parse("{\n \"id\": 1}", "shop").expect_err("a number");
        assert_eq!((broken[0].pointer.as_str(), broken[0].line), ("", Some(2)));
    }
}
