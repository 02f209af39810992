//! Checks, creates, changes and serves tables of plugins.

use super::{
    Cms,
    building::IndexJob,
    loading::{Loading, Opening},
};
use crate::{
    Actor, Code, Error, Result,
    content::{Declared, TableDeclaration, Tables, install, plan::Build, resolve},
    db::TURN,
    plugins::{
        self, LoadedPlugin, Manifest, PluginState, Problem, installed::Part, manifest::ContentType,
    },
};

/// Tables of a plugin.
pub(super) fn declared<'a>(manifest: &'a Manifest, tables: &'a [TableDeclaration]) -> Declared<'a> {
    let silent = manifest.content_type == ContentType::Custom;
    Declared { plugin: &manifest.id, tables, silent }
}

/// Refuses a plugin whose id is already in service.
fn check_id(loading: &[PluginState], id: &str) -> Result<()> {
    if loading.iter().any(|state| state.id == id && state.manifest.is_some()) {
        let why = format!("A plugin {id:?} is in service already: choose another id.");
        return Err(Error::new(Code::ValidationFailed, why));
    }
    Ok(())
}

impl Cms {
    /// Adds the tables of a plugin. Everything is checked before anything is created: names,
    /// refusals by the database, also of widgets, and problems that only the tables in service
    /// show. Returns clashes of names and the last kind of problems. For a plugin of the folder
    /// whose widgets are refused, also what is refused of its tables. Any other refusal is an
    /// error.
    pub(super) async fn take_in(
        &self,
        loading: &mut Loading,
        manifest: &Manifest,
        found: Option<&LoadedPlugin>,
        opening: Opening,
    ) -> Result<Vec<Problem>> {
        let declared = declared(manifest, &manifest.tables);
        check_id(&loading.states, &manifest.id)?;
        let clashes = loading.names_but_of(&manifest.id).clashes(manifest);
        if !clashes.is_empty() {
            return Ok(found.map_or(clashes.clone(), |found| found.located(clashes)));
        }
        loading.tables.check_names(declared)?;
        let registers = opening == Opening::Apply;
        self.check_rows(loading, manifest, (found.is_none(), registers)).await?;
        let standing = install::standing(self.db(), declared).await?;
        if opening.wants(standing) && !opening.writes() {
            // A plugin that can never be installed does not keep the site from opening.
            let refused = |part| loading.refusals.of(manifest, part);
            let noted = refused(Part::Tables)?.or(refused(Part::Widgets)?);
            if let Some(why) = noted.filter(|_| found.is_some()) {
                return Err(resolve::load_error(why.to_owned()));
            }
            let changes = install::changes(self.db(), &loading.tables, declared).await?;
            if !changes.refused.is_empty() {
                return Err(resolve::load_error(changes.refused.join(" ")));
            }
        }
        if let Some(found) = found {
            let problems = self.problems_of(loading, found, manifest).await?;
            if !problems.is_empty() {
                return Ok(problems);
            }
        }
        if opening.wants(standing) {
            if !opening.writes() {
                return Err(Error::outdated(format!("tables of the plugin {}", manifest.id)));
            }
            if let Some(error) = self.pages().widgets().refusal(manifest, registers).await? {
                if found.is_none() {
                    return Err(error);
                }
                self.note_refusal(manifest, Part::Widgets, &error).await;
                let changes = install::changes(self.db(), &loading.tables, declared).await?;
                let tables = changes.refused.into_iter().map(Problem::whole);
                return Ok([Problem::from(error)].into_iter().chain(tables).collect());
            }
            for build in self.install(loading, declared, opening).await? {
                // A unique index must be in force before the first write.
                if opening == Opening::Apply || build.index.unique {
                    install::build(self.db(), &manifest.id, &build).await?;
                } else {
                    loading.builds.push(IndexJob::new(&manifest.id, build));
                }
            }
        }
        self.serve(loading, manifest).await?;
        loading.note_rows(manifest, registers);
        Ok(Vec::new())
    }

    /// Problems that only the tables in service show, such as those of columns of adopted tables.
    pub(super) async fn problems_of(
        &self,
        loading: &Loading,
        found: &LoadedPlugin,
        manifest: &Manifest,
    ) -> Result<Vec<Problem>> {
        let mut tables = loading.tables.clone();
        let adopted: Vec<_> = manifest.tables.iter().filter(|table| table.adopt).cloned().collect();
        self.resolve(&mut tables, declared(manifest, &adopted)).await?;
        let others = loading.expected.values().filter(|other| other.id != manifest.id);
        Ok(found.problems_with(manifest, others, &tables, &loading.absent))
    }

    /// Creates or changes tables that differ from their declaration. Returns the indexes that are
    /// still to be made.
    async fn install(
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
