//! A reply that is looked for: where it lies, and how old it may be.

use std::sync::Arc;

use cms_core::{Cms, Millis, plugins::TODAY, traffic::cache::CacheRules};

/// What a reply depends on, in one text.
pub(crate) type Key = Vec<u8>;

/// What is known when a reply is looked for: one that is made then is as old as this.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Basis {
    /// Of each table that it is made from. They are compared for equality only.
    pub(super) epochs: Vec<i64>,
    /// Rises with what is known of changes.
    pub(super) known: i64,
    pub(super) last_clear: i64,
    pub(super) at: Millis,
}

impl Basis {
    /// Whether it is no older than another: who asked then may have the reply.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.last_clear >= other.last_clear && self.known >= other.known
    }

    /// Whether the numbers mean the same in every process.
    pub(super) fn is_shared(&self) -> bool {
        self.epochs.iter().all(|epoch| *epoch >= 0)
    }
}

/// A reply that is looked for.
pub(crate) struct Lookup<'a> {
    cms: &'a Cms,
    pub(super) key: Key,
    pub(super) path: &'a str,
    pub(super) rules: Arc<CacheRules>,
    pub(super) basis: Basis,
    tables: Option<&'static [&'static str]>,
}

impl<'a> Lookup<'a> {
    /// By a visitor. Changes that other processes make count within a second.
    pub(crate) fn by_visitor(
        cms: &'a Cms,
        key: Key,
        path: &'a str,
        tables: &'static [&'static str],
        rules: Arc<CacheRules>,
    ) -> Self {
        let basis = basis(cms, cms.db().epochs().at_present(tables), &rules);
        Self { cms, key, path, rules, basis, tables: Some(tables) }
    }

    /// By somebody whose rights were judged. `changes` counts the changes of all that the reply is
    /// made from, up to a moment since the request came: nothing older is given.
    pub(crate) fn by_caller(
        cms: &'a Cms,
        key: Key,
        path: &'a str,
        changes: i64,
        rules: Arc<CacheRules>,
    ) -> Self {
        let basis = basis(cms, (vec![changes], changes), &rules);
        Self { cms, key, path, rules, basis, tables: None }
    }

    /// Whether it may be given before rights are judged.
    pub(crate) fn is_by_visitor(&self) -> bool {
        self.tables.is_some()
    }

    /// Whether tables beside those of the route are as they were.
    pub(super) fn finds(&self, beside: &[(String, i64)]) -> bool {
        let of = |table: &str| self.cms.db().epochs().of(table);
        beside.iter().all(|(table, epoch)| self.epoch(table, of) == *epoch)
    }

    /// The epoch of a table; of what changes at midnight it is the day of this request.
    pub(super) fn epoch(&self, table: &str, of: impl Fn(&str) -> i64) -> i64 {
        if table == TODAY { self.cms.day(self.basis.at) } else { of(table) }
    }

    /// The tables of a reply that all processes and visitors share.
    pub(super) fn shared_tables(&self) -> Option<&'static [&'static str]> {
        self.tables
    }
}

fn basis(cms: &Cms, (epochs, known): (Vec<i64>, i64), rules: &CacheRules) -> Basis {
    Basis { epochs, known, last_clear: rules.last_clear(), at: cms.clock().now() }
}
