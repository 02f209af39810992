//! What is asked for: where the reply lies, and how old it may be.

use cms_core::{Cms, traffic::cache::CacheRules};

use super::entry::Basis;

/// What a reply depends on, in one text.
pub(crate) type Key = Vec<u8>;

/// A reply that is asked for.
pub(crate) struct Asked<'a> {
    pub(super) key: Key,
    pub(super) path: &'a str,
    pub(super) rules: &'a CacheRules,
    pub(super) basis: Basis,
    tables: Option<&'static [&'static str]>,
}

impl<'a> Asked<'a> {
    /// By a visitor. Changes that other processes make count within a second.
    pub(crate) fn by_visitor(
        cms: &Cms,
        key: Key,
        path: &'a str,
        tables: &'static [&'static str],
        rules: &'a CacheRules,
    ) -> Self {
        let epochs = tables.iter().map(|table| cms.db().epochs().of(table)).collect();
        Self { key, path, rules, basis: basis(cms, epochs, rules), tables: Some(tables) }
    }

    /// By somebody whose rights were judged. `changes` counts the changes of all that the reply is
    /// made from, up to a moment since the request came: nothing older is given.
    pub(crate) fn by_caller(
        cms: &Cms,
        key: Key,
        path: &'a str,
        changes: i64,
        rules: &'a CacheRules,
    ) -> Self {
        Self { key, path, rules, basis: basis(cms, vec![changes], rules), tables: None }
    }

    /// The tables of a reply that all processes and visitors share.
    pub(super) fn shared_tables(&self) -> Option<&'static [&'static str]> {
        self.tables
    }
}

fn basis(cms: &Cms, epochs: Vec<i64>, rules: &CacheRules) -> Basis {
    Basis { epochs, last_clear: rules.last_clear(), at: cms.clock().now() }
}
