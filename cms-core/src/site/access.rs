//! Who may call what on this site: applies the rules of [`crate::access`] to the site's tables,
//! plugins and endpoints.

use super::Cms;
use crate::{
    access::{self, Access, Endpoints, Owner, Right, Rights},
    content::Table,
    plugins::Index,
};

impl Cms {
    /// The endpoints of the site. An API declares its own.
    #[must_use]
    pub fn access(&self) -> &Endpoints {
        &self.0.endpoints
    }

    /// Whether a user with these rights may call an endpoint. `table` is the table that the call
    /// names.
    #[must_use]
    pub fn allows(
        &self,
        rights: &Rights,
        access: Access,
        method: &str,
        table: Option<&str>,
    ) -> bool {
        let (Access::Table, Some(name)) = (access, table) else {
            return access::allows(rights, access, method, None);
        };
        let (table, index) = (self.tables().find(name), self.plugins().index());
        let owner = table.as_ref().map(|table| owner(table, &index));
        access::allows(rights, access, method, owner)
    }

    /// The calls that a user with these rights may make, as rows of a key.
    #[must_use]
    pub fn rows_of(&self, rights: &Rights) -> Vec<Right> {
        let (tables, index) = (self.tables(), self.plugins().index());
        let owners: Vec<_> = tables.iter().map(|table| owner(table, &index)).collect();
        access::rows(rights, &self.access().all(), &owners)
    }
}

fn owner<'a>(table: &'a Table, index: &'a Index) -> Owner<'a> {
    let (plugin, permissions) = (&table.plugin, index.permissions_of(&table.plugin));
    Owner { table: &table.name, plugin, permissions }
}
