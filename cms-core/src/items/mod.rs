//! Items: the rows of content tables, read and written as JSON. The database builds this JSON and
//! takes it apart. The file is long because it holds each way of reading and writing once.

mod addresses;
mod checklist;
mod compare;
mod holding;
mod hooks;
mod if_match;
mod key;
mod own;
mod own_sql;
mod page;
mod passwords;
mod placed;
mod present;
mod query;
mod ranges;
mod record;
mod records;
mod references;
mod select;
mod slow;
mod tables;
mod write;
mod write_rules;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use arc_swap::ArcSwap;
use serde_json::{Map, Value as Json, value::RawValue};
use sqlx::AssertSqlSafe;

pub use crate::ground::filter::{Condition, Filter, Op};
pub use addresses::BrokenAddress;
pub use checklist::Checklist;
pub use compare::{
    Operand, Sort, Test, asc, column, contains, desc, ends_with, eq, gt, gte, lt, lte, ne, none_of,
    null, one_of, starts_with,
};
pub(crate) use hooks::Hook;
pub use hooks::{BeforeWrite, OnRead, Read, Write, WriteKind};
pub use if_match::{IfMatch, etag};
pub(crate) use own::{Made, OwnColumn, OwnList, RowList, columns, read_times, searched};
pub use own_sql::OwnSql;
pub(crate) use placed::{
    At, NewPlaced, PlacedRow, PlacedTable, add as add_rows, after as placed_after,
    holding as pages_holding, of_page as rows_of_page, of_page_in as rows_of_page_in,
    set as set_row,
};
pub use query::{Query, Within, not};
pub use record::{List, Record, Written};
pub(crate) use records::mismatches;
pub use records::{ColumnType, Content, ContentField, Records, TypedList};
pub(crate) use write::event as event_data;
pub(crate) use write_rules::WriteRules;

use self::{
    key::Key,
    page::{Bound, Page},
    select::{Conditions, Statement},
};
use crate::{
    AuditEntry, Change, Code, Error, Result,
    base::Base,
    change::Reader,
    content::{Registry, Table, Tables, core},
    crypto,
    db::{Kind, Lossy, Source},
};

/// The items of a site: `cms.items()`.
#[derive(Clone)]
pub struct Items(Arc<Inner>);

struct Inner {
    base: Base,
    registry: Registry,
    write_rules: OnceLock<write_rules::RuledTables>,
    hooks: ArcSwap<hooks::Hooks>,
    read_hooks: ArcSwap<hooks::ReadHooks>,
    /// Tables of the embedding program.
    own: BTreeSet<&'static str>,
    /// Held during a read of a whole table.
    whole: Arc<tokio::sync::Mutex<()>>,
}

impl Items {
    /// `own`: the tables of the embedding program.
    pub(crate) fn new(base: &Base, registry: &Registry, own: BTreeSet<&'static str>) -> Self {
        let (base, registry) = (base.clone(), registry.clone());
        Self(Arc::new(Inner {
            base,
            registry,
            write_rules: OnceLock::new(),
            hooks: ArcSwap::default(),
            read_hooks: ArcSwap::default(),
            own,
            whole: Arc::default(),
        }))
    }

    /// The content table of this name.
    pub fn table(&self, name: &str) -> Result<Arc<Table>> {
        let tables = self.0.registry.tables();
        tables.find(name).ok_or_else(|| tables.unknown(name))
    }

    /// All content tables.
    pub(crate) fn tables(&self) -> Arc<Tables> {
        self.0.registry.tables()
    }

    /// The source whose epoch counts changes of a content table; None: no such table.
    #[must_use]
    pub fn source<'n>(&self, table: &'n str) -> Option<Source<'n>> {
        let tables = self.0.registry.tables();
        let found = tables.find(table)?;
        // If an adopted table has this source, other programs may write it, and no epoch counts
        // their changes.
        let foreign = |other: &Arc<Table>| other.adopted && other.source == found.source;
        Some(if tables.iter().any(foreign) { Source::File } else { Source::Counted(table) })
    }

    /// One record. With `query.language`, its version in that language.
    pub async fn get(&self, table: &str, id: &str, query: &Query) -> Result<Record> {
        self.read_one(self.0.base.db(), table, id, query).await
    }

    /// As [`Items::get`], as an open change sees it.
    pub async fn get_in(
        &self,
        change: &mut Change,
        table: &str,
        id: &str,
        query: &Query,
    ) -> Result<Record> {
        self.read_one(change, table, id, query).await
    }

    async fn read_one(
        &self,
        from: impl Into<Reader<'_>>,
        table: &str,
        id: &str,
        query: &Query,
    ) -> Result<Record> {
        query.check()?;
        let (table, tables) = (self.table(table)?, self.0.registry.tables());
        let Statement { sql, args } = single(&tables, &table, id, query)?;
        let found: Option<(Option<Lossy>,)> =
            from.into().optional(AssertSqlSafe(sql), args).await?;
        found
            .and_then(|(json,)| json)
            .map(|Lossy(json)| Record::new(tables.compact(&table, &query.expand, json)))
            .ok_or_else(|| not_found(&table, id, query.language.as_deref()))
    }

    /// How the database would read one record: the lines of the engine's plan.
    pub async fn plan_of(&self, table: &str, id: &str, query: &Query) -> Result<Vec<String>> {
        let (table, tables) = (self.table(table)?, self.0.registry.tables());
        let Statement { sql, args } = single(&tables, &table, id, query)?;
        self.0.base.db().plan(&sql, args).await
    }

    /// The first matching record in the query's order.
    pub async fn first(&self, table: &str, query: &Query) -> Result<Option<Record>> {
        let list = self.list(table, &Query { limit: 1, ..query.clone() }).await?;
        Ok(list.records()?.pop())
    }

    /// A page of records. It ends early at `http.page_limit_bytes`, after one record at least.
    pub async fn list(&self, table: &str, query: &Query) -> Result<List> {
        self.page(table, query, self.0.base.db()).await?.list()
    }

    /// As [`Items::list`], as an open change sees it.
    pub async fn list_in(&self, change: &mut Change, table: &str, query: &Query) -> Result<List> {
        self.page(table, query, change).await?.list()
    }

    /// A page, through the pool or as an open change sees it.
    async fn page(&self, table: &str, query: &Query, from: impl Into<Reader<'_>>) -> Result<Page> {
        query.check()?;
        let (table, tables) = (self.table(table)?, self.0.registry.tables());
        let reader = from.into();
        let watch = matches!(reader, Reader::Pool(_)).then(slow::Watch::begin);
        let page = page::read(&self.0.base, (&tables, &table), query, reader).await?;
        if let Some(watch) = watch {
            watch.end(self.0.base.settings().slow_ms, &table, query);
        }
        Ok(page)
    }

    /// How the database would read a page: the lines of the engine's plan.
    pub async fn plan(&self, table: &str, query: &Query) -> Result<Vec<String>> {
        let (table, tables) = (self.table(table)?, self.0.registry.tables());
        let bound = Bound::Share(self.0.base.settings().http.page_limit_bytes);
        let Statement { sql, args } =
            page::statement(&tables, self.0.base.cursors(), &table, query, bound)?;
        self.0.base.db().plan(&sql, args).await
    }

    /// The content table that `column` refers to. Callers check whether its records may be shown.
    ///
    /// # Errors
    /// `bad_query` when the column is not a reference.
    pub fn reference(&self, table: &str, column: &str) -> Result<Arc<Table>> {
        select::reference(&self.0.registry.tables(), &*self.table(table)?, column)
    }

    /// As [`Items::create`], also for records that callers may not create as items.
    pub(crate) async fn insert(
        &self,
        change: &mut Change,
        table: &str,
        body: &Map<String, Json>,
    ) -> Result<Written> {
        let table = self.writable(table)?;
        let mut body = std::borrow::Cow::Borrowed(body);
        let takes_one = table.multilanguage || core::takes_language(&table.plugin, &table.name);
        if takes_one && !body.contains_key("language_short") {
            let first = self.0.base.settings().languages.first().map_or("en", String::as_str);
            body.to_mut().insert("language_short".to_owned(), first.into());
        }
        let has_hooks = self.has_hooks(&table.name);
        if has_hooks {
            let write = (WriteKind::Create, &*table);
            self.run_hooks(change, write, None, None, body.to_mut()).await?;
        }
        let inserted = match write::values(&table, &self.0.base, &body, true) {
            Ok(values) => self.insert_checked(change, &table, values).await,
            Err(refusal) => Err(refusal),
        };
        after_hooks(change, has_hooks, inserted)
    }

    async fn insert_checked(
        &self,
        change: &mut Change,
        table: &Table,
        values: write::Values<'_>,
    ) -> Result<Written> {
        let columns: Vec<&str> = values.iter().map(|(column, _)| column.name.as_str()).collect();
        let key_given = table.key_columns().any(|key| columns.contains(&key.name.as_str()));
        self.take_lock(change, &table.name, &columns, true).await?;
        let Statement { sql, args } = write::insert(table, values.clone());
        let inserted = change.optional(AssertSqlSafe(sql), args).await;
        let inserted: Option<(String, Option<String>)> =
            references::explain_refusal(change, table, &values, inserted).await?;
        let (key, mut json) = inserted.ok_or_else(|| references::without_row(change, table))?;
        let key = Key::from_json(table, &key)?;
        let base = write::base(&values);
        if table.multilanguage && base.is_none_or(|base| base.is_null() && !table.adopted) {
            Self::own_base(change, table, &key).await?;
            json = None;
        }
        let counted =
            table.key_columns().next().filter(|key| key.kind == Kind::Integer && key.has_default);
        // The base of a copied row may come later: no new row may get its id.
        let ahead = base.and_then(Json::as_i64).filter(|base| {
            table.multilanguage && key.json(table).as_i64().is_some_and(|id| *base > id)
        });
        if let (true, Some(counter)) = (key_given && !table.adopted, counted)
            && let Some(sql) = table.dialect.advance_id(&table.source, &counter.name, ahead)
        {
            change.all::<(Option<String>,)>(AssertSqlSafe(sql), Vec::new()).await?;
        }
        let json = self.read_written(change, table, &key, json).await?;
        let record = parsed(&json)?;
        // Copied rows come in any order, so a base may follow its versions.
        let is_copied = key_given && change.is_silent();
        if table.multilanguage && !is_copied {
            self.check_base(change, table, &key, &record).await.inspect_err(|_| change.fail())?;
        }
        self.record(change, table, "created", &key, &record, &columns, None).await?;
        let changed = columns.into_iter().map(str::to_owned).collect();
        let (id, key) = (key.spelled(table), key.json(table));
        Ok(Written { id, key, record: Record::new(json), changed, before: None })
    }

    /// As [`Items::update`], also for columns that callers may not write.
    pub(crate) async fn set(
        &self,
        change: &mut Change,
        table: &str,
        id: &str,
        language: Option<&str>,
        if_match: &IfMatch,
        body: &Map<String, Json>,
    ) -> Result<Written> {
        let table = self.writable(table)?;
        let base = &self.0.base;
        let has_hooks = self.has_hooks(&table.name);
        // Hooks may correct the sent values, so these are checked after the hooks.
        let mut values = match has_hooks {
            true => Ok(Vec::new()),
            false => Ok(write::values(&table, base, body, false)?),
        };
        let (key, before) = self.lock_record(change, &table, id, language).await?;
        if_match.check(self.0.base.cursors(), &table, &before)?;
        if has_hooks {
            let (mut body, old, id) = (body.clone(), members(&before)?, key.spelled(&table));
            let write = (WriteKind::Update, &*table);
            self.run_hooks(change, write, Some(&id), Some(&old), &mut body).await?;
            values = write::values(&table, base, &body, false);
        }
        let set = match values {
            Ok(values) => self.set_checked(change, &table, (key, before), values).await,
            Err(refusal) => Err(refusal),
        };
        after_hooks(change, has_hooks, set)
    }

    /// Sets the values of a locked record.
    async fn set_checked(
        &self,
        change: &mut Change,
        table: &Table,
        (key, before): (Key, String),
        values: write::Values<'_>,
    ) -> Result<Written> {
        let columns: Vec<&str> = values.iter().map(|(column, _)| column.name.as_str()).collect();
        if columns.is_empty() {
            let (id, key) = (key.spelled(table), key.json(table));
            let record = Record::new(before);
            let before = Some(record.clone());
            return Ok(Written { id, key, record, changed: Vec::new(), before });
        }
        let old = parsed(&before)?;
        Self::check_number(change, table, &values, &old).await?;
        self.take_lock(change, &table.name, &columns, false).await?;
        let Statement { sql, args } = write::update(table, &key, values.clone());
        let moved = change.optional(AssertSqlSafe(sql), args).await;
        let moved: Option<(String, Option<String>)> =
            references::explain_refusal(change, table, &values, moved).await?;
        let (moved, mut json) = moved.ok_or_else(|| references::without_row(change, table))?;
        let moved = Key::from_json(table, &moved)?;
        let is_unbased = write::base(&values).is_some_and(Json::is_null);
        if table.multilanguage && !table.adopted && is_unbased {
            Self::own_base(change, table, &moved).await?;
            json = None;
        }
        let json = self.read_written(change, table, &moved, json).await?;
        let new = parsed(&json)?;
        let changed = write::changed(&old, &new);
        if table.multilanguage && changed.iter().any(|name| name == "base_id") {
            self.check_base(change, table, &moved, &new).await.inspect_err(|_| change.fail())?;
        }
        let told = Some(changed.clone());
        self.record(change, table, "updated", &moved, &new, &columns, told).await?;
        let (id, key) = (moved.spelled(table), moved.json(table));
        let (record, before) = (Record::new(json), Some(Record::new(before)));
        Ok(Written { id, key, record, changed, before })
    }

    /// As [`Items::delete`], also for records that callers may not delete as items. Returns the
    /// record as it was.
    pub(crate) async fn remove(
        &self,
        change: &mut Change,
        table: &str,
        id: &str,
        language: Option<&str>,
        if_match: &IfMatch,
    ) -> Result<Json> {
        let table = self.writable(table)?;
        let (key, before) = self.lock_record(change, &table, id, language).await?;
        if_match.check(self.0.base.cursors(), &table, &before)?;
        let has_hooks = self.has_hooks(&table.name);
        if has_hooks {
            let (old, id) = (members(&before)?, key.spelled(&table));
            let write = (WriteKind::Delete, &*table);
            self.run_hooks(change, write, Some(&id), Some(&old), &mut Map::new()).await?;
        }
        let removed = match parsed(&before) {
            Ok(record) => self.remove_checked(change, &table, &key, &record).await.map(|()| record),
            Err(error) => Err(error),
        };
        after_hooks(change, has_hooks, removed)
    }

    /// Removes a locked record.
    async fn remove_checked(
        &self,
        change: &mut Change,
        table: &Table,
        key: &Key,
        record: &Json,
    ) -> Result<()> {
        if let Some(room) = self.write_rules(&table.name) {
            let allowed = room.removing(change, &table.name, record).await;
            allowed.inspect_err(|_| change.fail())?;
        }
        let Statement { sql, args } = write::delete(table, key);
        let deleted = change.run(AssertSqlSafe(sql), args).await;
        if references::explain_refusal(change, table, &Vec::new(), deleted).await? == 0 {
            return Err(references::without_row(change, table));
        }
        self.record(change, table, "deleted", key, record, &[], None).await
    }

    fn writable(&self, name: &str) -> Result<Arc<Table>> {
        let table = self.table(name)?;
        if table.writable() {
            return Ok(table);
        }
        Err(Error::new(
            Code::MethodNotAllowed,
            format!("{name} has no primary key, so it can only be read."),
        ))
    }

    /// Writes event, audit row and epoch of a changed record.
    #[expect(
        clippy::too_many_arguments,
        reason = "one fact each, and event, audit row and epoch need all of them"
    )]
    async fn record(
        &self,
        change: &mut Change,
        table: &Table,
        what: &'static str,
        key: &Key,
        record: &Json,
        columns: &[&str],
        changed: Option<Vec<String>>,
    ) -> Result<()> {
        let language = record.get("language_short").and_then(Json::as_str);
        let data = write::event(table, &key.json(table), language, record, changed);
        let action = what.trim_end_matches('d');
        let id = &key.spelled(table);
        let entry = AuditEntry { action, table: &table.name, id, columns };
        if table.silent {
            change.audit(entry).await?;
        } else {
            change.emit_audited(&format!("item.{}.{what}", table.name), data, entry).await?;
        }
        change.touch(&table.name);
        Ok(())
    }
}

/// Returns the outcome of a write. If the write failed after its hooks ran, the change cannot be
/// committed: the hooks may have written.
fn after_hooks<T>(change: &mut Change, has_hooks: bool, outcome: Result<T>) -> Result<T> {
    if has_hooks && outcome.is_err() {
        change.fail();
    }
    outcome
}

/// The statement that reads one record; with `query.language`, its version in that language.
fn single(tables: &Tables, table: &Table, id: &str, query: &Query) -> Result<Statement> {
    let mut conditions = Conditions::new(table);
    match &query.language {
        Some(language) => version(&mut conditions, table, id, language)?,
        None => conditions.key(&Key::parse(table, id)?),
    }
    // Rights may require filters, so filters apply to a single record too.
    conditions.query(&Query { language: None, ..query.clone() })?;
    select::one(tables, table, conditions, query, false)
}

/// Selects a record's version in `language`. `id` may be the base or any version.
fn version(conditions: &mut Conditions, table: &Table, id: &str, language: &str) -> Result<()> {
    if !table.multilanguage {
        return Err(Error::new(
            Code::BadQuery,
            format!("{} has no language versions: leave language out.", table.name),
        ));
    }
    conditions.version_of(&Key::parse(table, id)?);
    conditions.equals("language_short", language)
}

/// Parses a record to compare its members. A value that is nested too deeply to parse becomes a
/// note with its hash, because events cannot search it for secrets. Only adopted tables can hold
/// such values.
fn parsed(json: &str) -> Result<Json> {
    if let Ok(record) = serde_json::from_str(json) {
        return Ok(record);
    }
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_str(json).map_err(Error::internal)?;
    let member = |(name, text): (String, &RawValue)| {
        let note =
            || format!("nested too deeply; SHA-256 {}", crypto::sha256_hex(text.get().as_bytes()));
        (name, serde_json::from_str(text.get()).unwrap_or_else(|_| note().into()))
    };
    Ok(Json::Object(members.into_iter().map(member).collect()))
}

fn members(json: &str) -> Result<Map<String, Json>> {
    match parsed(json)? {
        Json::Object(members) => Ok(members),
        _ => Ok(Map::new()),
    }
}

fn not_found(table: &Table, id: &str, language: Option<&str>) -> Error {
    let version = language.map(|l| format!(" in language {l:?}")).unwrap_or_default();
    Error::new(Code::NotFound, format!("{} has no record with id {id}{version}.", table.name))
}
