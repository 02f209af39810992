//! Who may call what on this site. Applies the rules of [`crate::access`] to the site's tables,
//! plugins and endpoints.

use super::Cms;
use crate::{
    Code, Error, Result,
    access::{self, Access, Endpoints, HeldPermissions, Owner, RecordAct, Right},
    content::Table,
    plugins::Index,
};

impl Cms {
    /// The endpoints of the site. A server adds its own.
    #[must_use]
    pub fn access(&self) -> &Endpoints {
        &self.0.endpoints
    }

    /// Whether a user with these rights may call an endpoint. `table` is the table that the call
    /// names.
    #[must_use]
    pub fn allows(
        &self,
        rights: &HeldPermissions,
        access: Access,
        method: &str,
        table: Option<&str>,
    ) -> bool {
        if let Access::Plugin(id) = access {
            let act = if method == "GET" || method == "HEAD" { "_view" } else { "_edit" };
            let index = self.plugins().index();
            let mut keys = index.permissions_of(id).iter().filter(|key| key.ends_with(act));
            return *rights == HeldPermissions::Admin || keys.any(|key| rights.may_use(id, key));
        }
        let (Access::Table | Access::Checklist, Some(name)) = (access, table) else {
            return access::allows(rights, access, method, None);
        };
        let (table, index) = (self.tables().find(name), self.plugins().index());
        let owner = table.as_ref().map(|table| owner(table, &index));
        access::allows(rights, access, method, owner)
    }

    /// Refuses columns that none of the buttons covered by these rights writes.
    ///
    /// # Errors
    /// `permission_denied` with the columns that the rights cover.
    pub fn admit_columns(
        &self,
        rights: &HeldPermissions,
        table: &str,
        act: RecordAct,
        columns: &[&str],
    ) -> Result<()> {
        let (found, index) = (self.tables().find(table), self.plugins().index());
        let Some(found) = found else { return Ok(()) };
        let owner = owner(&found, &index);
        if access::allows_columns(rights, act, owner) {
            return Ok(());
        }
        let Some(allowed) = owner.refuses(rights, act, columns) else { return Ok(()) };
        let detail = if !columns.is_empty() && columns.iter().all(|name| allowed.contains(*name)) {
            let version = if !allowed.contains("base_id") || columns.contains(&"base_id") {
                ""
            } else {
                ", and one that adds a language needs base_id too"
            };
            format!(
                "No single form that you may use covers these columns of {table} together: {}. A \
                 new record comes from one form{version}. Nothing was changed.",
                columns.join(", ")
            )
        } else {
            let allowed: Vec<_> = allowed.into_iter().collect();
            format!(
                "Your permissions cover these columns of {table}: {}. Nothing was changed.",
                allowed.join(", ")
            )
        };
        Err(Error::new(Code::PermissionDenied, detail))
    }

    /// Whether these rights admit a new record only as a version of an existing one.
    #[must_use]
    pub fn makes_versions_only(
        &self,
        rights: &HeldPermissions,
        table: &str,
        columns: &[&str],
    ) -> bool {
        let (found, index) = (self.tables().find(table), self.plugins().index());
        found.is_some_and(|found| {
            let owner = owner(&found, &index);
            !access::allows_columns(rights, RecordAct::Create, owner)
                && owner.makes_versions_only(rights, columns)
        })
    }

    /// The calls that a user with these rights may make, as rows of an API key.
    #[must_use]
    pub fn rows_of(&self, rights: &HeldPermissions) -> Vec<Right> {
        let (tables, index) = (self.tables(), self.plugins().index());
        let owners: Vec<_> = tables.iter().map(|table| owner(table, &index)).collect();
        access::rows(rights, &self.access().all(), &owners)
    }
}

fn owner<'a>(table: &'a Table, index: &'a Index) -> Owner<'a> {
    let (plugin, permissions) = (&table.plugin, index.permissions_of(&table.plugin));
    Owner { table: &table.name, plugin, permissions, writers: index.writers_of(&table.name) }
}
