//! Checks of a site, in one registry. `cms doctor`, `cms status`, `/readyz` and the home screen of
//! the terminal run them. A check changes nothing.
//!
//! ```text
//! finding   what a check found, and the remedy
//! examine   asks the checks from outside, also of a site that cannot be opened
//! kept      asks them in a running site, and keeps what they found
//! machine, files, secrets, database, backup, plugins, addresses, work: what the checks do
//! ```
//!
//! To add a check, add a line in `checks!` and its function. docs/doctor.md lists the checks;
//! `CMS_WRITE_DOCS=1` generates that list.

mod addresses;
mod backup;
mod database;
mod examine;
mod files;
mod finding;
pub(super) mod kept;
mod machine;
mod plugins;
mod secrets;
mod work;

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;

use self::{examine::Opening, finding::Findings};
pub use self::{
    examine::examine,
    finding::{Finding, Level, worst},
    secrets::SealedValues,
};
use super::Cms;
use crate::{
    Error, Result,
    settings::{Loaded, Settings, SettingsError},
};

pub(crate) use database::sql;

/// Timeout of a check. Longer than the database waits for a lock, so that a check can report that.
const LIMIT: Duration = Duration::from_secs(15);

const STUCK: &str = "see whether the disk, the database or the network is stuck";

/// What a check needs, which decides where it can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The machine and the settings as they are written.
    Machine,
    /// The site's folder and what the settings name; needs no database.
    Folder,
    /// What a start would encounter; only `cms doctor` runs these.
    Start,
    /// The database; needs no open site.
    Database,
    /// An open site.
    Site,
    /// An open site, and a long time; only `cms doctor` runs these.
    Deep,
}

/// Who runs the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// `cms doctor`: everything.
    Doctor,
    /// `cms status`, `/readyz` and the terminal: the checks that a running site can
    /// answer quickly.
    Status,
}

impl Door {
    /// Whether this door runs checks of a place.
    #[must_use]
    pub fn asks(self, place: Place) -> bool {
        self == Self::Doctor || !matches!(place, Place::Start | Place::Deep)
    }
}

/// A check of the registry.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name, the same everywhere.
    pub id: &'static str,
    /// The state in which the check finds `ok`, as the end of "ok when …".
    pub asks: &'static str,
    /// What it needs.
    pub place: Place,
    run: Run,
}

/// The facts about the site that are known before its checks run.
pub(crate) struct CheckInput {
    /// The settings in force.
    settings: Settings,
    /// The settings as the folder contains them now; `None`: the site has no folder.
    files: Option<Result<Loaded, SettingsError>>,
    opening: Opening,
}

impl CheckInput {
    /// The site, if it is open.
    fn cms(&self) -> Option<&Cms> {
        match &self.opening {
            Opening::Open(cms) => Some(cms),
            _ => None,
        }
    }

    fn folder(&self) -> Option<&PathBuf> {
        self.settings.folder.as_ref()
    }

    /// Whether checks of a place can run.
    fn can(&self, place: Place) -> bool {
        match place {
            Place::Machine => true,
            // If the settings cannot be read, the defaults stand in for them.
            Place::Folder | Place::Start => !matches!(self.files, Some(Err(_))),
            Place::Database => !matches!(self.opening, Opening::Untried),
            Place::Site | Place::Deep => self.cms().is_some(),
        }
    }
}

/// How a check runs.
#[derive(Clone, Copy)]
enum Run {
    /// Uses the disk, which may hang: runs in a thread of its own.
    Blocking(fn(&CheckInput, &mut Findings)),
    /// Uses the settings or the site.
    Quick(fn(&CheckInput, &mut Findings)),
    /// Uses the database or the network.
    Waiting(for<'a> fn(&'a CheckInput, &'a mut Findings) -> BoxFuture<'a, Result<()>>),
}

macro_rules! run {
    (Waiting $run:path) => {
        Run::Waiting(|asked, found| Box::pin($run(asked, found)))
    };
    ($how:ident $run:path) => {
        Run::$how($run)
    };
}

/// `/// the state that is ok`, then `id: Place How function;` for each check, in the order in which
/// they are reported.
macro_rules! checks {
    ($($(#[doc = $asks:literal])+ $id:ident: $place:ident $how:ident $run:path;)+) => {
        /// The registry.
        pub static CHECKS: &[Check] = &[$(Check {
            id: stringify!($id),
            asks: concat!($($asks),+),
            place: Place::$place,
            run: run!($how $run),
        }),+];
    };
}

checks! {
    /// the machine's clock is plausible
    clock: Machine Quick machine::clock;
    /// the settings can be read, and the folder holds a site
    settings: Machine Quick files::settings;
    /// the variables of the environment are settings
    variables: Machine Quick files::variables;
    /// `cms.toml` is there
    site_file: Folder Blocking files::site_file;
    /// only their owner can read the settings files that hold secrets
    settings_files: Folder Blocking files::settings_files;
    /// the data folder can be written
    data_folder: Folder Blocking files::data_folder;
    /// only their owner can read the data folder and the database's file
    files: Folder Blocking files::modes;
    /// there is room where the site writes
    disk_space: Folder Blocking machine::space;
    /// the limit on open files fits the settings
    open_files: Start Blocking machine::descriptors;
    /// `cms serve` can listen
    listen: Start Waiting machine::listen;
    /// Redis does what requests ask, in time, where a store is set to it
    redis: Folder Waiting work::redis;
    /// the bucket of media answers, where one is set
    media: Folder Waiting work::media;
    /// the database answers, and the site can be opened
    database: Database Waiting database::answers;
    /// the schema is up to date
    migrations: Database Waiting database::migrations;
    /// the database's file is undamaged
    database_intact: Deep Waiting database::damage;
    /// a backup was made within a week, or within two intervals of its task
    backup: Site Waiting backup::last;
    /// the database can be written: it is in its place, and neither a read-only standby nor locked
    database_writable: Site Waiting database::writable;
    /// the server keeps texts in UTF-8, and allows all connections that the site may open
    database_server: Site Waiting database::server;
    /// the database's clock agrees with this one
    database_clock: Site Waiting database::clocks;
    /// searches in the inbox have their index
    search: Site Waiting database::search;
    /// each plugin of the folder is in service as it is declared
    plugin: Site Waiting plugins::refused;
    /// each plugin that was in service still has its folder
    plugin_folders: Site Waiting plugins::vanished;
    /// the interpreter is there, where plugins have scripts
    interpreter: Site Blocking plugins::interpreter;
    /// scripts of plugins see their plugin's folder only
    scripts: Folder Quick machine::scripts;
    /// `encryption_key` is the one that the content was sealed with
    encryption_key: Site Waiting secrets::encryption_key;
    /// `password_salt` is the one that passwords were hashed with
    password_salt: Site Waiting secrets::password_salt;
    /// fields for addresses hold addresses, in records, pages, forms and funnels
    addresses: Deep Waiting addresses::broken;
    /// somebody can log in as administrator
    administrators: Site Waiting secrets::administrators;
    /// no webhook fails, and none was switched off after ten failures
    webhooks: Site Waiting work::webhooks;
    /// no job of a webhook is late, held or given up
    queue: Site Waiting work::queue;
    /// mails can be sent, none is late or given up, and no provider fails or rests
    mail: Site Waiting work::mail;
    /// no task failed in its latest run
    tasks: Site Waiting work::tasks;
    /// no event waits behind one that a plugin could not handle
    event_handlers: Site Waiting work::event_handlers;
    /// the indexes of tables could be made
    indexes: Site Quick work::indexes;
    /// no background work of the process was started again after a failure
    restarts: Site Quick work::restarts;
}

/// Runs the checks of a door concurrently. Returns their findings in the registry's order.
async fn ask(asked: Arc<CheckInput>, door: Door) -> Vec<Finding> {
    let chosen = CHECKS.iter().filter(|check| door.asks(check.place) && asked.can(check.place));
    // Each runs in a task of its own, so that a panic affects no other.
    let begun: Vec<_> =
        chosen.map(|check| (check.id, tokio::spawn(one(asked.clone(), check)))).collect();
    let mut findings = Vec::new();
    for (id, task) in begun {
        findings.extend(task.await.unwrap_or_else(|_| {
            let mut found = Findings::of(id);
            found.error("the check itself failed", "report it: this is a fault of the program");
            found.findings
        }));
    }
    findings
}

async fn one(asked: Arc<CheckInput>, check: &'static Check) -> Vec<Finding> {
    let mut found = Findings::of(check.id);
    let carried_out = async {
        match check.run {
            Run::Quick(run) => run(&asked, &mut found),
            Run::Waiting(run) => run(&asked, &mut found).await?,
            Run::Blocking(run) => {
                let of_site = asked.cms().map(|cms| cms.0.kept.disk_checks.clone());
                let disk_checks = of_site.unwrap_or_default();
                let (asked, mut own) = (asked.clone(), Findings::of(check.id));
                let work = move || {
                    run(&asked, &mut own);
                    own
                };
                match disk_checks.begin(check.id, work) {
                    Some(look) => found = look.await.map_err(Error::internal)?,
                    None => found.error("the last run of this check has not ended", STUCK),
                }
            }
        }
        Ok(())
    };
    let ended = match check.place {
        Place::Deep => Ok(carried_out.await),
        _ => tokio::time::timeout(LIMIT, carried_out).await,
    };
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) if database::is_without_connection(&asked, &error) => found.error(
            "skipped: no connection to the database",
            "see database_server; if that is ok, ask again",
        ),
        Ok(Err(error)) => found.failed(&error),
        Err(_) => {
            let why = format!("no answer within {} s", LIMIT.as_secs());
            found.error(why, STUCK);
        }
    }
    found.findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own_and_says_what_it_asks() {
        let mut names: Vec<_> = CHECKS.iter().map(|check| check.id).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(CHECKS.iter().all(|check| check.asks.starts_with(' ')), "doc comments");
    }

    #[test]
    fn a_running_site_is_not_asked_for_long() {
        for check in CHECKS {
            let asks = Door::Status.asks(check.place);
            assert_eq!(
                asks,
                !["open_files", "listen", "database_intact", "addresses"].contains(&check.id)
            );
            assert!(Door::Doctor.asks(check.place));
        }
    }
}
