//! Groups. Users get their rights from groups.

pub(crate) mod sql;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Accounts, AdminGuard, HeldPermissions, NAME_PATTERN, check_held, name_conflict, name_key,
    new_name_problem,
};
use crate::{
    Actor, Change, Code, Error, Page, Result,
    access::{CORE, Permissions},
    db::args,
    items::{Checklist, Query},
    plain,
};

/// A group as the API shows it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Group {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Rights of its members.
    pub rights: HeldPermissions,
    /// Number of members.
    pub members: i64,
    /// When it was created, RFC 3339 in UTC.
    pub created_at: String,
}

/// A group to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "name": "editors",
    "rights": ["pages_pages_view", "pages_pages_edit"],
}]))]
#[non_exhaustive]
pub struct NewGroup {
    /// 1 to 100 characters, not only digits, no colon.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// Rights of its members; none by default.
    #[serde(default)]
    pub rights: HeldPermissions,
}

impl NewGroup {
    /// A group of this name, without rights.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), rights: HeldPermissions::default() }
    }
}

/// Changes to a group. None leaves a member as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"rights": ["pages_pages_view"]}]))]
#[non_exhaustive]
pub struct GroupPatch {
    /// New name.
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub name: Option<String>,
    /// Replaces all rights.
    pub rights: Option<HeldPermissions>,
}

impl Accounts {
    /// Groups, one page at a time. Conditions and orders name `id`, `name` and `created_at`.
    pub async fn groups(&self, query: &Query) -> Result<Page<Group>> {
        sql::LIST.page(&self.0.base, query, Vec::new(), |group: &Group| group.id).await
    }

    /// One group.
    pub async fn group(&self, id: i64) -> Result<Group> {
        let found = self.0.base.db().optional(sql::GET, args![id]).await?;
        found.ok_or_else(|| not_found(id))
    }

    /// Creates a group. `held` are the rights of the caller.
    ///
    /// # Errors
    /// `validation_failed` with the fields, `conflict` when the name is taken, `permission_denied`
    /// for rights beyond `held`.
    pub async fn create_group(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        new: &NewGroup,
    ) -> Result<Group> {
        check(Some(&new.name), &new.rights)?;
        let rights = owned(change, &new.rights, &HeldPermissions::default()).await?;
        check_held(held, &rights)?;
        let name = plain::composed(&new.name).into_owned();
        let args = args![&name, name_key(&name), rights.to_stored()?, change.now()];
        let inserted = change.one(sql::INSERT, args).await;
        let (id,) = inserted.map_err(|e| name_conflict("group", "name", &new.name, e))?;
        change.audit_row("create", "user_groups", id, &["name", "rights"]).await?;
        let created_at = crate::rfc3339(change.now());
        Ok(Group { id, name, rights, members: 0, created_at })
    }

    /// Changes a group. Its members have the new rights from their next request on.
    ///
    /// # Errors
    /// As [`Accounts::create_group`]; `not_found`; `conflict` when no administrator would remain.
    pub async fn update_group(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        id: i64,
        patch: &GroupPatch,
    ) -> Result<Group> {
        let guard = AdminGuard::new(change).await?;
        let mut group = self.changeable_group(change, held, id).await?;
        let mut columns = Vec::new();
        if patch.name.is_some() {
            columns.push("name");
        }
        if let Some(rights) = &patch.rights {
            let rights = owned(change, rights, &group.rights).await?;
            check_held(held, &rights)?;
            group.rights = rights;
            columns.push("rights");
        }
        let renamed = patch.name.as_deref().filter(|name| *name != group.name);
        check(renamed, &group.rights)?;
        if let Some(name) = renamed {
            group.name = plain::composed(name).into_owned();
        }
        let args = args![id, &group.name, name_key(&group.name), group.rights.to_stored()?];
        let updated = change.run_one(sql::UPDATE, args).await;
        updated.map_err(|e| name_conflict("group", "name", &group.name, e))?;
        guard.check(change).await?;
        change.audit_row("update", "user_groups", id, &columns).await?;
        Ok(group)
    }

    /// Removes an empty group.
    ///
    /// # Errors
    /// `not_found`, `permission_denied`, `conflict` while users belong to it.
    pub async fn delete_group(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        id: i64,
    ) -> Result<()> {
        change.lock(super::LOCK).await?;
        let group = self.changeable_group(change, held, id).await?;
        if group.members > 0 {
            let detail = format!(
                "{} users belong to {:?}: put them into another group first.",
                group.members, group.name
            );
            return Err(Error::new(Code::Conflict, detail));
        }
        change.run_one(sql::DELETE, args![id]).await?;
        change.audit_row("delete", "user_groups", id, &[]).await
    }

    /// Adds and removes permission keys of a group in one step. Returns the resulting keys.
    ///
    /// # Errors
    /// As [`Accounts::update_group`]; `validation_failed` for a group of administrators, because it
    /// has no list of keys.
    pub async fn group_checklist(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        request: &Checklist,
    ) -> Result<Vec<Json>> {
        if request.column != "rights" {
            return Err(Error::invalid_field(
                "column",
                "unknown",
                "user_groups has one checklist: rights",
            ));
        }
        let id = request.id.as_i64().or_else(|| request.id.as_str().and_then(|id| id.parse().ok()));
        let id = id.ok_or_else(|| Error::invalid_field("id", "type", "the id of a group"))?;
        change.lock(super::LOCK).await?;
        let group = self.changeable_group(change, held, id).await?;
        let present = match &group.rights {
            HeldPermissions::Only(keys) => Json::from_iter(keys.iter().map(String::as_str)),
            HeldPermissions::Admin => {
                return Err(Error::invalid_field(
                    "id",
                    "type",
                    "a group of administrators has no list: give it one by PATCH user_groups first",
                ));
            }
        };
        let values = request.applied(&present)?;
        let rights = serde_json::from_value(Json::Array(values))
            .map_err(|e| Error::invalid_field("value", "type", e.to_string()))?;
        let patch = GroupPatch { name: None, rights: Some(rights) };
        match self.update_group(change, held, id, &patch).await?.rights {
            HeldPermissions::Only(keys) => Ok(keys.iter().cloned().map(Json::from).collect()),
            HeldPermissions::Admin => Ok(Vec::new()),
        }
    }

    /// Gives the permission keys that groups hold to the plugins that own them now; runs after
    /// plugins claimed keys. Its own change waits for callers whose groups it changes.
    pub(crate) async fn reassign_owners(&self, formerly: &BTreeMap<String, String>) -> Result<()> {
        let (owners, groups) = sql::held(self.0.base.db()).await?;
        if groups.iter().all(|(_, rights)| reassigned(rights, &owners, formerly) == *rights) {
            return Ok(());
        }
        let mut change = self.0.base.change(Actor::System).await?;
        change.lock(super::LOCK).await?;
        let owners = sql::owners(&mut change).await?;
        for (id, before) in sql::rights(&mut change).await? {
            let after = reassigned(&before, &owners, formerly);
            if after != before {
                change.run_one(sql::BIND, args![id, after.to_stored()?]).await?;
                change.audit_row("update", "user_groups", id, &["rights"]).await?;
            }
        }
        change.commit().await
    }

    /// The group, if the caller holds all of its rights. Otherwise the caller could take rights
    /// from users with more rights.
    async fn changeable_group(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        id: i64,
    ) -> Result<Group> {
        let group = sql::lock(change, id).await?.ok_or_else(|| not_found(id))?;
        check_held(held, &group.rights)?;
        Ok(group)
    }
}

/// These rights, each key with the plugin that owns it now. A key without an owner keeps the plugin
/// that it has in `before`.
async fn owned(
    change: &mut Change,
    rights: &HeldPermissions,
    before: &HeldPermissions,
) -> Result<HeldPermissions> {
    let HeldPermissions::Only(keys) = rights else { return Ok(HeldPermissions::Admin) };
    // Plugins claim keys, and groups get the new owners, under this lock.
    change.lock(super::LOCK).await?;
    let owners = sql::owners(change).await?;
    let of_before = |key: &str| match before {
        HeldPermissions::Only(keys) => keys.owner_of(key).to_owned(),
        HeldPermissions::Admin => String::new(),
    };
    Ok(HeldPermissions::Only(owned_by(keys, &owners, of_before)))
}

/// Sets the owner of each key outside the built-in areas: from `owners`, else from `otherwise`.
pub(super) fn owned_by(
    keys: &Permissions,
    owners: &BTreeMap<String, String>,
    otherwise: impl Fn(&str) -> String,
) -> Permissions {
    keys.owned_by(|key, held| match held {
        CORE => Some(CORE.to_owned()),
        _ => Some(owners.get(key).cloned().unwrap_or_else(|| otherwise(key))),
    })
}

/// The rights of a group after plugins claimed keys. A key without an owner gets its plugin from
/// `owners`, else from `formerly`. A key is dropped if another plugin owns it now.
fn reassigned(
    rights: &HeldPermissions,
    owners: &BTreeMap<String, String>,
    formerly: &BTreeMap<String, String>,
) -> HeldPermissions {
    let HeldPermissions::Only(keys) = rights else { return HeldPermissions::Admin };
    HeldPermissions::Only(keys.owned_by(|key, held| match (held, owners.get(key)) {
        (CORE, _) => Some(held.to_owned()),
        ("", owner) => owner.or_else(|| formerly.get(key)).cloned().or(Some(String::new())),
        (_, Some(owner)) if owner != held => None,
        _ => Some(held.to_owned()),
    }))
}

fn not_found(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no group with id {id}."))
}

fn check(name: Option<&str>, rights: &HeldPermissions) -> Result<()> {
    let mut problems = rights.problems();
    problems.extend(name.and_then(|name| new_name_problem("name", name)));
    if problems.is_empty() { Ok(()) } else { Err(Error::invalid(problems)) }
}
