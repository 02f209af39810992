//! The database, and what is in it: schema, plugins, people

use cms_core::{
    Actor, Cms,
    settings::{Database, Settings},
};

use super::checks::{Checks, State};

pub(super) async fn check(checks: &mut Checks, settings: Settings) {
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
