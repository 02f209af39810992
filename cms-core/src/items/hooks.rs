//! Hooks: code of plugins that runs in the change of each create, update and delete of a record.

use std::{collections::BTreeMap, fmt, future::Future, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use super::Items;
use crate::{
    Change, Error, Result,
    change::bounded,
    content::{Table, check},
    db::Kind,
    ground::SiteRef,
};

/// The kind of write that a hook sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteKind {
    /// A new record.
    Create,
    /// A record that exists.
    Update,
    /// A record that is deleted.
    Delete,
}

/// A write of one record, before it reaches the database.
///
/// ```
/// use cms_core::{Result, items::{Write, WriteKind}};
///
/// async fn price(mut write: Write<'_>) -> Result<()> {
///     if write.value("price").as_f64().is_some_and(|price| price < 0.0) {
///         return Err(write.refuse("price", "must not be negative"));
///     }
///     if write.kind() != WriteKind::Delete {
///         write.set("priced_at", cms_core::rfc3339(write.change.now()));
///     }
///     Ok(())
/// }
/// let handlers = cms_core::plugins::Handlers::default().before("products", "price", price);
/// ```
pub struct Write<'w> {
    /// The change of the write: what you write through it is kept or undone with the record.
    pub change: &'w mut Change,
    /// Records of content tables. Read them with [`Items::get_in`] and [`Items::list_in`].
    pub items: &'w Items,
    pub(super) kind: WriteKind,
    pub(super) table: &'w str,
    pub(super) id: Option<&'w str>,
    pub(super) old: Option<&'w Map<String, Json>>,
    pub(super) new: &'w mut Map<String, Json>,
    pub(crate) site: &'w SiteRef,
}

impl Write<'_> {
    /// The kind of this write.
    #[must_use]
    pub fn kind(&self) -> WriteKind {
        self.kind
    }

    /// The content table.
    #[must_use]
    pub fn table(&self) -> &str {
        self.table
    }

    /// The record's id; None for a new record.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id
    }

    /// The record as it is now; None for a new record.
    #[must_use]
    pub fn old(&self) -> Option<&Map<String, Json>> {
        self.old
    }

    /// The written columns, before they are checked. Numbers and booleans that were sent as text
    /// appear as records show them; invalid ones appear as they were sent. Empty for a deletion.
    #[must_use]
    pub fn new_values(&self) -> &Map<String, Json> {
        self.new
    }

    /// The value that the column will have: the written value, or else the present value.
    #[must_use]
    pub fn value(&self, column: &str) -> &Json {
        let value = self.new.get(column).or_else(|| self.old.and_then(|old| old.get(column)));
        value.unwrap_or(&Json::Null)
    }

    /// Writes another value to the record. The value is checked for its column as if it had been
    /// sent; a deletion ignores it. In the service's tables a hook may also write columns that
    /// callers may not write.
    pub fn set(&mut self, column: &str, value: impl Into<Json>) {
        self.new.insert(column.to_owned(), value.into());
    }

    /// The error `validation_failed` at a column. Return it from a hook to refuse the write.
    #[must_use]
    pub fn refuse(&self, column: &str, why: impl Into<String>) -> Error {
        Error::invalid_field(column, "refused", why)
    }
}

/// Code that runs before each write of a table. Every named `async fn(Write<'_>) -> Result<()>`
/// implements this trait; implement it yourself for a hook with state.
pub trait BeforeWrite: Send + Sync + 'static {
    /// Looks at the write, changes its values, or refuses it with an error.
    fn before<'w>(&'w self, write: Write<'w>) -> BoxFuture<'w, Result<()>>;
}

/// An async function that takes a write of any lifetime.
#[doc(hidden)]
pub trait BeforeFn<'w>: Fn(Write<'w>) -> Self::Future {
    type Future: Future<Output = Result<()>> + Send + 'w;
}

impl<'w, F, Run> BeforeFn<'w> for F
where
    F: Fn(Write<'w>) -> Run,
    Run: Future<Output = Result<()>> + Send + 'w,
{
    type Future = Run;
}

impl<F> BeforeWrite for F
where
    F: for<'w> BeforeFn<'w> + Send + Sync + 'static,
{
    fn before<'w>(&'w self, write: Write<'w>) -> BoxFuture<'w, Result<()>> {
        Box::pin(self(write))
    }
}

/// A hook of a table, with its name in errors and in the log.
#[derive(Clone)]
pub(crate) struct Hook {
    pub(crate) table: String,
    pub(crate) name: String,
    run: Arc<dyn BeforeWrite>,
    site: SiteRef,
}

impl Hook {
    pub(crate) fn new(table: &str, name: &str, run: impl BeforeWrite) -> Self {
        let (table, name, run) = (table.to_owned(), name.to_owned(), Arc::new(run));
        Self { table, name, run, site: SiteRef::default() }
    }

    /// The hook of this plugin, with access to the site.
    pub(crate) fn of(&self, plugin: &str, site: &SiteRef) -> Self {
        let (name, site) = (format!("{plugin}.{}", self.name), site.clone());
        Self { name, site, ..self.clone() }
    }

    async fn run(&self, write: Write<'_>) -> Result<()> {
        bounded(&format!("hook {}", self.name), async { self.run.before(write).await }).await
    }
}

/// Spells numbers and booleans that were sent as text as records show them.
fn spell(table: &Table, values: &mut Map<String, Json>) {
    for column in &table.columns {
        let Some(sent) = values.get_mut(&column.name) else { continue };
        let Ok(checked) = check::value(column, table.dialect, sent) else { continue };
        match column.kind {
            Kind::Integer | Kind::Boolean | Kind::Double => *sent = checked,
            Kind::Decimal if sent.is_string() => {
                if let Some(number) = checked.as_str().and_then(check::decimal_number) {
                    *sent = number.into();
                }
            }
            _ => {}
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} before writes of {}", self.name, self.table)
    }
}

/// The hooks of a site by table, each table's in the order in which they run.
pub(super) type Hooks = BTreeMap<String, Vec<Hook>>;

impl Items {
    /// Sets the hooks of all plugins, in the order in which the plugins were loaded.
    pub(crate) fn set_hooks(&self, all: impl IntoIterator<Item = Hook>) {
        let mut hooks = Hooks::new();
        for hook in all {
            hooks.entry(hook.table.clone()).or_default().push(hook);
        }
        self.0.hooks.store(Arc::new(hooks));
    }

    /// Whether the table has hooks.
    pub(super) fn has_hooks(&self, table: &str) -> bool {
        self.0.hooks.load().contains_key(table)
    }

    /// Runs the table's hooks in turn, on values spelled as records show them. After an error the
    /// change cannot be committed: a hook may have written.
    pub(super) async fn run_hooks(
        &self,
        change: &mut Change,
        (kind, of): (WriteKind, &Table),
        id: Option<&str>,
        old: Option<&Map<String, Json>>,
        new: &mut Map<String, Json>,
    ) -> Result<()> {
        let table = of.name.as_str();
        let hooks = self.0.hooks.load().get(table).cloned().unwrap_or_default();
        spell(of, new);
        for hook in hooks {
            let (items, site) = (self, &hook.site);
            let write = Write { change: &mut *change, items, kind, table, id, old, new, site };
            let done = match write.change.begin_hook(&hook.name) {
                Ok(()) => hook.run(write).await,
                Err(error) => Err(error),
            };
            change.end_hook();
            if let Err(error) = done {
                change.fail();
                tracing::debug!(hook = hook.name, table, %error, "a hook refused a write");
                return Err(error);
            }
        }
        Ok(())
    }
}
