//! Checks of a site: one registry. `cms doctor`, `cms status`, `/readyz` and the home screen of the
//! terminal ask it. Nothing here changes anything.
//!
//! ```text
//! finding   what a check found, and the remedy
//! examine   asks the checks from outside, also of a site that cannot be opened
//! kept      asks them in a running site, and keeps what they found
//! machine, files, secrets, database, backup, plugins, addresses, work: what the checks do
//! ```
//!
//! To add one: a line in `checks!`, and its function. docs/doctor.md lists them; `CMS_WRITE_DOCS=1`
//! writes that list again.

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

/// How long a check may take. Longer than the database waits for a lock, so that it can say so.
const LIMIT: Duration = Duration::from_secs(15);

const STUCK: &str = "see whether the disk, the database or the network is stuck";

/// What a check asks, and so who can ask it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The machine and the settings as they are written.
    Machine,
    /// The site's folder and what the settings name; needs no database.
    Folder,
    /// What a start would meet, so only `cms doctor` asks.
    Start,
    /// The database; needs no open site.
    Database,
    /// An open site.
    Site,
    /// An open site, for long: only `cms doctor` asks.
    Deep,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// `cms doctor`: everything.
    Doctor,
    /// `cms status`, `/readyz` and the terminal: what a running site can tell quickly.
    Status,
}

impl Door {
    /// Whether a check in this place is asked.
    #[must_use]
    pub fn asks(self, place: Place) -> bool {
        self == Self::Doctor || !matches!(place, Place::Start | Place::Deep)
    }
}

/// A check of the registry.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name, in all that asks it.
    pub id: &'static str,
    /// What is asked, as an end of "it is asked whether …".
    pub asks: &'static str,
    /// What it needs.
    pub place: Place,
    run: Run,
}

/// What is known of the site before its checks run.
pub(crate) struct Asked {
    /// The settings in force.
    settings: Settings,
    /// The settings as the folder has them now; None: the site has no folder.
    files: Option<Result<Loaded, SettingsError>>,
    opening: Opening,
}

impl Asked {
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

    /// Whether a check in this place can be asked.
    fn can(&self, place: Place) -> bool {
        match place {
            Place::Machine => true,
            // The defaults stand in for settings that cannot be read.
            Place::Folder | Place::Start => !matches!(self.files, Some(Err(_))),
            Place::Database => !matches!(self.opening, Opening::Untried),
            Place::Site | Place::Deep => self.cms().is_some(),
        }
    }
}

/// How a check is carried out.
#[derive(Clone, Copy)]
enum Run {
    /// It asks the disk, which may hang: in a thread of its own.
    Blocking(fn(&Asked, &mut Findings)),
    /// It asks the settings or the site.
    Quick(fn(&Asked, &mut Findings)),
    /// It asks the database or the network.
    Waiting(for<'a> fn(&'a Asked, &'a mut Findings) -> BoxFuture<'a, Result<()>>),
}

macro_rules! run {
    (Waiting $run:path) => {
        Run::Waiting(|asked, found| Box::pin($run(asked, found)))
    };
    ($how:ident $run:path) => {
        Run::$how($run)
    };
}

/// `/// what is asked`, then `id: Place How function;` for each check, in the order in which they
/// are told.
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
    /// the machine's clock can be right
    clock: Machine Quick machine::clock;
    /// the settings can be read, and the folder holds a site
    settings: Machine Quick files::settings;
    /// the variables of the environment are settings
    variables: Machine Quick files::variables;
    /// `cms.toml` is there
    site_file: Folder Blocking files::site_file;
    /// others can read a settings file that holds secrets
    settings_files: Folder Blocking files::settings_files;
    /// the data folder can be written
    data_folder: Folder Blocking files::data_folder;
    /// others can read the data folder or the database's file
    files: Folder Blocking files::modes;
    /// there is room where the site writes
    disk_space: Folder Blocking machine::space;
    /// the limit on open files fits the settings
    open_files: Start Blocking machine::descriptors;
    /// `cms serve` can listen
    listen: Start Waiting machine::listen;
    /// Redis can be written and read, where a store is set to it
    redis: Folder Waiting work::redis;
    /// the bucket of media answers, where one is set
    media: Folder Waiting work::media;
    /// the database answers, and the site can be opened
    database: Database Waiting database::answers;
    /// the schema is up to date
    migrations: Database Waiting database::migrations;
    /// the database's file is damaged
    database_intact: Deep Waiting database::damage;
    /// a backup was made within a week, or within two intervals of its task
    backup: Site Waiting backup::last;
    /// the database can be written: no read-only standby, nobody who keeps it locked
    database_writable: Site Waiting database::writable;
    /// the database's clock agrees with this one
    database_clock: Site Waiting database::clocks;
    /// searches in the inbox have their index
    search: Site Waiting database::search;
    /// each plugin of the folder is in service as it is declared
    plugin: Site Waiting plugins::refused;
    /// a plugin was in service whose folder is gone
    plugin_folders: Site Waiting plugins::vanished;
    /// the interpreter is there, where plugins have scripts
    interpreter: Site Blocking plugins::interpreter;
    /// scripts of plugins see their plugin's folder only
    scripts: Folder Quick machine::scripts;
    /// `encryption_key` is the one that the content was sealed with
    encryption_key: Site Waiting secrets::encryption_key;
    /// `password_salt` is the one that passwords were hashed with
    password_salt: Site Waiting secrets::password_salt;
    /// what must be an address is one, in records, pages, forms and funnels
    addresses: Deep Waiting addresses::broken;
    /// somebody can log in as administrator
    administrators: Site Waiting secrets::administrators;
    /// a webhook fails, or was switched off after ten failures
    webhooks: Site Waiting work::webhooks;
    /// jobs of webhooks are late, held or were given up
    queue: Site Waiting work::queue;
    /// mails can be sent, are late or were given up, and providers fail or rest
    mail: Site Waiting work::mail;
    /// the latest run of a task failed
    tasks: Site Waiting work::tasks;
    /// an event was not handled by a plugin, so that later ones wait for it
    event_handlers: Site Waiting work::event_handlers;
    /// indexes of tables could be made
    indexes: Site Quick work::indexes;
    /// background work of the process failed and was started again
    restarts: Site Quick work::restarts;
}

/// Asks the checks of a door beside each other. What they found comes in the registry's order.
async fn ask(asked: Arc<Asked>, door: Door) -> Vec<Finding> {
    let chosen = CHECKS.iter().filter(|check| door.asks(check.place) && asked.can(check.place));
    // Each in a task of its own: one that panics takes no other along.
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

async fn one(asked: Arc<Asked>, check: &'static Check) -> Vec<Finding> {
    let mut found = Findings::of(check.id);
    let carried_out = async {
        match check.run {
            Run::Quick(run) => run(&asked, &mut found),
            Run::Waiting(run) => run(&asked, &mut found).await?,
            Run::Blocking(run) => {
                let looks = asked.cms().map(|cms| cms.0.kept.looks.clone()).unwrap_or_default();
                let (asked, mut own) = (asked.clone(), Findings::of(check.id));
                let work = move || {
                    run(&asked, &mut own);
                    own
                };
                match looks.begin(check.id, work) {
                    Some(look) => found = look.await.map_err(Error::internal)?,
                    None => found.error("the look before this one has not ended", STUCK),
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
