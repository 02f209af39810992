//! Hooks: code of plugins that runs in the change of each create, update and delete of a record,
//! and before records leave in a reply.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use futures_util::future::BoxFuture;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value as Json};

use super::{Items, Record, members};
use crate::{
    Actor, Change, Error, Result,
    access::HeldPermissions,
    change::{async_hook, bounded, limited},
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

async_hook!('w, BeforeWrite::before(Write), BeforeFn);

/// The records of one reply to a caller, before the reply is written.
///
/// ```
/// use cms_core::{Actor, Result, items::Read};
///
/// async fn for_staff(read: Read<'_>) -> Result<()> {
///     let is_staff = matches!(read.actor(), Actor::Operator | Actor::User { .. });
///     for product in read.records {
///         if !is_staff {
///             product.remove("cost");
///         }
///         product.insert("shop".to_owned(), "bells.example.org".into());
///     }
///     Ok(())
/// }
/// let handlers = cms_core::plugins::Handlers::default();
/// let handlers = handlers.on_read("products", "for_staff", for_staff);
/// ```
pub struct Read<'r> {
    /// The records in the order of the reply, each with the columns that the request asked for.
    /// Decimals are `f64`.
    pub records: &'r mut [Map<String, Json>],
    table: &'r str,
    actor: &'r Actor,
    rights: &'r HeldPermissions,
    pub(crate) site: SiteRef,
}

impl Read<'_> {
    /// The content table.
    #[must_use]
    pub fn table(&self) -> &str {
        self.table
    }

    /// The caller: a visitor, the holder of a key, a user, a user of the embedding application
    /// ([`Actor::Application`]) or the operator.
    #[must_use]
    pub fn actor(&self) -> &Actor {
        self.actor
    }

    /// The caller's permissions, as an endpoint's handler gets them:
    /// [`EndpointCall::rights`](crate::plugins::EndpointCall::rights).
    #[must_use]
    pub fn rights(&self) -> &HeldPermissions {
        self.rights
    }
}

/// Code that runs before records of a table leave in a reply. Every named
/// `async fn(Read<'_>) -> Result<()>` implements this trait; implement it yourself for a hook with
/// state.
pub trait OnRead: Send + Sync + 'static {
    /// Looks at the records, changes them, or refuses the reply with an error.
    fn on_read<'r>(&'r self, read: Read<'r>) -> BoxFuture<'r, Result<()>>;
}

async_hook!('r, OnRead::on_read(Read), ReadFn);

/// A hook of a table, with its name in errors and in the log.
pub(crate) struct Hook<R: ?Sized = dyn BeforeWrite> {
    pub(crate) table: String,
    pub(crate) name: String,
    run: Arc<R>,
    site: SiteRef,
}

impl<R: ?Sized> Clone for Hook<R> {
    fn clone(&self) -> Self {
        let Self { table, name, run, site } = self;
        Self { table: table.clone(), name: name.clone(), run: run.clone(), site: site.clone() }
    }
}

impl<R: ?Sized> Hook<R> {
    pub(crate) fn new(table: &str, name: &str, run: Arc<R>) -> Self {
        let (table, name) = (table.to_owned(), name.to_owned());
        Self { table, name, run, site: SiteRef::default() }
    }

    /// The hook of this plugin, with access to the site.
    pub(crate) fn of(&self, plugin: &str, site: &SiteRef) -> Self {
        let (name, site) = (format!("{plugin}.{}", self.name), site.clone());
        Self { name, site, ..self.clone() }
    }
}

impl Hook {
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

/// The hooks of a site by table, each table's in the order in which they run.
pub(super) type Hooks = BTreeMap<String, Vec<Hook>>;
/// The hooks on reads, likewise.
pub(super) type ReadHooks = BTreeMap<String, Vec<Hook<dyn OnRead>>>;

fn by_table<R: ?Sized>(all: Vec<Hook<R>>) -> Arc<BTreeMap<String, Vec<Hook<R>>>> {
    let mut hooks = BTreeMap::<_, Vec<_>>::new();
    for hook in all {
        hooks.entry(hook.table.clone()).or_default().push(hook);
    }
    Arc::new(hooks)
}

/// The records that stand in place of the references of a column.
fn expanded<'r>(
    records: &'r mut [Map<String, Json>],
    column: &'r str,
) -> impl Iterator<Item = &'r mut Map<String, Json>> {
    records.iter_mut().filter_map(move |record| record.get_mut(column)?.as_object_mut())
}

/// A record as JSON: the table's columns in their order, then the members that hooks have added.
struct InOrder<'r> {
    record: &'r Map<String, Json>,
    table: &'r Table,
    /// The tables of records that stand in place of references, by column.
    expanded: &'r BTreeMap<&'r str, Arc<Table>>,
}

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (record, columns, none) = (self.record, &self.table.columns, BTreeMap::new());
        let known = columns.iter().filter_map(|column| record.get_key_value(&column.name));
        let is_known = |name: &str| columns.iter().any(|column| column.name == name);
        let added = record.iter().filter(|(name, _)| !is_known(name));
        let mut members = serializer.serialize_map(Some(record.len()))?;
        for (name, value) in known.chain(added) {
            match (self.expanded.get(name.as_str()), value) {
                (Some(table), Json::Object(record)) => {
                    let inner = InOrder { record, table, expanded: &none };
                    members.serialize_entry(name, &inner)?;
                }
                _ => members.serialize_entry(name, value)?,
            }
        }
        members.end()
    }
}

impl Items {
    /// Sets the hooks of all plugins, in the order in which the plugins were loaded.
    pub(crate) fn set_hooks(&self, before: Vec<Hook>, on_read: Vec<Hook<dyn OnRead>>) {
        self.0.hooks.store(by_table(before));
        self.0.read_hooks.store(by_table(on_read));
    }

    /// Whether hooks see the records of a reply: of the table, or of one that a column of `expand`
    /// refers to.
    #[doc(hidden)]
    #[must_use]
    pub fn has_read_hooks<'c>(
        &self,
        table: &str,
        expand: impl IntoIterator<Item = &'c str>,
    ) -> bool {
        let hooks = self.0.read_hooks.load();
        let is_seen = |column: &str| {
            self.reference(table, column).is_ok_and(|target| hooks.contains_key(&target.name))
        };
        !hooks.is_empty() && (hooks.contains_key(table) || expand.into_iter().any(is_seen))
    }

    /// Runs the hooks on the records of one reply, first on those that replace the references of
    /// `expand`. Returns the records as JSON.
    ///
    /// # Errors
    /// Those of the hooks; `unavailable` for one that takes longer than 3 s; `internal_error` for
    /// one that panics.
    #[doc(hidden)]
    pub async fn run_read_hooks(
        &self,
        table: &str,
        expand: &[String],
        caller: (&Actor, &HeldPermissions),
        records: &[Record],
    ) -> Result<Vec<String>> {
        let mut shown: Vec<Map<String, Json>> =
            records.iter().map(|record| members(record.json())).collect::<Result<_>>()?;
        let (of, mut targets) = (self.table(table)?, BTreeMap::new());
        for column in expand.iter().collect::<BTreeSet<_>>() {
            let target = self.reference(table, column)?;
            let mut inner: Vec<_> = expanded(&mut shown, column).map(mem::take).collect();
            self.run_on_read(&target.name, caller, &mut inner).await?;
            for (place, record) in expanded(&mut shown, column).zip(inner) {
                *place = record;
            }
            targets.insert(column.as_str(), target);
        }
        self.run_on_read(table, caller, &mut shown).await?;
        let records = shown.iter().map(|record| {
            let record = InOrder { record, table: &of, expanded: &targets };
            serde_json::to_string(&record).map_err(Error::internal)
        });
        records.collect()
    }

    /// Runs the table's hooks on reads in turn; none where there are no records.
    async fn run_on_read(
        &self,
        table: &str,
        (actor, rights): (&Actor, &HeldPermissions),
        records: &mut [Map<String, Json>],
    ) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let hooks = self.0.read_hooks.load().get(table).cloned().unwrap_or_default();
        for hook in hooks {
            let site = hook.site.clone();
            let read = Read { records: &mut *records, table, actor, rights, site };
            let run = async { hook.run.on_read(read).await };
            let done = limited(&format!("hook {}", hook.name), "", run).await;
            if let Err(error) = done {
                tracing::debug!(hook = hook.name, table, %error, "a hook refused a reply");
                return Err(error);
            }
        }
        Ok(())
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
