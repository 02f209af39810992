//! Checks of the database and its content: damage, schema, secrets, plugins, people

use std::error::Error as _;

use cms_core::{
    Clock, Cms, Error,
    settings::{Database, Settings},
};

use super::checks::Checks;
use crate::folder;

const RESTORE: &str = "restore the database from a backup";
/// Which sealed values are opened.
const TRIED: &str = "secrets and headers of webhooks, authenticators, 100 values of each \
                     password column";
/// Codes of authenticators are accepted for 30 seconds before and after.
const CLOCKS_APART_MS: i64 = 15_000;

pub(super) async fn check(checks: &mut Checks, settings: Settings) {
    let kind = match settings.database() {
        Ok(Database::Sqlite { path, .. }) => format!("SQLite in {}", path.display()),
        _ => "PostgreSQL".to_owned(),
    };
    let steps = match Cms::builder(settings.clone()).migrations(false).await {
        Ok(steps) => steps,
        Err(error) => {
            let found = format!("{kind}: {}", told(&error));
            let remedy = if error.is_damaged() {
                RESTORE
            } else if error.is_outdated() {
                "run the version of cms that made this schema, or a newer one"
            } else {
                "check database_url or the four db_ settings, and that the database runs; cms \
                 migrate up makes a new one"
            };
            return checks.fail("database", found, remedy);
        }
    };
    checks.ok("database", kind);
    match steps.iter().filter(|step| !step.applied).count() {
        0 => checks.ok("migrations", format!("all {} applied", steps.len())),
        open => return checks.fail("migrations", format!("{open} pending"), "cms migrate up"),
    }
    match inspected(settings).await {
        Err(error) => checks.fail("site", told(&error), mending(&error)),
        Ok(cms) => {
            damage(checks, &cms).await;
            writing(checks, &cms).await;
            clocks(checks, &cms).await;
            searches(checks, &cms).await;
            plugins(checks, &cms);
            addresses(checks, &cms).await;
            secrets(checks, &cms).await;
            administrators(checks, &cms).await;
            mail(checks, &cms).await;
            cms.close().await;
        }
    }
}

async fn inspected(settings: Settings) -> cms_core::Result<Cms> {
    folder::builder(settings)?.inspect().await
}

/// What happened and why.
fn told(error: &Error) -> String {
    match error.source() {
        Some(cause) => format!("{} ({cause})", error.detail()),
        None => error.detail().to_owned(),
    }
}

fn mending(error: &Error) -> &'static str {
    if error.is_damaged() { RESTORE } else { "correct what the message names" }
}

async fn damage(checks: &mut Checks, cms: &Cms) {
    match cms.damage().await {
        Ok(None) => checks.ok("database intact", "yes"),
        Ok(Some(found)) => checks.fail("database intact", found, RESTORE),
        Err(error) => checks.fail("database intact", told(&error), mending(&error)),
    }
}

async fn writing(checks: &mut Checks, cms: &Cms) {
    match cms.try_write().await {
        Ok(()) => checks.ok("database writable", "yes"),
        Err(error) if error.is_damaged() => {
            checks.fail("database writable", told(&error), RESTORE);
        }
        Err(error) => checks.fail(
            "database writable",
            told(&error),
            "let the database user write, and end programs that keep it locked",
        ),
    }
}

/// Whether the inbox is searched by an index.
async fn searches(checks: &mut Checks, cms: &Cms) {
    match cms.missing_search_index().await {
        Ok(None) => checks.ok("search", "the inbox has an index"),
        Ok(Some(statements)) => {
            let found = "the extension pg_trgm is missing: the inbox is searched among its newest \
                         50,000 submissions only";
            checks.warn("search", found, format!("run as a superuser: {statements}"));
        }
        Err(error) => checks.fail("search", told(&error), mending(&error)),
    }
}

/// The clock of the database, and the rows that were written by it.
async fn clocks(checks: &mut Checks, cms: &Cms) {
    let now = Clock::system().now();
    let remedy = "set the clocks of both machines: codes, sessions and deliveries depend on them";
    let found = match cms.database_clock().await {
        Ok(there) => there.and_then(|there| apart(there - now)),
        Err(error) => return checks.fail("database clock", told(&error), mending(&error)),
    };
    if let Some(found) = found {
        return checks.fail("database clock", found, remedy);
    }
    match cms.last_written().await {
        Ok(Some(newest)) if newest - now > CLOCKS_APART_MS => {
            let found =
                format!("the newest row is {} s younger than this clock", (newest - now) / 1000);
            checks.fail("database clock", found, remedy);
        }
        Ok(_) => checks.ok("database clock", "agrees with this one"),
        Err(error) => checks.fail("database clock", told(&error), mending(&error)),
    }
}

/// Says so when the database's clock is too far ahead of this one, or behind it.
fn apart(ahead_ms: i64) -> Option<String> {
    let which = if ahead_ms > 0 { "ahead of" } else { "behind" };
    let seconds = ahead_ms.abs() / 1000;
    (ahead_ms.abs() > CLOCKS_APART_MS)
        .then(|| format!("the database's clock is {seconds} s {which} this one"))
}

fn plugins(checks: &mut Checks, cms: &Cms) {
    for plugin in cms.plugins().states().iter() {
        if plugin.problems.is_empty() {
            checks.ok("plugin", plugin.id.clone());
        }
        for problem in &plugin.problems {
            let remedy = if plugin.is_earlier() {
                "do what the message says; until then the earlier declaration stays in service"
            } else {
                "do what the message says; the other plugins are loaded"
            };
            checks.fail("plugin", format!("{}: {problem}", plugin.id), remedy);
        }
    }
}

/// Whether columns and fields of addresses hold addresses.
async fn addresses(checks: &mut Checks, cms: &Cms) {
    let found = match cms.broken_addresses().await {
        Ok(found) => found,
        Err(error) => return checks.fail("addresses", told(&error), mending(&error)),
    };
    if found.is_empty() {
        checks.ok("addresses", "all lead to pages, files or other sites");
    }
    for one in found {
        let place = format!("{} {}, {}", one.table, one.id, one.column);
        checks.warn("address", place, one.problem);
    }
}

/// Whether the two secrets are those that the content was made with.
async fn secrets(checks: &mut Checks, cms: &Cms) {
    match cms.sealed_values().await {
        Ok(sealed) if sealed.lost > 0 => {
            let found = format!(
                "changed: it does not open {} of {} sealed values ({TRIED})",
                sealed.lost,
                sealed.lost + sealed.opened
            );
            let remedy = "put the old encryption_key back, or add it to old_encryption_keys";
            checks.fail("encryption_key", found, remedy);
        }
        Ok(sealed) if cms.settings().encryption_key.is_some() => {
            checks.ok(
                "encryption_key",
                format!("opens all {} sealed values tried ({TRIED})", sealed.opened),
            );
        }
        Ok(_) => {}
        Err(error) => checks.fail("encryption_key", told(&error), mending(&error)),
    }
    if cms.settings().password_salt.is_none() {
        return;
    }
    match cms.accounts().salt_check().await {
        Ok((users, 0)) => {
            checks.ok("password_salt", format!("fits the passwords of all users ({users})"));
        }
        Ok((users, others)) => {
            let found = format!(
                "changed: {others} of {users} users cannot log in, because their passwords were \
                 hashed with another salt"
            );
            checks.fail(
                "password_salt",
                found,
                "put the old password_salt back, or cms users passwd for each user",
            );
        }
        Err(error) => checks.fail("password_salt", told(&error), mending(&error)),
    }
}

async fn administrators(checks: &mut Checks, cms: &Cms) {
    match cms.accounts().admins().await {
        Ok(0) => checks.warn(
            "administrators",
            "nobody can log in as administrator",
            "cms init --admin NAME",
        ),
        Ok(admins) => checks.ok("administrators", admins.to_string()),
        Err(error) => checks.fail("administrators", told(&error), mending(&error)),
    }
}

/// Whether mails can be sent, and whether providers fail.
async fn mail(checks: &mut Checks, cms: &Cms) {
    let (providers, waiting) = match (cms.mail().providers().await, cms.mail().waiting().await) {
        (Ok(providers), Ok((waiting, _))) => (providers, waiting),
        (Err(error), _) | (_, Err(error)) => {
            return checks.fail("mail", told(&error), mending(&error));
        }
    };
    let missing = match (cms.mail().sender(), providers.is_empty()) {
        (Some(_), false) => None,
        (None, false) => Some("mail.from"),
        (_, true) => Some("mail.smtp_url or another provider"),
    };
    match missing {
        Some(setting) if waiting > 0 || !providers.is_empty() => {
            let found = format!("{waiting} mails wait, and none can be sent");
            return checks.fail("mail", found, format!("set {setting}"));
        }
        // A site without mail.
        Some(_) => return,
        None => {}
    }
    let bad: Vec<_> = providers.iter().filter(|provider| provider.faults > 0).collect();
    for provider in &bad {
        let why = provider.reason.as_deref().unwrap_or("unknown");
        let found = format!("{} ({}): {why}", provider.name, provider.server);
        checks.warn("mail", found, "cms mail test ADDRESS tries it");
    }
    if bad.is_empty() {
        let names: Vec<_> = providers.iter().map(|provider| provider.name.as_str()).collect();
        checks.ok("mail", format!("{}, {waiting} waiting", names.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_clock_is_ahead_or_behind() {
        for (ahead_ms, found) in [
            (15_000, None),
            (-15_000, None),
            (60_000, Some("the database's clock is 60 s ahead of this one")),
            (-60_000, Some("the database's clock is 60 s behind this one")),
        ] {
            assert_eq!(super::apart(ahead_ms).as_deref(), found);
        }
    }
}
