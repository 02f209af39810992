//! Content tables: how plugins and the core declare them, how they are created, and which values
//! their columns accept.

pub(crate) mod check;
pub(crate) mod columns;
pub(crate) mod core;
mod create;
mod declaration;
mod extend;
mod form;
pub(crate) mod index;
pub(crate) mod install;
pub(crate) mod plan;
pub(crate) mod resolve;
mod table;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use self::core::{RESOURCES, Resource, ResourceColumn};
#[doc(hidden)]
pub use check::significant_digits;
pub use declaration::{ColumnDeclaration, TableDeclaration};
pub use plan::{Action, Changes, Loss, Step};
pub(crate) use table::without_white_space;
pub use table::{Column, Table, Tables};

/// Checks a text of LESS as a column does.
///
/// # Errors
/// The fault as a sentence, with its line.
#[cfg(feature = "testing")]
#[doc(hidden)]
pub fn check_less(text: &str) -> Result<(), String> {
    form::check_less(text)
}

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

crate::db::statements! {
    DECLARATION = "select plugin_id, declaration from cms_content_tables where name = $1";
    DECLARATIONS = "select name, declaration from cms_content_tables order by name";
    RECORD_DECLARATION = "insert into cms_content_tables (name, plugin_id, declaration, \
                          installed_at) values ($1, $2, $3, $4) \
                          on conflict (name) do update set plugin_id = excluded.plugin_id, \
                          declaration = excluded.declaration, \
                          installed_at = excluded.installed_at";
}
