//! The plugins that the database remembers: for each the declaration that was last in service, and
//! whether the plugin was removed.

use std::collections::BTreeMap;

use super::{
    Manifest, Problem,
    manifest::{FieldType, List, MenuEntry},
};
use crate::{
    Change, Error, Millis, Result,
    content::TableDeclaration,
    db::{Db, Kind, args},
    ground::crypto::sha256_hex,
};

pub(crate) mod sql {
    crate::db::statements! {
        INSTALLED = "select id, manifest, removed, applied_at from cms_plugins";
        RECORD = "insert into cms_plugins (id, manifest, removed, applied_at) \
                  values ($1, $2, $3, $4) on conflict (id) do update set manifest = \
                  excluded.manifest, applied_at = excluded.applied_at \
                  where not cms_plugins.removed";
        REMOVE = "update cms_plugins set removed = $2 where id = $1";
        RECORDED = "select manifest, applied_at from cms_plugins where id = $1 and not removed";
        IS_REMOVED = "select removed from cms_plugins where id = $1";
        REFUSALS = "select plugin_id, digest, reason from cms_plugin_refusals";
        REFUSE = "insert into cms_plugin_refusals (plugin_id, digest, reason, refused_at) \
                  values ($1, $2, $3, $4) on conflict (plugin_id) do update set digest = \
                  excluded.digest, reason = excluded.reason, refused_at = excluded.refused_at";
        ACCEPT = "delete from cms_plugin_refusals where plugin_id = $1 and digest = $2";
    }
}

/// The name under which epochs count changes of the installed plugins.
pub(crate) const TABLE: &str = "cms_plugins";

/// A plugin as it was last taken into service.
pub(crate) struct Installed {
    text: String,
    pub(crate) removed: bool,
    pub(crate) applied_at: Millis,
}

impl Installed {
    /// Its declaration; `None`: this version of the service cannot read it.
    pub(crate) fn manifest(&self) -> Option<Manifest> {
        serde_json::from_str(&self.text).ok()
    }

    /// Passwords that a newer declaration would show: it gives their columns or fields another
    /// type, while the stored values are sealed texts.
    pub(crate) fn exposed(&self, now: &Manifest) -> Vec<Problem> {
        let Some(before) = self.manifest() else { return Vec::new() };
        let mut problems = Vec::new();
        for (t, table) in now.tables.iter().enumerate() {
            let was = before.tables.iter().find(|one| source(one) == source(table));
            for old in was.iter().flat_map(|was| &was.columns) {
                let place = table.columns.iter().position(|one| one.name == old.name);
                let is_served = place.is_some() || (table.adopt && table.columns.is_empty());
                let kind = place.and_then(|place| table.columns[place].kind());
                if old.kind() != Some(Kind::Password) || kind == old.kind() || !is_served {
                    continue;
                }
                let at = place.map_or(String::new(), |c| format!("/{c}/type"));
                let remedy = format!(
                    "{} holds passwords, and another type would show their sealed text: write \
                     \"password\", or declare another column beside it",
                    old.name
                );
                problems.push(Problem::new(format!("/tables/{t}/columns{at}"), remedy));
            }
        }
        for (w, widget) in now.pagebuilder_widgets.iter().enumerate() {
            let name = &widget.widget_template;
            let was = before.pagebuilder_widgets.iter().find(|one| one.widget_template == *name);
            let Some(was) = was else { continue };
            for (list, before, now) in [
                ("widget_menu", &was.widget_menu, &widget.widget_menu),
                ("widget_item_menu", &was.widget_item_menu, &widget.widget_item_menu),
            ] {
                if let Some(place) = exposed_entry(before, now) {
                    let at = format!("/pagebuilder_widgets/{w}/{list}/{place}/type");
                    problems.push(Problem::new(at, exposure(&now[place].row)));
                }
            }
        }
        problems
    }

    /// Whether exactly this declaration is in service.
    pub(crate) fn is(&self, manifest: &Manifest) -> Result<bool> {
        Ok(!self.removed && self.text == text(manifest)?)
    }

    /// Whether the declarations are equal, even if another version of the service wrote the
    /// stored one.
    pub(crate) fn declares(&self, manifest: &Manifest) -> Result<bool> {
        Ok(self.is(manifest)? || self.manifest().as_ref() == Some(manifest))
    }
}

/// The name of the table in the database.
fn source(table: &TableDeclaration) -> &str {
    table.source.as_ref().unwrap_or(&table.name)
}

/// The index of a field that held passwords before and now has another type.
pub(crate) fn exposed_entry(before: &List<MenuEntry>, now: &List<MenuEntry>) -> Option<usize> {
    let is_secret = |entry: &MenuEntry| entry.field_type == FieldType::Password;
    let was_secret = |row: &str| before.iter().any(|one| one.row == row && is_secret(one));
    now.iter().position(|entry| !is_secret(entry) && was_secret(&entry.row))
}

/// The remedy for such a field.
pub(crate) fn exposure(row: &str) -> String {
    format!(
        "{row} holds passwords, and another type would show their sealed text: write \"password\", \
         or give the new field another row"
    )
}

fn text(manifest: &Manifest) -> Result<String> {
    serde_json::to_string(manifest).map_err(Error::internal)
}

/// Every plugin that was ever taken into service from the folder, by id.
pub(crate) async fn all(db: &Db) -> Result<BTreeMap<String, Installed>> {
    let rows: Vec<(String, String, bool, Millis)> = db.all(sql::INSTALLED, args![]).await?;
    let installed = |(id, text, removed, applied_at)| (id, Installed { text, removed, applied_at });
    Ok(rows.into_iter().map(installed).collect())
}

/// Records a declaration as the one in service, unless the plugin was removed meanwhile. The
/// commit notifies other processes. Returns whether the declaration was recorded.
pub(crate) async fn record(change: &mut Change, manifest: &Manifest) -> Result<bool> {
    let args = args![&manifest.id, text(manifest)?, false, change.now()];
    change.announce(TABLE);
    Ok(change.run(sql::RECORD, args).await? > 0)
}

/// Takes a plugin out of service, or back into service. Returns whether it was ever in service.
pub(crate) async fn remove(change: &mut Change, id: &str, removed: bool) -> Result<bool> {
    change.announce(TABLE);
    Ok(change.run(sql::REMOVE, args![id, removed]).await? > 0)
}

/// A plugin that was in service and was not removed.
pub(crate) async fn recorded(change: &mut Change, id: &str) -> Result<Option<Installed>> {
    let row: Option<(String, Millis)> = change.optional(sql::RECORDED, args![id]).await?;
    Ok(row.map(|(text, applied_at)| Installed { text, removed: false, applied_at }))
}

/// Whether a plugin of the folder was taken out of service.
pub(crate) async fn is_removed(change: &mut Change, id: &str) -> Result<bool> {
    let row: Option<(bool,)> = change.optional(sql::IS_REMOVED, args![id]).await?;
    Ok(row.is_some_and(|(removed,)| removed))
}

/// The parts of a plugin that the database may refuse.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Tables,
    Widgets,
}

/// The reasons why the database last refused tables or widgets of plugins.
#[derive(Default)]
pub(crate) struct Refusals(BTreeMap<String, (String, String)>);

impl Refusals {
    pub(crate) async fn load(db: &Db) -> Result<Self> {
        let rows: Vec<(String, String, String)> = db.all(sql::REFUSALS, args![]).await?;
        Ok(Self(rows.into_iter().map(|(id, digest, why)| (id, (digest, why))).collect()))
    }

    /// Why the database refused this part of a declaration; `None`: it was not tried or
    /// not refused.
    pub(crate) fn of(&self, manifest: &Manifest, part: Part) -> Result<Option<&str>> {
        let Some((before, why)) = self.0.get(&manifest.id) else { return Ok(None) };
        Ok((*before == digest(manifest, part)?).then_some(why.as_str()))
    }
}

/// Records that the database refused a part of a plugin.
pub(crate) async fn refuse(
    change: &mut Change,
    (manifest, part): (&Manifest, Part),
    why: &str,
) -> Result<()> {
    let args = args![&manifest.id, digest(manifest, part)?, why, change.now()];
    change.run(sql::REFUSE, args).await.map(drop)
}

/// Forgets a refusal of the widgets of a plugin.
pub(crate) async fn accept(change: &mut Change, manifest: &Manifest) -> Result<()> {
    let args = args![&manifest.id, digest(manifest, Part::Widgets)?];
    change.run(sql::ACCEPT, args).await.map(drop)
}

fn digest(manifest: &Manifest, part: Part) -> Result<String> {
    let text = match part {
        Part::Tables => serde_json::to_string(&manifest.tables),
        Part::Widgets => serde_json::to_string(&manifest.pagebuilder_widgets),
    };
    Ok(sha256_hex(text.map_err(Error::internal)?.as_bytes()))
}
