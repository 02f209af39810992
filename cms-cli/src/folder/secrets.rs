//! The two secrets of a site. A secret that was used is never replaced: everything hashed or
//! encrypted with it would be lost.

use std::{fs, path::Path};

use cms_core::{
    Random, Vault,
    items::Query,
    settings::{self, Database, Loaded},
};

use super::{
    new_file::write_new,
    open::{as_is, bring_up_to_date},
    report::Report,
};
use crate::output::{Done, Exit, Failure};

/// Adds the secrets that no setting gives to `cms.local.toml`.
pub(super) async fn complete(local: &Path, loaded: &Loaded, report: &mut Report) -> Done {
    let random = Random::system();
    let salt =
        if loaded.settings.password_salt.is_none() { Some(new_salt(&random)?) } else { None };
    let key = if loaded.settings.encryption_key.is_none() {
        Some(Vault::new_key(&random)?)
    } else {
        None
    };
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
    // In front: below a table they would belong to it.
    let missing = line("password_salt", &salt) + &line("encryption_key", &key);
    let old = fs::read_to_string(local).map_err(|e| Failure::file(local, &e))?;
    let beside = local.with_extension("toml.new");
    write_new(&beside, &format!("{missing}{old}"), 0o600)?;
    fs::rename(&beside, local).map_err(|e| Failure::file(local, &e))?;
    report.made.extend(made.into_iter().map(str::to_owned));
    Ok(())
}

/// Fails when the database needs a secret that is missing: passwords of users need the salt, sealed
/// values the key. Then it existed and is lost.
async fn refuse_if_used(loaded: &Loaded, missing: &[&str]) -> Done {
    if matches!(loaded.settings.database()?, Database::Sqlite { path, .. } if !path.exists()) {
        return Ok(());
    }
    bring_up_to_date(loaded.settings.clone()).await?;
    let cms = as_is(loaded.settings.clone()).await?;
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
