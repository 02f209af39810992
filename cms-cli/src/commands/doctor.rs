//! `cms doctor`: what is wrong with a site, and how to mend it

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use clap::Args;
use cms_core::{
    Actor, Clock, Cms, rfc3339,
    settings::{Database, Loaded, Settings, environment},
};
use serde_json::json;

use crate::{
    args::Global,
    exit::Exit,
    failure::{Done, Failure},
    output::{Output, Style},
    site,
    target::Target,
};

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {}

/// 2026-01-01: a clock before this program was written stands wrong.
const WRITTEN_MS: i64 = 1_767_225_600_000;
const CENTURY_MS: i64 = 100 * 365 * 86_400_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug)]
struct Check {
    name: &'static str,
    state: State,
    found: String,
    remedy: &'static str,
}

/// The checks made so far.
#[derive(Debug, Default)]
struct Checks(Vec<Check>);

impl Checks {
    fn ok(&mut self, name: &'static str, found: impl Into<String>) {
        self.0.push(Check { name, state: State::Ok, found: found.into(), remedy: "" });
    }

    fn not(
        &mut self,
        state: State,
        name: &'static str,
        found: impl Into<String>,
        remedy: &'static str,
    ) {
        self.0.push(Check { name, state, found: found.into(), remedy });
    }
}

pub(crate) async fn run(global: &Global, out: &Output) -> Done {
    let dir = Target::folder_only(global, "cms doctor")?;
    let mut checks = Checks::default();
    clock(&mut checks);
    match Settings::load(&dir, environment(), &[]) {
        Err(error) => checks.not(
            State::Fail,
            "settings",
            error.to_string(),
            "correct the place that is named",
        ),
        Ok(loaded) if !site::is_site(&loaded) => {
            checks.not(
                State::Fail,
                "settings",
                format!("there is no cms.toml in {}", dir.display()),
                "cms init",
            );
        }
        Ok(loaded) => {
            settings(&mut checks, &loaded);
            local_file(&mut checks, &dir.join("cms.local.toml"));
            folder(&mut checks, &loaded.settings.dirs.data);
            database(&mut checks, loaded.settings).await;
        }
    }
    print(out, &checks.0)?;
    let failed = checks.0.iter().filter(|check| check.state == State::Fail).count();
    if failed > 0 {
        return Err(Failure::silent(Exit::Failed));
    }
    Ok(())
}

fn clock(checks: &mut Checks) {
    let now = Clock::system().now();
    if (WRITTEN_MS..WRITTEN_MS + CENTURY_MS).contains(&now) {
        checks.ok("clock", rfc3339(now));
    } else {
        checks.not(
            State::Fail,
            "clock",
            rfc3339(now),
            "set the machine's clock: keys expire and codes are checked by it",
        );
    }
}

fn settings(checks: &mut Checks, loaded: &Loaded) {
    let settings = &loaded.settings;
    checks.ok("settings", loaded.dir.display().to_string());
    for warning in &loaded.warnings {
        checks.not(State::Warn, "settings", warning.clone(), "correct or remove the variable");
    }
    checks.ok("time zone", settings.timezone.clone());
    // Whether the salt fits is seen with the users.
    for (name, there) in [
        ("password_salt", settings.password_salt.is_some()),
        ("encryption_key", settings.encryption_key.is_some()),
    ] {
        if !there {
            checks.not(State::Fail, name, "missing", "cms init adds it to cms.local.toml");
        }
    }
}

fn local_file(checks: &mut Checks, path: &Path) {
    match fs::metadata(path).map(|meta| meta.permissions().mode() & 0o777) {
        Ok(mode) if mode & 0o077 == 0 => checks.ok("cms.local.toml", format!("mode {mode:04o}")),
        Ok(mode) => {
            checks.not(
                State::Fail,
                "cms.local.toml",
                format!("mode {mode:04o}: others can read the secrets"),
                "chmod 600 cms.local.toml",
            );
        }
        Err(_) => checks.not(
            State::Warn,
            "cms.local.toml",
            "does not exist",
            "cms init, unless the environment has the secrets",
        ),
    }
}

fn folder(checks: &mut Checks, data: &Path) {
    let probe = data.join(".cms-doctor");
    match fs::write(&probe, "").and_then(|()| fs::remove_file(&probe)) {
        Ok(()) => checks.ok("data folder", data.display().to_string()),
        Err(error) => {
            let found = format!("{} cannot be written: {error}", data.display());
            checks.not(
                State::Fail,
                "data folder",
                found,
                "make it, and give it to the user that runs cms",
            );
        }
    }
}

async fn database(checks: &mut Checks, settings: Settings) {
    let kind = match settings.database() {
        Ok(Database::Sqlite { path }) => format!("SQLite in {}", path.display()),
        _ => "PostgreSQL".to_owned(),
    };
    match Cms::builder(settings.clone()).migrations(false).await {
        Err(error) => {
            let cause = std::error::Error::source(&error)
                .map(|cause| format!(" ({cause})"))
                .unwrap_or_default();
            let found = format!("{kind}: {}{cause}", error.detail());
            return checks.not(
                State::Fail,
                "database",
                found,
                "check database_url or the four db_ settings",
            );
        }
        Ok(steps) => {
            checks.ok("database", kind);
            match steps.iter().filter(|step| !step.applied).count() {
                0 => checks.ok("migrations", format!("all {} applied", steps.len())),
                open if settings.migrate => {
                    checks.not(
                        State::Warn,
                        "migrations",
                        format!("{open} pending"),
                        "the next command applies them, or cms migrate up",
                    );
                }
                open => {
                    return checks.not(
                        State::Fail,
                        "migrations",
                        format!("{open} pending and migrate = false"),
                        "cms migrate up",
                    );
                }
            }
        }
    }
    match Cms::open(settings).await {
        Err(error) => checks.not(State::Fail, "site", error.detail(), "correct what is named"),
        Ok(cms) => {
            site(checks, &cms).await;
            people(checks, &cms).await;
            cms.close().await;
        }
    }
}

async fn site(checks: &mut Checks, cms: &Cms) {
    match cms.change(Actor::Operator).await {
        // Dropped, so nothing is written.
        Ok(_) => checks.ok("database writable", "yes"),
        Err(error) => checks.not(
            State::Fail,
            "database writable",
            error.detail(),
            "give this user the right to write",
        ),
    }
    for plugin in cms.plugins().states().iter() {
        if plugin.problems.is_empty() {
            checks.ok("plugin", plugin.id.clone());
        }
        for problem in &plugin.problems {
            checks.not(
                State::Fail,
                "plugin",
                format!("{}: {problem}", plugin.id),
                "correct plugin.json; the others are loaded",
            );
        }
    }
}

/// Whether everybody can still log in, and somebody administer.
async fn people(checks: &mut Checks, cms: &Cms) {
    if cms.settings().password_salt.is_some() {
        match cms.accounts().salt_check().await {
            Ok((users, 0)) => {
                checks.ok("password_salt", format!("fits the passwords of all users ({users})"))
            }
            Ok((users, others)) => {
                let found = format!(
                    "changed: the passwords of {others} of {users} users were hashed with another one, so they cannot log in"
                );
                checks.not(
                    State::Fail,
                    "password_salt",
                    found,
                    "put the old password_salt back, or cms users passwd for each of them",
                );
            }
            Err(error) => {
                checks.not(State::Fail, "password_salt", error.detail(), "correct what is named")
            }
        }
    }
    match cms.accounts().admins().await {
        Ok(0) => checks.not(
            State::Warn,
            "administrators",
            "nobody can log in as administrator",
            "cms init --admin NAME",
        ),
        Ok(admins) => checks.ok("administrators", admins.to_string()),
        Err(error) => {
            checks.not(State::Fail, "administrators", error.detail(), "correct what is named")
        }
    }
}

fn print(out: &Output, checks: &[Check]) -> Done {
    let word = |state| match state {
        State::Ok => ("ok", Style::Good),
        State::Warn => ("warn", Style::Warn),
        State::Fail => ("fail", Style::Bad),
    };
    if out.json {
        let shown =
            checks.iter().map(|c| json!({"check": c.name, "state": word(c.state).0, "found": c.found, "remedy": c.remedy}));
        return Ok(out.data(&shown.collect::<Vec<_>>().into())?);
    }
    for check in checks.iter().filter(|check| !out.quiet || check.state != State::Ok) {
        let (word, style) = word(check.state);
        if out.table {
            out.line(&format!(
                "{}  {:17}  {}",
                out.styled(style, &format!("{word:4}")),
                check.name,
                check.found
            ))?;
            if !check.remedy.is_empty() {
                out.line(&format!("{:25}{} {}", "", out.styled(Style::Bold, "→"), check.remedy))?;
            }
        } else {
            out.line(&format!("{word}\t{}\t{}\t{}", check.name, check.found, check.remedy))?;
        }
    }
    Ok(())
}
