//! Users of the embedding application. The site has no rows of them: their application names them,
//! and says what they may do.

use std::collections::BTreeMap;

use super::{Accounts, HeldPermissions, groups, name_key};
use crate::{Actor, Change, Code, Error, Result};

/// A user whom the embedding application has logged in by its own means. Whoever sets it as an
/// extension of a request vouches for it: nothing else is asked.
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
    /// A user without rights. The name tells users apart: in the audit log, in the limiter, and for
    /// requests that are repeated. It has 1 to 200 characters, no blank at either end and no
    /// control character; requests with another one are refused with 500.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let (name, rights) = (name.into(), HeldPermissions::default());
        Self { name, groups: Vec::new(), rights, by_token: false }
    }

    /// Adds the rights that the group of this name has: read with each request and each change,
    /// and once a second while a stream is open. Requests with a group that does not exist are
    /// refused, but for what everybody may read.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>) -> Self {
        self.groups.push(name.into());
        self
    }

    /// Adds these rights, for as long as the request lasts: a stream that is open goes on with
    /// them.
    #[must_use]
    pub fn rights(self, rights: HeldPermissions) -> Self {
        Self { rights: self.rights.and(rights), ..self }
    }

    /// Says that the user was recognised by a header which only programs set, such as
    /// `Authorization`. Without this a request that changes something needs the `Origin` of a page
    /// that may call, because browsers send cookies and certificates by themselves, for pages of
    /// other websites too. GET is never refused for that, so no handler of GET should write.
    #[must_use]
    pub fn by_token(self) -> Self {
        Self { by_token: true, ..self }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether [`AppUser::by_token`] was said.
    #[must_use]
    pub fn is_by_token(&self) -> bool {
        self.by_token
    }

    /// The actor of the user's changes.
    #[must_use]
    pub fn actor(&self) -> Actor {
        Actor::Application { name: self.name.clone() }
    }

    /// Whether some of the rights may be those of plugins.
    fn names_plugins(&self) -> bool {
        matches!(&self.rights, HeldPermissions::Only(keys) if keys.iter().next().is_some())
    }

    /// The rights with the plugin that each key belongs to.
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
    /// `permission_denied` for a group that does not exist.
    pub async fn rights_of_app_user(&self, user: &AppUser) -> Result<HeldPermissions> {
        user.check()?;
        let db = self.0.base.db();
        let mut rights = match user.names_plugins() {
            true => user.owned(&groups::sql::owners_now(db).await?),
            false => user.rights.clone(),
        };
        for name in &user.groups {
            let group = groups::sql::named(db, &name_key(name)).await?;
            rights = rights.and(group.ok_or_else(|| no_group(name))?.rights);
        }
        Ok(rights)
    }

    /// As [`Accounts::rights_of_app_user`], under a change that has begun for
    /// [`AppUser::actor`], which cannot be committed without it. The groups keep these rights
    /// until it ends.
    ///
    /// # Errors
    /// As [`Accounts::rights_of_app_user`]; `internal_error` for a change begun for another actor.
    pub async fn judge_app_user(
        &self,
        mut change: Change,
        user: &AppUser,
    ) -> Result<(Change, HeldPermissions)> {
        user.check()?;
        // Else the one whom the audit log names was never judged.
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
        // By id, as all who lock several groups: two would wait for each other otherwise.
        let mut named = BTreeMap::new();
        for name in &user.groups {
            let id = groups::sql::find(&mut change, &name_key(name)).await?;
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
