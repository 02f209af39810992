//! The steps of an update, and how they are undone.
//!
//! ```text
//! prepare   archive checked, program unpacked beside, run once, backup made
//! migrate   only when the new version changes the database
//! try       the new version serves the site on a free port, judged by this one
//! switch    this version kept as the previous one, the new one renamed into its place
//! ```
//!
//! Until the switch this version stays in its place. An update that broke off is finished or
//! undone at the next start: [`resume`].

use std::path::{Path, PathBuf};

use cms_core::{Cms, settings::Loaded, update::Version};
use serde_json::json;

use super::{
    Updates, WITHOUT_CREDENTIALS, installed,
    program::{Journal, Program, Step, reached, refuse_if_owned},
    trial::Trial,
};
use crate::{
    environment,
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output, counted},
    prompt,
};

pub(super) async fn apply(flags: &Flags, out: &Output, loaded: Loaded, backup: bool) -> Done {
    let program = Program::running()?;
    let _turn = program.turn()?;
    finish(out, &program).await?;
    let settings = &loaded.settings;
    if settings.update_user.is_none() || settings.update_password.is_none() {
        return Err(Failure::new(Exit::Refused, WITHOUT_CREDENTIALS)
            .hint("write both into cms.local.toml; cms update check and download work without"));
    }
    refuse_if_owned(&program.path).await?;
    let updates = Updates::new(flags, out, loaded)?;
    let (release, here) = (updates.latest().await?, installed()?);
    let to = release.version.clone();
    if to == here {
        let value = json!({"installed": here.to_string(), "applied": false});
        return out.done(&value, &format!("{here} is the newest version."));
    }
    if to < here {
        let what = format!("the update server offers {to}, which is older than {here}");
        return Err(Failure::new(Exit::Refused, what).hint("cms update rollback goes back"));
    }
    let archive = updates.archive(&release).await?;
    let site = &updates.loaded.dir;
    let mut update = Update {
        out,
        program: &program,
        journal: Journal {
            step: Step::Preparing,
            from: here.to_string(),
            to: to.to_string(),
            sha256: String::new(),
            backup: None,
            site: site.canonicalize().map_err(|e| Failure::file(site, &e))?,
        },
    };
    let made = async {
        update.prepare(&archive, &release.sha256).await?;
        let steps = update.trial_of_new().pending().await?;
        if steps > 0 {
            update.may_change(flags, steps, backup)?;
        }
        if backup {
            update.backup(&updates.folder).await?;
        }
        if steps > 0 {
            out.note(&format!("Changing the database: {} of the schema", counted(steps, "step")));
            update.reach(Step::Migrating)?;
            reached("migrating");
            update.trial_of_new().migrate().await?;
            reached("migrated");
        }
        update.judge_and_switch().await
    };
    if let Err(failure) = made.await {
        return Err(update.undo(&updates.loaded, failure).await);
    }
    let previous = program.previous();
    let value = json!({
        "installed": to.to_string(),
        "applied": true,
        "previous": here.to_string(),
        "backup": update.journal.backup,
    });
    let text = format!(
        "{to} is in place; {here} stays as {}. Next: start `cms serve` again",
        previous.display()
    );
    out.done(&value, &text)
}

pub(super) async fn rollback(out: &Output, loaded: Loaded) -> Done {
    let program = Program::running()?;
    let _turn = program.turn()?;
    finish(out, &program).await?;
    let previous = program.previous();
    if !previous.is_file() {
        let what = format!("there is no earlier version: {} does not exist", previous.display());
        return Err(Failure::new(Exit::Refused, what).hint("cms update check"));
    }
    let site = loaded.dir.canonicalize().map_err(|e| Failure::file(&loaded.dir, &e))?;
    let trial = Trial::new(&previous, &site);
    let to = trial.version().await?;
    if let Err(failure) = trial.pending().await {
        let restore = format!("{} db restore FILE --yes", previous.display());
        return Err(Failure::new(Exit::Refused, failure.what).hint(format!(
            "stop cms serve, put the backup from before the update back ({restore}), then go back"
        )));
    }
    trial.serve().await?;
    let journal = Journal {
        step: Step::Switching,
        from: installed()?.to_string(),
        to: to.clone(),
        sha256: program.digest_of(&previous)?,
        backup: None,
        site,
    };
    journal.write(&program)?;
    reached("returning");
    program.switch_back()?;
    reached("returned");
    Journal::remove(&program)?;
    let value = json!({"installed": to, "previous": journal.from});
    out.done(&value, &format!("{to} is in place again. Next: start `cms serve` again"))
}

/// At a start, finishes or undoes an update that broke off. Leaves an update under way alone.
pub(crate) async fn resume(out: &Output) -> Done {
    let Ok(program) = Program::running() else { return Ok(()) };
    if !program.journal().exists() {
        return Ok(());
    }
    match program.try_turn()? {
        Some(_turn) => finish(out, &program).await,
        None => Ok(()),
    }
}

async fn finish(out: &Output, program: &Program) -> Done {
    let Some(journal) = Journal::read(program)? else { return Ok(()) };
    let mut update = Update { out, program, journal };
    let (from, to) = (update.journal.from.clone(), update.journal.to.clone());
    let stands = update.journal.step == Step::Switching
        && program.digest_of(&program.path)? == update.journal.sha256;
    if stands {
        program.clear()?;
        out.note(&format!("The change from {from} to {to} had broken off: it is finished."));
        return Journal::remove(program);
    }
    if update.journal.step == Step::Migrating {
        let loaded = folder::settings(&update.journal.site, &[], out)?;
        if !opens(&loaded).await? {
            out.note(&format!("The update to {to} had broken off, the database is changed."));
            return match update.judge_and_switch().await {
                Ok(()) => Err(become_new(program)),
                Err(failure) => Err(update.undo(&loaded, failure).await),
            };
        }
    }
    update.clear()?;
    out.note(&format!("The change from {from} to {to} had broken off: it is undone."));
    Ok(())
}

/// Whether this version can use the database in its present state.
async fn opens(loaded: &Loaded) -> Done<bool> {
    match Cms::builder(loaded.settings.clone()).migrations(false).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_outdated() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Replaces this process by the new version, with the same command.
fn become_new(program: &Program) -> Failure {
    use std::os::unix::process::CommandExt;
    let mut command = std::process::Command::new(&program.path);
    command.args(std::env::args_os().skip(1));
    environment::hand_on(&mut command);
    Failure::file(&program.path, &command.exec())
}

/// An update under way.
struct Update<'a> {
    out: &'a Output,
    program: &'a Program,
    journal: Journal,
}

impl Update<'_> {
    fn reach(&mut self, step: Step) -> Done {
        self.journal.step = step;
        self.journal.write(self.program)
    }

    /// The new version, beside the present one.
    fn trial_of_new(&self) -> Trial {
        Trial::new(&self.program.next(), &self.journal.site)
    }

    /// The version in the program's place.
    fn trial_in_place(&self) -> Trial {
        Trial::new(&self.program.path, &self.journal.site)
    }

    async fn prepare(&mut self, archive: &Path, sha256: &str) -> Done {
        self.reach(Step::Preparing)?;
        reached("preparing");
        self.journal.sha256 = self.program.stage(archive, sha256)?;
        reached("unpacked");
        let said = self.trial_of_new().version().await?;
        let is_it = said.parse::<Version>().is_ok_and(|said| said.to_string() == self.journal.to);
        if !is_it {
            let what = format!("the release {} holds a program of {said:?}", self.journal.to);
            return Err(Failure::new(Exit::Failed, what).hint("tell those who make the releases"));
        }
        Ok(())
    }

    /// Says what a change of the database means, before the change is made.
    fn may_change(&self, flags: &Flags, steps: u64, backup: bool) -> Done {
        let (from, to) = (&self.journal.from, &self.journal.to);
        let changes = format!("{to} changes the database ({})", counted(steps, "step"));
        if !backup {
            let what = format!("{changes}, and only a backup leads back to {from}");
            return Err(Failure::new(Exit::Refused, what).hint("leave out --without-backup"));
        }
        let question = format!(
            "{changes}. {from} cannot use it after that: a `cms serve` that is started again \
             before the end fails, and going back puts the backup in place of what was written \
             since. Go on?"
        );
        prompt::confirm(flags, &question)
    }

    async fn backup(&mut self, folder: &Path) -> Done {
        let to = &self.journal.to;
        let name = |n: u32| match n {
            1 => folder.join(format!("before-{to}.cms-backup")),
            n => folder.join(format!("before-{to}-{n}.cms-backup")),
        };
        // An earlier backup is never overwritten.
        let file = (1..).map(name).find(|file| !file.exists()).unwrap_or_else(|| name(1));
        self.out.note(&format!("Backup: {}", file.display()));
        self.trial_in_place().backup(&file).await.map_err(|why| {
            let what = format!("the backup failed, so nothing was changed: {why}");
            Failure::new(Exit::Failed, what).hint("--without-backup makes none")
        })?;
        self.journal.backup = Some(file);
        reached("backup");
        Ok(())
    }

    async fn judge_and_switch(&mut self) -> Done {
        self.out.note(&format!("Trying {} on a free port", self.journal.to));
        self.trial_of_new().serve().await?;
        reached("judged");
        self.reach(Step::Switching)?;
        reached("switching");
        self.program.switch()?;
        reached("switched");
        if let Err(failure) = self.trial_in_place().version().await {
            self.program.switch_back()?;
            return Err(failure);
        }
        self.program.clear()?;
        Journal::remove(self.program)
    }

    /// Undoes what was done, and adds that to `failure`.
    async fn undo(&self, loaded: &Loaded, failure: Failure) -> Failure {
        let (from, to) = (&self.journal.from, &self.journal.to);
        let mut said = format!("{from} stays.");
        if self.journal.step != Step::Preparing && !matches!(opens(loaded).await, Ok(true)) {
            match self.restore().await {
                Ok(file) => said = format!("{from} stays, with the backup {}.", file.display()),
                Err(why) => {
                    let what = format!(
                        "{}\n{to} has changed the database, and the backup could not be put back: \
                         {why}",
                        failure.what
                    );
                    return Failure::new(Exit::Partly, what)
                        .hint("cms db restore FILE --yes, with the backup from data/updates");
                }
            }
        }
        if let Err(left) = self.clear() {
            said = format!("{said} {}", left.what);
        }
        let mut failure = failure;
        failure.what = format!("{}\n{said}", failure.what);
        failure
    }

    async fn restore(&self) -> Result<PathBuf, String> {
        let file = self.journal.backup.clone().ok_or("there is none")?;
        self.trial_in_place().restore(&file).await.map(|()| file)
    }

    fn clear(&self) -> Done {
        self.program.clear()?;
        Journal::remove(self.program)
    }
}
