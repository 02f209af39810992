//! Checks of the database and its content: schema, plugins, people

use cms_core::{
    Actor, Cms,
    settings::{Database, Settings},
};

use super::checks::Checks;

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
            return checks.fail("database", found, "check database_url or the four db_ settings");
        }
        Ok(steps) => {
            checks.ok("database", kind);
            match steps.iter().filter(|step| !step.applied).count() {
                0 => checks.ok("migrations", format!("all {} applied", steps.len())),
                open => {
                    return checks.fail("migrations", format!("{open} pending"), "cms migrate up");
                }
            }
        }
    }
    match Cms::builder(settings).inspect().await {
        Err(error) => checks.fail("site", error.detail(), "correct what the message names"),
        Ok(cms) => {
            site(checks, &cms).await;
            people(checks, &cms).await;
            cms.close().await;
        }
    }
}

async fn site(checks: &mut Checks, cms: &Cms) {
    match cms.change(Actor::Operator).await {
        // Dropped without a commit.
        Ok(_) => checks.ok("database writable", "yes"),
        Err(error) => {
            checks.fail("database writable", error.detail(), "let the database user write")
        }
    }
    for plugin in cms.plugins().states().iter() {
        if plugin.problems.is_empty() {
            checks.ok("plugin", plugin.id.clone());
        }
        for problem in &plugin.problems {
            checks.fail(
                "plugin",
                format!("{}: {problem}", plugin.id),
                "correct its plugin.json; the other plugins are loaded",
            );
        }
    }
}

/// Whether everybody can still log in, and an administrator is left.
async fn people(checks: &mut Checks, cms: &Cms) {
    if cms.settings().password_salt.is_some() {
        match cms.accounts().salt_check().await {
            Ok((users, 0)) => {
                checks.ok("password_salt", format!("fits the passwords of all users ({users})"))
            }
            Ok((users, others)) => {
                let found = format!(
                    "changed: {others} of {users} users cannot log in, because their passwords \
                     were hashed with another salt"
                );
                checks.fail(
                    "password_salt",
                    found,
                    "put the old password_salt back, or cms users passwd for each user",
                );
            }
            Err(error) => {
                checks.fail("password_salt", error.detail(), "correct what the message names")
            }
        }
    }
    match cms.accounts().admins().await {
        Ok(0) => checks.warn(
            "administrators",
            "nobody can log in as administrator",
            "cms init --admin NAME",
        ),
        Ok(admins) => checks.ok("administrators", admins.to_string()),
        Err(error) => {
            checks.fail("administrators", error.detail(), "correct what the message names")
        }
    }
}
