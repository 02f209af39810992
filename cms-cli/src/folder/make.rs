//! Makes a site in a folder, or completes one. Nothing is overwritten.

use std::{fs::DirBuilder, io, os::unix::fs::DirBuilderExt, path::Path};

use cms_core::settings;

use super::{
    new_file::write_new, open::bring_up_to_date, report::Report, secrets,
    settings::settings as settings_of,
};
use crate::output::{Done, Failure, Output, counted};

/// Writes what is missing: both files, the secrets, the folders, the schema. The caller has the
/// folder's turn.
pub(crate) async fn make(dir: &Path, languages: &[&str], out: &Output) -> Done<Report> {
    let mut report = Report::default();
    let shared = dir.join("cms.toml");
    if shared.exists() {
        report.kept.push("cms.toml".to_owned());
    } else {
        write_new(&shared, &starter(languages), 0o644)?;
        report.made.push("cms.toml".to_owned());
    }
    let loaded = settings_of(dir, &[], out)?;
    secrets::complete(&dir.join("cms.local.toml"), &loaded, &mut report).await?;
    let loaded = settings_of(dir, &[], out)?;
    for (name, folder) in
        [("data", &loaded.settings.dirs.data), ("plugins", &loaded.settings.dirs.plugins)]
    {
        if !folder.is_dir() {
            owners_folder(folder).map_err(|e| Failure::file(folder, &e))?;
            report.made.push(format!("the folder {name}"));
        }
    }
    let steps = bring_up_to_date(loaded.settings).await?;
    match steps.iter().filter(|step| !step.applied).count() {
        0 => report.kept.push("the database".to_owned()),
        new => report
            .made
            .push(format!("the schema of the database ({})", counted(new as u64, "step"))),
    }
    Ok(report)
}

/// A folder that only its owner may read.
fn owners_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn starter(languages: &[&str]) -> String {
    let text = settings::starter_file();
    if languages.is_empty() {
        return text;
    }
    let wanted = format!("languages = {languages:?}");
    text.lines()
        .map(|line| {
            if line.starts_with("#languages = ") {
                format!("{wanted}\n")
            } else {
                format!("{line}\n")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_speaks_two_languages() {
        let text = starter(&["en", "de"]);
        assert!(text.contains("\nlanguages = [\"en\", \"de\"]\n"), "{text}");
        assert_eq!(starter(&[]), settings::starter_file());
    }
}
