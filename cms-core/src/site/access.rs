//! Who may call what on this site: the pure rules of [`crate::access`] with the site's tables,
//! plugins and endpoints.

use super::Cms;
use crate::access::{self, Access, Endpoints, Owner, Right, Rights};

impl Cms {
    /// The endpoints that are served; an API declares its own.
    #[must_use]
    pub fn access(&self) -> &Endpoints {
        &self.0.endpoints
    }

    /// Whether a user with these rights may call an endpoint; `table` is the one that the call
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
        let (table, plugins) = (self.tables().find(name), self.plugin_ids());
        let owner = table.as_ref().map(|table| Owner {
            table: &table.name,
            plugin: &table.plugin,
            plugins: &plugins,
        });
        access::allows(rights, access, method, owner)
    }

    /// What a user with these rights may call, as rows of a key.
    #[must_use]
    pub fn rows_of(&self, rights: &Rights) -> Vec<Right> {
        let (tables, plugins) = (self.tables(), self.plugin_ids());
        let owners: Vec<_> = tables
            .iter()
            .map(|table| Owner { table: &table.name, plugin: &table.plugin, plugins: &plugins })
            .collect();
        access::rows(rights, &self.access().all(), &owners)
    }

    fn plugin_ids(&self) -> Vec<String> {
        self.plugins().states().iter().map(|plugin| plugin.id.clone()).collect()
    }
}
