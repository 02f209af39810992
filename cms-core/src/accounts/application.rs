//! Users of the embedding application. The site stores no rows for them: the application names
//! them and says what they may do.

use std::collections::BTreeMap;

use super::{Accounts, HeldPermissions, groups, name_keys};
use crate::{Actor, Change, Code, Error, Result};

/// A user whom the embedding application has logged in by its own means. Code that sets an
/// `AppUser` as a request's extension vouches for the user; no other credentials are needed.
///
/// ```
/// use cms_core::accounts::AppUser;
/// let anna = AppUser::new("anna@example.org").group("editors");
/// assert_eq!(anna.name(), "anna@example.org");
/// ```
#[derive(Clone, Debug)]
pub struct AppUser {
    name: String,
    groups: Vec<String>,
    rights: HeldPermissions,
    by_token: bool,
}

impl AppUser {
    /// A user without rights. The name identifies the user in the audit log, in the limiter and
    /// for repeated requests. It has 1 to 200 characters, no blank at either end and no control
    /// character; requests with any other name are refused with 500.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let (name, rights) = (name.into(), HeldPermissions::default());
        Self { name, groups: Vec::new(), rights, by_token: false }
    }

    /// Adds the rights of the group with this name. The group is read with each request and each
    /// change, and once a second while a stream is open. If it does not exist, requests are
    /// refused, except for what everybody may read.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>) -> Self {
        self.groups.push(name.into());
        self
    }

    /// Adds these rights for as long as the request lasts; an open stream keeps them.
    #[must_use]
    pub fn rights(self, rights: HeldPermissions) -> Self {
        Self { rights: self.rights.and(rights), ..self }
    }

    /// Declares that the user was recognised by a header which only programs set, such as
    /// `Authorization`. Without this, a request that changes something needs the `Origin` of a
    /// page that may call, because browsers send cookies and certificates by themselves, also for
    /// pages of other websites. GET is never refused for this, so no handler of GET should write.
    #[must_use]
    pub fn by_token(self) -> Self {
        Self { by_token: true, ..self }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether [`AppUser::by_token`] was called.
    #[must_use]
    pub fn is_by_token(&self) -> bool {
        self.by_token
    }

    /// The actor of the user's changes.
    #[must_use]
    pub fn actor(&self) -> Actor {
        Actor::Application { name: self.name.clone() }
    }

    /// Whether some of the rights may belong to plugins.
    fn names_plugins(&self) -> bool {
        matches!(&self.rights, HeldPermissions::Only(keys) if keys.iter().next().is_some())
    }

    /// The rights, each key with the plugin that owns it.
    fn owned(&self, owners: &BTreeMap<String, String>) -> HeldPermissions {
        match &self.rights {
            HeldPermissions::Admin => HeldPermissions::Admin,
            HeldPermissions::Only(keys) => {
                HeldPermissions::Only(groups::owned_by(keys, owners, |_| String::new()))
            }
        }
    }

    fn check(&self) -> Result<()> {
        let length = self.name.chars().count();
        let hidden = crate::plain::problem("name", &self.name).is_some();
        if hidden || self.name.trim() != self.name || !(1..=200).contains(&length) {
            return Err(Error::internal(
                "the name of an AppUser has 1 to 200 characters, no blank at either end, no \
                 control character",
            ));
        }
        Ok(())
    }
}

impl Accounts {
    /// What a user of the application may do now.
    ///
    /// # Errors
    /// `permission_denied` for a group that does not exist; `internal_error` for a name that
    /// [`AppUser::new`] does not allow.
    pub async fn rights_of_app_user(&self, user: &AppUser) -> Result<HeldPermissions> {
        user.check()?;
        let db = self.0.base.db();
        let mut rights = match user.names_plugins() {
            true => user.owned(&groups::sql::owners(db).await?),
            false => user.rights.clone(),
        };
        for name in &user.groups {
            let group = groups::sql::named(db, name_keys(name)).await?;
            rights = rights.and(group.ok_or_else(|| no_group(name))?.rights);
        }
        Ok(rights)
    }

    /// As [`Accounts::rights_of_app_user`], under a change begun for [`AppUser::actor`]. Such a
    /// change cannot be committed without this call. The groups keep these rights until the
    /// change ends.
    ///
    /// # Errors
    /// As [`Accounts::rights_of_app_user`]; `internal_error` for a change begun for another actor.
    pub async fn judge_app_user(
        &self,
        mut change: Change,
        user: &AppUser,
    ) -> Result<(Change, HeldPermissions)> {
        user.check()?;
        // Otherwise the audit log would name an actor whom nobody has judged.
        if *change.actor() != user.actor() {
            return Err(Error::internal(
                "a change of another actor: begin it with the `actor()` of the AppUser that is \
                 judged",
            ));
        }
        let mut rights = match user.names_plugins() {
            true => user.owned(&groups::sql::owners(&mut change).await?),
            false => user.rights.clone(),
        };
        // Lock by id, as everywhere: changes that lock groups in different orders would deadlock.
        let mut named = BTreeMap::new();
        for name in &user.groups {
            let id = groups::sql::find(&mut change, name_keys(name)).await?;
            named.insert(id.ok_or_else(|| no_group(name))?, name);
        }
        for (id, name) in named {
            let group = groups::sql::keep(&mut change, id).await?;
            rights = rights.and(group.ok_or_else(|| no_group(name))?.rights);
        }
        change.judged();
        Ok((change, rights))
    }
}

fn no_group(name: &str) -> Error {
    let detail = format!(
        "The application counts you among the group {name:?}, which does not exist: an \
         administrator can make it."
    );
    Error::new(Code::PermissionDenied, detail)
}
