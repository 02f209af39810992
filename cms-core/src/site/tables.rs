//! Creates, changes and serves tables of plugins.

use super::{
    Cms,
    loading::{Loading, Opening},
    plugins::{check_id, declared},
};
use crate::{
    Actor, Code, Error, Result,
    content::{Declared, Tables, install, plan::Build, resolve},
    db::TURN,
    plugins::{self, Manifest},
};

impl Cms {
    /// Creates or changes tables that differ from their declaration. Returns the indexes that are
    /// still to be made.
    pub(super) async fn install(
        &self,
        loading: &Loading,
        declared: Declared<'_>,
        opening: Opening,
    ) -> Result<Vec<Build>> {
        let (db, mut turn) = (self.db(), None);
        // Another process may make the same change and then its indexes, which can take long.
        let is_made =
            async || Ok::<_, Error>(!opening.changes(install::standing(db, declared).await?));
        let lacking = async || install::lacking(db, &loading.tables, declared).await;
        loop {
            if is_made().await? {
                return lacking().await;
            }
            if install::is_new(db, declared).await? {
                break;
            }
            let is_first = turn.is_none();
            let turn = match &mut turn {
                Some(turn) => turn,
                none => none.insert(db.index_turn().await?),
            };
            if turn.take().await? {
                break;
            }
            if is_first {
                tracing::info!("a change of tables waits until an index is made");
            }
            tokio::time::sleep(TURN).await;
        }
        let installed = async {
            let mut change = self.0.base.change(Actor::System).await?;
            let exactly = opening == Opening::Apply;
            let builds = install::install(&mut change, &loading.tables, declared, exactly).await?;
            change.commit().await.map(|()| builds)
        };
        let installed = installed.await;
        if let Some(turn) = turn {
            turn.end().await;
        }
        // For example, SQLite's writer is reserved for one of those indexes.
        let is_away = installed.as_ref().is_err_and(|error| error.code() == Code::Unavailable);
        if is_away && is_made().await? { lacking().await } else { installed }
    }

    /// Adds the tables of a plugin without changing them.
    pub(super) async fn serve(&self, loading: &mut Loading, manifest: &Manifest) -> Result<()> {
        let mut tables = plugins::bound_tables(manifest);
        install::keep_indexes(self.db(), &mut tables).await?;
        let declared = declared(manifest, &tables);
        check_id(&loading.states, &manifest.id)?;
        let clashes = loading.names_but_of(&manifest.id).clashes(manifest);
        if let Some(first) = clashes.first() {
            return Err(resolve::load_error(first.remedy.clone()));
        }
        loading.tables.check_names(declared)?;
        self.resolve(&mut loading.tables, declared).await
    }

    pub(super) async fn resolve(&self, tables: &mut Tables, declared: Declared<'_>) -> Result<()> {
        let mut resolved = Vec::new();
        for table in declared.tables {
            resolved.push(resolve::resolve(self.db(), declared, table).await?);
        }
        tables.add(resolved);
        Ok(())
    }
}
