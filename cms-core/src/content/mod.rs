//! Content tables: how plugins and the core declare them, how they are created, and which values
//! their columns accept.

pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod columns;
pub(crate) mod core;
mod create;
mod declaration;
mod example;
mod extend;
mod form;
pub(crate) mod index;
pub(crate) mod install;
mod less;
pub(crate) mod plan;
pub(crate) mod resolve;
mod schema;
pub(crate) mod sql;
mod table;
mod tables;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use self::core::{RESOURCES, Resource, ResourceColumn};
pub use changes::{Action, Changes, Loss, Step};
pub use declaration::{ColumnDeclaration, TableDeclaration};
#[doc(hidden)]
pub use less::check as check_less;
pub use table::{Column, Table};
pub use tables::Tables;
pub(crate) use tables::without_white_space;

/// The tables declared by one plugin or by the core.
#[derive(Clone, Copy)]
pub(crate) struct Declared<'a> {
    /// The plugin's id; `core` for the service's own.
    pub(crate) plugin: &'a str,
    pub(crate) tables: &'a [TableDeclaration],
    /// Changes of records raise no `item.` events.
    pub(crate) silent: bool,
}

/// The content tables in service. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<ArcSwap<Tables>>);

impl Registry {
    /// All tables.
    #[must_use]
    pub fn tables(&self) -> Arc<Tables> {
        self.0.load_full()
    }

    pub(crate) fn set(&self, tables: Tables) {
        self.0.store(Arc::new(tables));
    }
}
