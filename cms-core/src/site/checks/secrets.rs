//! Checks of the two secrets (whether the content was made with them), and of the users that can
//! log in.

use super::{CheckInput, finding::Findings};
use crate::{Cms, Result};

/// Which sealed values are opened.
const TRIED: &str = "secrets and headers of 500 webhooks, 500 authenticators, 100 values of each \
                     password column";

/// The remedy when a secret is missing and nothing in the database depends on it.
const PUT_BACK: &str = "put cms.local.toml back from a backup; a new site gets one by `cms init`";

/// How many sealed values the encryption keys can open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SealedValues {
    /// Values that the present keys open.
    pub opened: usize,
    /// Values that were sealed with another key, or altered.
    pub lost: usize,
    /// How many of the lost values are secrets and headers of webhooks.
    pub webhooks: usize,
    /// How many of the lost values are secrets of authenticators.
    pub authenticators: usize,
}

impl Cms {
    /// Opens secrets and headers of webhooks, secrets of authenticators and some values of each
    /// password column.
    pub async fn sealed_values(&self) -> Result<SealedValues> {
        let opens = [
            self.webhooks().secrets_open().await?,
            self.accounts().totp_open().await?,
            self.items().passwords_open().await?,
        ];
        let lost = opens.each_ref().map(|opens| opens.iter().filter(|open| !**open).count());
        let [webhooks, authenticators, columns] = lost;
        let lost = webhooks + authenticators + columns;
        let opened = opens.concat().len() - lost;
        Ok(SealedValues { opened, lost, webhooks, authenticators })
    }
}

pub(super) async fn encryption_key(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let (sealed, is_set) = (cms.sealed_values().await?, cms.settings().encryption_key.is_some());
    let (lost, all) = (sealed.lost, sealed.lost + sealed.opened);
    match (lost, is_set) {
        (0, true) => found.ok(format!("opens all {all} sealed values tried ({TRIED})")),
        (0, false) => found.error("missing", PUT_BACK),
        (_, true) => found.error(
            format!("changed: it does not open {lost} of {all} sealed values ({TRIED})"),
            format!(
                "put the old encryption_key back, or add it to old_encryption_keys{}",
                instead(&sealed)
            ),
        ),
        (_, false) => found.error(
            format!("missing, and {lost} sealed values need it ({TRIED})"),
            format!(
                "put encryption_key back into cms.local.toml from a backup{}",
                instead(&sealed)
            ),
        ),
    }
    Ok(())
}

/// The remedy when the key is lost for good: what to create again.
fn instead(sealed: &SealedValues) -> String {
    let columns = sealed.lost - sealed.webhooks - sealed.authenticators;
    let steps = [
        (sealed.webhooks, "`cms webhooks rotate-secret ID --yes` for each webhook"),
        (sealed.webhooks, "set its headers again"),
        (sealed.authenticators, "`cms users 2fa-reset NAME` for each user with an authenticator"),
        (columns, "write new values into password columns"),
    ];
    let steps: Vec<_> = steps.iter().filter(|(lost, _)| *lost > 0).map(|(_, step)| *step).collect();
    format!("; if it is lost for good, set a new one, then: {}", steps.join(", "))
}

pub(super) async fn password_salt(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let anew = "if it is lost for good, `cms users passwd NAME` for each user";
    if cms.settings().password_salt.is_none() {
        match cms.accounts().users(&crate::items::Query::new().limit(1)).await?.data.is_empty() {
            true => found.error("missing", PUT_BACK),
            false => found.error(
                "missing, and users have passwords that were hashed with it",
                format!(
                    "put password_salt back into cms.local.toml from a backup; {anew}, with a new \
                     one"
                ),
            ),
        }
        return Ok(());
    }
    match cms.accounts().salt_check().await? {
        (users, 0) => found.ok(format!("fits the passwords of all users ({users})")),
        (users, others) => found.error(
            format!(
                "changed: {others} of {users} users cannot log in, because their passwords were \
                 hashed with another salt"
            ),
            format!("put the old password_salt back; {anew}"),
        ),
    }
    Ok(())
}

pub(super) async fn administrators(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    match cms.accounts().admins().await? {
        0 => found.warning("nobody can log in as administrator", "`cms init --admin NAME`"),
        admins => found.ok(admins.to_string()),
    }
    Ok(())
}
