//! The state while plugins are loaded, and what a load may do to the database.

use std::collections::{BTreeMap, BTreeSet};

use super::building::IndexJob;
use crate::{
    content::{Tables, install::Standing},
    plugins::{Manifest, Names, PluginState, installed::Refusals},
};

/// What loading plugins may do to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Create the database if it is missing, and bring it up to date. Indexes that enforce no rule
    /// are made in the background. No index is dropped.
    Start,
    /// Give the tables exactly their declared form.
    Apply,
    /// Write nothing, and refuse a database that is not up to date.
    AsIs,
    /// Write nothing, and leave out plugins that are not up to date.
    Inspect,
}

impl Opening {
    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Start | Self::Apply)
    }

    /// Whether tables in this state need changes beyond indexes.
    pub(super) fn changes(self, standing: Standing) -> bool {
        match self {
            Self::Apply => standing != Standing::Current,
            Self::Start | Self::AsIs | Self::Inspect => standing == Standing::Behind,
        }
    }

    /// Whether tables in this state need work, or cannot be served as they are.
    pub(super) fn wants(self, standing: Standing) -> bool {
        match self {
            Self::Apply => standing != Standing::Current,
            Self::Start => matches!(standing, Standing::Unindexed | Standing::Behind),
            Self::AsIs | Self::Inspect => standing == Standing::Behind,
        }
    }
}

/// The state of a load so far.
#[derive(Default)]
pub(super) struct Loading {
    pub(super) tables: Tables,
    pub(super) states: Vec<PluginState>,
    /// Names with their owners, as the database records them.
    pub(super) names: Names,
    /// Why the database refused tables or widgets.
    pub(super) refusals: Refusals,
    /// The declarations in service, and those that are likely to be, by plugin id.
    pub(super) expected: BTreeMap<String, Manifest>,
    /// Tables that are not in service, each with its plugin.
    pub(super) absent: BTreeMap<String, String>,
    /// Columns of widgets that are registered, or that this load registers, by plugin. Plugins out
    /// of service are left out.
    pub(super) rows: BTreeMap<String, BTreeSet<String>>,
    /// Declarations to be recorded.
    pub(super) news: Vec<Manifest>,
    /// Declarations whose names are to be claimed.
    pub(super) claims: Vec<Manifest>,
    /// Indexes that are still to be made.
    pub(super) builds: Vec<IndexJob>,
}

impl Loading {
    /// An empty state that knows only the registered columns and the names.
    pub(super) fn with(rows: BTreeMap<String, BTreeSet<String>>, names: Names) -> Self {
        Self { rows, names, ..Self::default() }
    }

    /// Names with their owners. Counts plugins other than `id` as owners if they are in service
    /// and have not claimed their names yet.
    pub(super) fn names_but_of(&self, id: &str) -> Names {
        let mut names = self.names.clone();
        let others = self.states.iter().filter(|state| state.id != id);
        others.filter_map(|state| state.manifest.as_deref()).for_each(|other| names.hold(other));
        names
    }

    /// Records the declaration that will be in service for a plugin, unless the program contains
    /// one of that id.
    pub(super) fn expect(&mut self, id: &str, manifest: Option<Manifest>) {
        if self.states.iter().any(|state| state.id == id) {
            return;
        }
        let before = match &manifest {
            Some(manifest) => self.expected.insert(id.to_owned(), manifest.clone()),
            None => self.expected.remove(id),
        };
        self.note_out_of_service(before.as_ref());
        for table in manifest.iter().flat_map(|manifest| &manifest.tables) {
            self.absent.remove(&table.name);
        }
    }

    /// Takes the tables of a plugin out of service, and drops their planned indexes.
    pub(super) fn withdraw(&mut self, id: &str) {
        self.tables.remove(id);
        self.builds.retain(|wanted| !wanted.is_of(id));
    }

    /// Records why tables that plugins own are not served. Returns the tables that plugins in
    /// service no longer declare.
    pub(super) fn note_absent_tables(&mut self, opening: Opening) -> BTreeMap<String, Vec<String>> {
        let mut left = BTreeMap::<String, Vec<String>>::new();
        let mut absent = BTreeMap::new();
        for (table, plugin) in self.names.tables() {
            if self.tables.find(table).is_some() {
                continue;
            }
            let state = self.states.iter().find(|state| state.id == plugin);
            let why = match state.map(|state| state.manifest.is_some()) {
                Some(true) => {
                    if opening.writes() {
                        let what = "a table is declared no longer; its rows stay";
                        tracing::warn!(plugin, table, "{what}");
                    }
                    left.entry(plugin.to_owned()).or_default().push(table.to_owned());
                    format!("its plugin {plugin} declares it no longer")
                }
                Some(false) => format!("its plugin {plugin} is not in service"),
                None => format!("its plugin {plugin} is gone"),
            };
            absent.insert(table.to_owned(), why);
        }
        self.tables.note_absent(absent);
        left
    }

    /// Records the tables of a plugin that is not in service.
    pub(super) fn note_out_of_service(&mut self, manifest: Option<&Manifest>) {
        for (id, table) in manifest.iter().flat_map(|m| m.tables.iter().map(|t| (&m.id, t))) {
            self.absent.insert(table.name.clone(), id.clone());
        }
    }
}
