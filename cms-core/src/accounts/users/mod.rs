//! Users, and who may change them.

pub(crate) mod sql;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Accounts, AdminGuard, HeldPermissions, MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARS, NAME_PATTERN,
    check_held, groups::sql as groups, login, name_conflict, name_key, name_keys, name_problem,
    new_name_problem, password, sessions,
};
use crate::{
    Change, Code, Error, FieldError, Page, Result, db::args, ground::Secret, items::Query, plain,
};

/// A user as the API shows it. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct User {
    /// Id of the user.
    pub id: i64,
    /// The login name.
    pub username: String,
    /// False: the user cannot log in and has no session.
    pub active: bool,
    /// The user's groups, by id.
    pub groups: Vec<Membership>,
    /// Whether the authenticator is set up. The first login sets it up.
    pub two_factor: bool,
    /// Number of unused recovery codes.
    pub recovery_codes: i64,
    /// Number of open sessions.
    pub sessions: i64,
    /// When the last login was completed.
    pub last_login_at: Option<String>,
    /// When the user was created.
    pub created_at: String,
}

/// A group of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Membership {
    /// Id of the group.
    pub id: i64,
    /// Its name.
    pub name: String,
}

/// A group, by id or by name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a group is named by its id or its name")]
pub enum GroupName {
    /// Its id.
    Id(i64),
    /// Its name; case does not matter.
    Name(String),
}

impl std::fmt::Display for GroupName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

/// A user to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "username": "ana",
    "password": "correct horse battery staple",
    "groups": ["editors"],
}]))]
#[non_exhaustive]
pub struct NewUser {
    /// 1 to 100 characters, not only digits, no colon.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub username: String,
    /// [`MIN_PASSWORD_CHARS`](super::MIN_PASSWORD_CHARS) characters or more.
    #[serde(serialize_with = "Secret::send")]
    #[schemars(length(min = MIN_PASSWORD_CHARS, max = MAX_PASSWORD_BYTES))]
    pub password: Secret,
    /// Groups of the user, at least one.
    #[schemars(length(min = 1))]
    pub groups: Vec<GroupName>,
    /// False creates a user who cannot log in until switched on.
    #[serde(default = "crate::ground::yes")]
    pub active: bool,
}

impl NewUser {
    /// A user in these groups, who can log in.
    #[must_use]
    pub fn new(username: impl Into<String>, password: Secret, groups: Vec<GroupName>) -> Self {
        Self { username: username.into(), password, groups, active: true }
    }
}

/// Changes to a user. None leaves a member as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"active": true}]))]
#[non_exhaustive]
pub struct UserPatch {
    /// New name.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub username: Option<String>,
    /// New password; ends all sessions of the user.
    #[serde(default, serialize_with = "Secret::send_maybe")]
    #[schemars(length(min = MIN_PASSWORD_CHARS, max = MAX_PASSWORD_BYTES))]
    pub password: Option<Secret>,
    /// Replaces all groups.
    #[schemars(length(min = 1))]
    pub groups: Option<Vec<GroupName>>,
    /// Switches the user on or off. Off ends all sessions of the user.
    pub active: Option<bool>,
}

/// A hashed password, ready to be stored. Hashing takes time, so it happens before the change
/// begins.
pub struct HashedPassword {
    pub(in crate::accounts) hash: String,
    pub(in crate::accounts) salt_id: String,
}

impl std::fmt::Debug for HashedPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashedPassword(***)")
    }
}

impl Accounts {
    /// Users, one page at a time. Conditions and orders name `id`, `username`, `active`,
    /// `created_at` and `last_login_at`.
    ///
    /// ```
    /// # async fn example(cms: cms_core::Cms) -> cms_core::Result<()> {
    /// use cms_core::items::{Query, desc, eq};
    ///
    /// let idle = Query::new().filter("active", eq(false)).sort(desc("last_login_at")).count();
    /// let page = cms.accounts().users(&idle).await?;
    /// println!("{} of {:?}", page.data.len(), page.total);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn users(&self, query: &Query) -> Result<Page<User>> {
        let (seen, begun) = self.session_horizons();
        let (base, key) = (&self.0.base, |user: &User| user.id);
        let mut page = sql::LIST.page(base, query, args![seen, begun], key).await?;
        sql::join(base.db(), &mut page.data).await?;
        Ok(page)
    }

    /// One user.
    pub async fn user(&self, id: i64) -> Result<User> {
        let found = sql::get(self.0.base.db(), id, self.session_horizons()).await?;
        found.ok_or_else(|| not_found(id))
    }

    /// One user, by name or id.
    pub async fn user_named(&self, name: &str) -> Result<User> {
        let id = match name.parse() {
            Ok(id) => id,
            Err(_) if name_problem("username", name).is_some() => 0,
            Err(_) => sql::find(self.0.base.db(), name_keys(name)).await?.ok_or_else(|| {
                Error::new(Code::NotFound, format!("There is no user named {name:?}."))
            })?,
        };
        self.user(id).await
    }

    /// Checks and hashes a password on a blocking thread.
    ///
    /// # Errors
    /// `validation_failed` when the password is too short, too long or contains the name;
    /// `unavailable` without a `password_salt`.
    pub async fn hash_password(&self, username: &str, new: &Secret) -> Result<HashedPassword> {
        self.hashed("password", username, new).await
    }

    pub(in crate::accounts) async fn hashed(
        &self,
        field: &str,
        username: &str,
        new: &Secret,
    ) -> Result<HashedPassword> {
        if let Some(problem) = password::problem(username, new.expose()) {
            return Err(Error::invalid_field(field, "range", problem));
        }
        let passwords = &self.0.passwords;
        Ok(HashedPassword {
            hash: passwords.hash(new, self.0.base.random()).await?,
            salt_id: passwords.salt_id()?,
        })
    }

    /// Creates a user. `held` are the rights of the caller.
    ///
    /// # Errors
    /// `validation_failed` with the fields, `conflict` when the name is taken, `permission_denied`
    /// for groups with rights beyond `held`.
    pub async fn create_user(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        new: &NewUser,
        password: HashedPassword,
    ) -> Result<User> {
        check_name(&new.username)?;
        change.lock(super::LOCK).await?;
        let groups = self.joinable(change, held, &new.groups).await?;
        let username = plain::composed(&new.username);
        let HashedPassword { hash, salt_id } = password;
        let key = name_key(&username);
        let args = args![&*username, key, hash, salt_id, new.active, change.now()];
        let inserted = change.one(sql::INSERT, args).await;
        let (id,) = inserted.map_err(|e| name_conflict("user", "username", &new.username, e))?;
        sql::set_groups(change, id, &groups).await?;
        change
            .audit_row("create", "users", id, &["username", "password", "groups", "active"])
            .await?;
        sql::read(change, id, self.session_horizons()).await
    }

    /// Changes a user. Rights and sessions follow from the next request on.
    ///
    /// # Errors
    /// As [`Accounts::create_user`]; `not_found`; `permission_denied` for a user with rights beyond
    /// `held`; `conflict` when no administrator would remain.
    pub async fn update_user(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        id: i64,
        patch: &UserPatch,
        password: Option<HashedPassword>,
    ) -> Result<User> {
        let guard = AdminGuard::new(change).await?;
        let (user, rights) = sql::lock(change, id).await?.ok_or_else(|| not_found(id))?;
        check_held(held, &rights)?;
        let mut columns = Vec::new();
        let (mut username, mut active) = (user.username, user.active);
        if let Some(new) = &patch.username {
            if *new != username {
                check_name(new)?;
                username = plain::composed(new).into_owned();
            }
            columns.push("username");
        }
        if let Some(new) = patch.active {
            active = new;
            columns.push("active");
        }
        let args = args![id, &username, name_key(&username), active];
        let renamed = change.run_one(sql::RENAME, args).await;
        renamed.map_err(|e| name_conflict("user", "username", &username, e))?;
        if let Some(password) = password {
            sql::set_password(change, id, &password.hash, &password.salt_id).await?;
            columns.push("password");
        }
        if let Some(groups) = &patch.groups {
            let groups = self.joinable(change, held, groups).await?;
            sql::set_groups(change, id, &groups).await?;
            columns.push("groups");
        }
        if columns.contains(&"password") {
            sessions::end_all(change, id).await?;
            login::forget_logins(change, id).await?;
        } else if !active {
            sessions::end_all(change, id).await?;
            login::drop_pending_of(change, id).await?;
        }
        guard.check(change).await?;
        change.audit_row("update", "users", id, &columns).await?;
        sql::read(change, id, self.session_horizons()).await
    }

    /// Deletes a user and all sessions of the user. Submissions of the user are assigned to nobody.
    pub async fn delete_user(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        id: i64,
    ) -> Result<()> {
        let guard = AdminGuard::new(change).await?;
        self.changeable(change, held, id).await?;
        change.run_one(sql::DELETE, args![id]).await?;
        for statement in self.0.on_deleted_user {
            change.run(*statement, args![id]).await?;
        }
        guard.check(change).await?;
        change.audit_row("delete", "users", id, &[]).await
    }

    /// Number of users, and number of users who cannot log in because their password was hashed
    /// with another `password_salt`.
    ///
    /// # Errors
    /// `unavailable` without a salt or a database.
    pub async fn salt_check(&self) -> Result<(i64, i64)> {
        let args = args![self.0.passwords.salt_id()?];
        let counted = self.0.base.db().optional(sql::OTHER_SALTS, args).await?;
        Ok(counted.map_or((0, 0), |(all, other): (i64, Option<i64>)| (all, other.unwrap_or(0))))
    }

    /// Locks the user, if the caller holds all of the user's rights. Otherwise the caller could
    /// gain rights through that user.
    pub(in crate::accounts) async fn changeable(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        id: i64,
    ) -> Result<String> {
        let (user, rights) = sql::lock(change, id).await?.ok_or_else(|| not_found(id))?;
        check_held(held, &rights)?;
        Ok(user.username)
    }

    /// Ids of the named groups. A caller with `held` must hold the rights of each group.
    async fn joinable(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        names: &[GroupName],
    ) -> Result<Vec<i64>> {
        if names.is_empty() {
            return Err(Error::invalid_field(
                "groups",
                "required",
                "a user needs at least one group",
            ));
        }
        let mut ids = Vec::new();
        for name in names {
            let id = match name {
                GroupName::Id(id) => Some(*id),
                GroupName::Name(name) if name_problem("name", name).is_some() => None,
                GroupName::Name(name) => groups::find(change, name_keys(name)).await?,
            };
            let group = match id {
                Some(id) => groups::keep(change, id).await?,
                None => None,
            };
            let group = group.ok_or_else(|| {
                Error::invalid_field(
                    "groups",
                    "unknown",
                    format!("there is no group {name}: give a group's id or name"),
                )
            })?;
            check_held(held, &group.rights)?;
            if !ids.contains(&group.id) {
                ids.push(group.id);
            }
        }
        Ok(ids)
    }
}

fn not_found(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no user with id {id}."))
}

fn check_name(name: &str) -> Result<()> {
    let problems: Vec<FieldError> = new_name_problem("username", name).into_iter().collect();
    if problems.is_empty() { Ok(()) } else { Err(Error::invalid(problems)) }
}
