//! Which plugin owns a content table, and what buttons of plugins let users write there. Pure.

use std::collections::BTreeSet;

use super::HeldPermissions;

/// A content table and its plugin's permissions, which decide who may read it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Owner<'a> {
    /// Name of the table.
    pub table: &'a str,
    /// The plugin that declares the table; `core` for the core's tables.
    pub plugin: &'a str,
    /// The permission keys of that plugin's buttons.
    pub permissions: &'a BTreeSet<String>,
    /// The buttons that write the table.
    pub writers: &'a [Writer],
}

/// What is done to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordAct {
    /// A new record.
    Create,
    /// Columns of a record change.
    Update,
    /// A record goes.
    Delete,
    /// Values of a list in a column are added and removed.
    Check,
}

impl RecordAct {
    /// The act on records that a method stands for.
    pub(crate) fn of(method: &str) -> Option<Self> {
        match method {
            "POST" => Some(Self::Create),
            "PATCH" => Some(Self::Update),
            "DELETE" => Some(Self::Delete),
            _ => None,
        }
    }
}

/// A button that writes records of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Writer {
    /// The plugin whose button it is; the table may be another's.
    pub plugin: String,
    /// The permission to use it.
    pub permission: String,
    /// What it does.
    pub act: RecordAct,
    /// The columns that it writes; empty for a deletion.
    pub columns: BTreeSet<String>,
    /// Whether it creates only language versions of existing records: `base_id` names one.
    pub version: bool,
}

impl Owner<'_> {
    fn held<'o>(
        &'o self,
        rights: &'o HeldPermissions,
        act: RecordAct,
    ) -> impl Iterator<Item = &'o Writer> {
        let of_act = self.writers.iter().filter(move |writer| writer.act == act);
        of_act.filter(|writer| rights.may_use(&writer.plugin, &writer.permission))
    }

    /// Whether these rights allow the act on at least some columns.
    pub(crate) fn may_write(&self, rights: &HeldPermissions, act: RecordAct) -> bool {
        self.held(rights, act).next().is_some()
    }

    /// None when these rights allow the act on all of `named`; else the columns that they allow.
    #[must_use]
    pub fn refuses(
        &self,
        rights: &HeldPermissions,
        act: RecordAct,
        named: &[&str],
    ) -> Option<BTreeSet<String>> {
        let covers = |columns: &BTreeSet<String>| named.iter().all(|name| columns.contains(*name));
        let mut union = BTreeSet::new();
        for writer in self.held(rights, act) {
            let fits = !writer.version || named.contains(&"base_id");
            // A new record comes from one form, a change may come from several.
            if fits && covers(&writer.columns) {
                return None;
            }
            union.extend(writer.columns.iter().cloned());
        }
        (act == RecordAct::Create || !covers(&union)).then_some(union)
    }

    /// Whether a new record with these columns can only be a version of another.
    #[must_use]
    pub fn makes_versions_only(&self, rights: &HeldPermissions, named: &[&str]) -> bool {
        let covers = |writer: &&Writer| named.iter().all(|name| writer.columns.contains(*name));
        self.held(rights, RecordAct::Create).filter(covers).all(|writer| writer.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Permissions;

    #[test]
    fn methods_are_acts() {
        for (method, act) in [
            ("POST", Some(RecordAct::Create)),
            ("PATCH", Some(RecordAct::Update)),
            ("DELETE", Some(RecordAct::Delete)),
            ("GET", None),
            ("PUT", None),
        ] {
            assert_eq!(RecordAct::of(method), act, "{method}");
        }
    }

    #[test]
    fn columns_are_those_of_the_buttons_held() {
        let writer = |name: &str, act, columns: &[&str], version| Writer {
            plugin: "p".to_owned(),
            permission: format!("p_{name}_edit"),
            act,
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            version,
        };
        let writers = [
            writer("a", RecordAct::Update, &["x", "y"], false),
            writer("b", RecordAct::Update, &["z"], false),
            writer("i", RecordAct::Create, &["x"], false),
            writer("v", RecordAct::Create, &["x", "y", "base_id"], true),
            writer("d", RecordAct::Delete, &[], false),
        ];
        let permissions = BTreeSet::new();
        let owner = Owner { table: "t", plugin: "p", permissions: &permissions, writers: &writers };
        let rights = |held: &[&str]| {
            let keys: Permissions = held.iter().map(|name| format!("p_{name}_edit")).collect();
            HeldPermissions::Only(keys.owned_by(|_, _| Some("p".to_owned())))
        };
        for (held, act, named, allowed) in [
            (&["a"][..], RecordAct::Update, &["x", "y"][..], true),
            (&["a"], RecordAct::Update, &["z"], false),
            (&["a", "b"], RecordAct::Update, &["x", "z"], true),
            (&["a", "b"], RecordAct::Create, &["x"], false),
            (&["i"], RecordAct::Create, &["x"], true),
            (&["i"], RecordAct::Create, &["x", "y"], false),
            (&["i", "v"], RecordAct::Create, &["x", "y"], false),
            (&["v"], RecordAct::Create, &["x"], false),
            (&["v"], RecordAct::Create, &["x", "y", "base_id"], true),
            (&["d"], RecordAct::Delete, &[], true),
            (&["a"], RecordAct::Delete, &[], false),
            (&[], RecordAct::Update, &[], false),
        ] {
            let rights = rights(held);
            let found =
                owner.may_write(&rights, act) && owner.refuses(&rights, act, named).is_none();
            assert_eq!(found, allowed, "{held:?} {act:?} {named:?}");
        }
        for (held, named, versions_only) in [
            (&["v"][..], &["x"][..], true),
            (&["i", "v"], &["x"], false),
            (&["i", "v"], &["x", "y"], true),
        ] {
            let found = owner.makes_versions_only(&rights(held), named);
            assert_eq!(found, versions_only, "{held:?} {named:?}");
        }
    }
}
