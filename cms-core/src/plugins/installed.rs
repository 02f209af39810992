//! What the database remembers of plugins: the declaration that was last taken into service, and
//! which plugins were removed.

use std::collections::BTreeMap;

use super::Manifest;
use crate::{
    Change, Error, Result,
    db::{Db, args},
};

pub(crate) mod sql {
    crate::db::statements! {
        INSTALLED = "select id, manifest, removed from cms_plugins";
        RECORD = "insert into cms_plugins (id, manifest, removed, applied_at) \
                  values ($1, $2, $3, $4) on conflict (id) do update set manifest = \
                  excluded.manifest, applied_at = excluded.applied_at \
                  where not cms_plugins.removed";
        REMOVE = "update cms_plugins set removed = $2 where id = $1";
    }
}

/// The name by which epochs count changes of what is installed.
pub(crate) const TABLE: &str = "cms_plugins";

/// A plugin as it was last taken into service.
pub(crate) struct Installed {
    text: String,
    pub(crate) removed: bool,
}

impl Installed {
    /// Its declaration; None when this version of the service cannot read it.
    pub(crate) fn manifest(&self) -> Option<Manifest> {
        serde_json::from_str(&self.text).ok()
    }

    /// Whether the declaration is this one, and in service.
    pub(crate) fn is(&self, manifest: &Manifest) -> Result<bool> {
        Ok(!self.removed && self.text == text(manifest)?)
    }
}

fn text(manifest: &Manifest) -> Result<String> {
    serde_json::to_string(manifest).map_err(Error::internal)
}

/// Every plugin that was ever taken into service from the folder, by id.
pub(crate) async fn all(db: &Db) -> Result<BTreeMap<String, Installed>> {
    let rows: Vec<(String, String, bool)> = db.all(sql::INSTALLED, args![]).await?;
    let installed = |(id, text, removed)| (id, Installed { text, removed });
    Ok(rows.into_iter().map(installed).collect())
}

/// Records a declaration as the one in service, unless the plugin was removed meanwhile. The commit
/// tells other processes. Returns whether it is recorded.
pub(crate) async fn record(change: &mut Change, manifest: &Manifest) -> Result<bool> {
    let args = args![&manifest.id, text(manifest)?, false, change.now()];
    change.announce(TABLE);
    Ok(change.run(sql::RECORD, args).await? > 0)
}

/// Takes a plugin out of service, or back. Returns whether it was ever in service.
pub(crate) async fn remove(change: &mut Change, id: &str, removed: bool) -> Result<bool> {
    change.announce(TABLE);
    Ok(change.run(sql::REMOVE, args![id, removed]).await? > 0)
}
