//! The folder of a site: reads its settings, opens the site as it is or brought up to date, and
//! makes or completes it. Sites of `cms serve --demo` contain the shop, a plugin in Rust.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use cms_core::{
    Builder, Cms, Random, Result, Vault,
    content::Action,
    db::Migration,
    items::Query,
    scripts::ScriptLauncher,
    settings::{self, Database, Loaded, Settings},
};

use crate::{
    environment, log,
    output::{Done, Exit, Failure, Output, counted},
    shop::Shop,
};

/// The settings of a folder. Prints their warnings.
pub(crate) fn settings(dir: &Path, overrides: &[(&str, String)], out: &Output) -> Done<Loaded> {
    let loaded = Settings::load(dir, environment::variables(), overrides)?;
    for warning in &loaded.warnings {
        match log::is_json() {
            true => tracing::warn!("{warning}"),
            false => out.note(&format!("warning: {warning}")),
        }
    }
    Ok(loaded)
}

/// The settings of a folder that holds a site. Without this check, a command in the wrong folder
/// would create a database there.
pub(crate) fn existing(dir: &Path, overrides: &[(&str, String)], out: &Output) -> Done<Loaded> {
    let loaded = settings(dir, overrides, out)?;
    if loaded.is_site() {
        return Ok(loaded);
    }
    let shown = dir.display();
    let what = format!("there is no site in {shown}: it has no cms.toml");
    Err(Failure::new(Exit::Unreachable, what)
        .hint(format!("cms init --dir {shown}, or name another site: --dir FOLDER or --url URL")))
}

/// The argument that turns this program into the launcher of a script.
pub(crate) const SCRIPT: &str = "__script";
/// The file that makes a site contain the shop.
const SHOP: &str = "bikeshop/demo.txt";
const ABOUT_SHOP: &str = "\
The plugin bikeshop is written in Rust, so it has no plugin.json: the program cms contains it.
Without this file it is out of service.
";

/// Makes the site of these settings contain the shop.
pub(crate) fn add_shop(settings: &Settings) -> Done {
    let file = shop_of(settings);
    let folder = file.parent().unwrap_or(&file);
    fs::create_dir_all(folder).map_err(|e| Failure::file(folder, &e))?;
    fs::write(&file, ABOUT_SHOP).map_err(|e| Failure::file(&file, &e))
}

fn shop_of(settings: &Settings) -> PathBuf {
    settings.dirs.plugins.join(SHOP)
}

/// Opens a site with the plugins that this program gives it.
pub(crate) fn builder(settings: Settings) -> Result<Builder> {
    let has_shop = shop_of(&settings).is_file();
    let builder = Cms::builder(settings);
    // This still works after the program's file was replaced.
    #[cfg(target_os = "linux")]
    let builder = builder.script_launcher(ScriptLauncher {
        program: "/proc/self/exe".into(),
        args: vec![SCRIPT.to_owned()],
    });
    Ok(if has_shop { builder.plugin(Shop::new()?) } else { builder })
}

/// Opens the site as it is. A database that is missing or not up to date is refused.
pub(crate) async fn as_is(mut settings: Settings) -> Done<Cms> {
    settings.migrate = false;
    Ok(builder(settings)?.open().await?)
}

/// The plugins whose tables [`bring_up_to_date`] would make or change.
pub(crate) async fn pending_plugins(settings: Settings) -> Done<Vec<String>> {
    let cms = builder(settings)?.inspect().await?;
    let found = cms.plugin_differences(None).await;
    cms.close().await;
    let is_made = |action| {
        use Action::{AddColumn, ChangeEnum, CreateTable, CreateUnique};
        matches!(action, CreateTable | AddColumn | ChangeEnum | CreateUnique)
    };
    let mut pending = found?;
    pending.retain(|one| {
        let fits = !one.removed && one.problems.is_empty() && one.changes.refused.is_empty();
        fits && one.changes.steps.iter().any(|step| is_made(step.action))
    });
    Ok(pending.into_iter().map(|one| one.plugin).collect())
}

/// Makes the database when missing, applies pending steps and makes the tables of plugins. Returns
/// every step; steps applied just now have `applied: false`.
pub(crate) async fn bring_up_to_date(mut settings: Settings) -> Done<Vec<Migration>> {
    let steps = Cms::builder(settings.clone()).migrations(true).await?;
    settings.migrate = true;
    let cms = builder(settings)?.open().await?;
    let made = cms.indexes_made().await;
    cms.close().await;
    made?;
    Ok(steps)
}

/// Writes what is missing: both files, the secrets, the folders, the schema. The caller must hold
/// the folder's turn.
pub(crate) async fn make(dir: &Path, languages: &[&str], out: &Output) -> Done<Report> {
    let mut report = Report::default();
    let shared = dir.join("cms.toml");
    if shared.exists() {
        report.kept.push("cms.toml".to_owned());
    } else {
        write_new(&shared, &starter(languages), 0o644)?;
        report.made.push("cms.toml".to_owned());
    }
    let loaded = settings(dir, &[], out)?;
    complete_secrets(&dir.join("cms.local.toml"), &loaded, &mut report).await?;
    let loaded = settings(dir, &[], out)?;
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
        .map(|line| if line.starts_with("#languages = ") { wanted.as_str() } else { line })
        .map(|line| format!("{line}\n"))
        .collect()
}

/// What `cms init` made, and what it kept.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) made: Vec<String>,
    pub(crate) kept: Vec<String>,
}

/// Writes the secrets that no setting gives into `cms.local.toml`. Never replaces a secret that
/// was used: everything hashed or encrypted with it would be lost.
async fn complete_secrets(local: &Path, loaded: &Loaded, report: &mut Report) -> Done {
    let random = Random::system();
    let settings = &loaded.settings;
    let salt = settings.password_salt.is_none().then(|| new_salt(&random)).transpose()?;
    let key = settings.encryption_key.is_none().then(|| Vault::new_key(&random)).transpose()?;
    let made: Vec<&str> =
        [salt.as_ref().map(|_| "password_salt"), key.as_ref().map(|_| "encryption_key")]
            .into_iter()
            .flatten()
            .collect();
    if !made.is_empty() {
        refuse_if_used(loaded, &made).await?;
    }
    if !local.exists() {
        write_new(local, &settings::starter_local_file(salt.as_deref(), key.as_deref()), 0o600)?;
        let with =
            if made.is_empty() { String::new() } else { format!(" with {}", made.join(" and ")) };
        report.made.push(format!("cms.local.toml{with}"));
        return Ok(());
    }
    report.kept.push("cms.local.toml".to_owned());
    if made.is_empty() {
        return Ok(());
    }
    let line = |name: &str, value: &Option<String>| {
        value.as_ref().map(|value| format!("{name} = \"{value}\"\n")).unwrap_or_default()
    };
    // Put first: behind a table header they would belong to that table.
    let missing = line("password_salt", &salt) + &line("encryption_key", &key);
    let old = fs::read_to_string(local).map_err(|e| Failure::file(local, &e))?;
    let beside = local.with_extension("toml.new");
    write_new(&beside, &format!("{missing}{old}"), 0o600)?;
    fs::rename(&beside, local).map_err(|e| Failure::file(local, &e))?;
    report.made.extend(made.into_iter().map(str::to_owned));
    Ok(())
}

/// Fails when the database needs a missing secret: passwords of users need the salt, sealed
/// values the key. Such a secret existed and is lost. Does not change the database.
async fn refuse_if_used(loaded: &Loaded, missing: &[&str]) -> Done {
    let settings = &loaded.settings;
    if matches!(settings.database()?, Database::Sqlite { path, .. } if !path.exists()) {
        return Ok(());
    }
    let steps = Cms::builder(settings.clone()).migrations(false).await?;
    if steps.iter().all(|step| !step.applied) {
        return Ok(());
    }
    let cms = as_is(settings.clone()).await.map_err(|failure| match failure.exit {
        Exit::Refused => {
            let what = format!(
                "missing: {}; whether values in the database depend on what was lost shows only \
                 when its schema is up to date",
                missing.join(" and ")
            );
            Failure::new(Exit::Refused, what).hint(
                "put cms.local.toml back from a backup; if there was none, cms migrate up, then \
                 cms init",
            )
        }
        _ => failure,
    })?;
    let users = cms.accounts().users(&Query::new().limit(1)).await;
    let sealed = cms.sealed_values().await;
    cms.close().await;
    let needs = [
        ("password_salt", !users?.data.is_empty(), "users in the database depend on"),
        ("encryption_key", sealed?.lost > 0, "sealed values in the database depend on"),
    ];
    let lost = needs.iter().find(|(name, is_used, _)| *is_used && missing.contains(name));
    let Some((name, _, depend)) = lost else { return Ok(()) };
    let what = format!("{name} is missing, and {depend} the lost value");
    Err(Failure::new(Exit::Refused, what).hint(
        "put cms.local.toml back from a backup; if it is lost, set a new secret: `cms doctor` then \
         lists what must be made again",
    ))
}

/// 256 random bits, as text.
fn new_salt(random: &Random) -> Done<String> {
    Ok(random.bytes::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Held while a process makes, completes or fills a site.
#[must_use = "the next process begins when this is dropped"]
pub(crate) struct Turn {
    _folder: File,
}

/// Makes the folder, and waits until no other process works on a site there.
pub(crate) fn take_turn(dir: &Path, out: &Output) -> Done<Turn> {
    let failed = |e| Failure::file(dir, &e);
    fs::create_dir_all(dir).map_err(failed)?;
    let folder = File::open(dir).map_err(failed)?;
    match folder.try_lock() {
        Err(TryLockError::WouldBlock) => {
            out.note("another process makes a site in this folder: waiting for it");
            folder.lock().map_err(failed)?;
        }
        // Some network file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    Ok(Turn { _folder: folder })
}

/// Creates a file with this mode from the first byte on, so that nobody else can read a secret.
fn write_new(path: &Path, text: &str, mode: u32) -> Done {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .map_err(|e| Failure::file(path, &e))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|e| {
        // Otherwise the next `cms init` would keep half a file.
        let _ = fs::remove_file(path);
        Failure::file(path, &e)
    })
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
