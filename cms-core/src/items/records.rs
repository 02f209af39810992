//! Records of one content table as values of a Rust type.

use std::marker::PhantomData;

use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value as Json};

use super::{IfMatch, Items, Query, page::Page};
use crate::{
    Change, Error, MAX_LIMIT, Result,
    content::{Column, Table, Tables},
    db::Kind,
};

/// A Rust type whose values are records of a content table. Declared with
/// [`content!`](crate::content!), and compared with the table when the site opens:
/// [`Builder::content`](crate::Builder::content).
pub trait Content: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The content table.
    const TABLE: &'static str;
    /// Its columns that the type has, in their order.
    const FIELDS: &'static [ContentField];

    /// The first column whose value no database can hold, such as NaN.
    #[doc(hidden)]
    fn unfit(&self) -> Option<&'static str> {
        None
    }
}

/// A column as a field of a Rust type.
#[derive(Clone, Copy, Debug)]
pub struct ContentField {
    /// Its name.
    pub name: &'static str,
    /// The kinds of columns that it can read.
    pub kinds: &'static [Kind],
    /// Whether it can be null.
    pub is_optional: bool,
}

impl ContentField {
    /// The column of a field: `r#type` is the column `type`.
    #[must_use]
    pub const fn column(field: &'static str) -> &'static str {
        match field.as_bytes() {
            [b'r', b'#', ..] => field.split_at(2).1,
            _ => field,
        }
    }
}

/// A Rust type for the values of a column. Implement the trait for your own types, according to
/// the JSON that serde writes for them.
pub trait ColumnType {
    /// The kinds of columns that it can read.
    const KINDS: &'static [Kind];
    /// Whether it can be null.
    const IS_OPTIONAL: bool = false;

    /// Whether a database can hold the value. NaN and infinity are unfit: serde_json writes
    /// them as null.
    fn is_fit(&self) -> bool {
        true
    }
}

macro_rules! field_types {
    ($($name:ty: $($kind:ident)*;)*) => {$(
        impl ColumnType for $name {
            const KINDS: &'static [Kind] = &[$(Kind::$kind),*];
        }
    )*};
}
field_types! {
    i64: Integer;
    bool: Boolean;
    String: Text Date Time DateTime Binary;
    Map<String, Json>: Json;
}

impl ColumnType for f64 {
    const KINDS: &'static [Kind] = &[Kind::Decimal, Kind::Double, Kind::Integer];

    fn is_fit(&self) -> bool {
        self.is_finite()
    }
}

impl<T: ColumnType> ColumnType for Option<T> {
    const KINDS: &'static [Kind] = T::KINDS;
    const IS_OPTIONAL: bool = true;

    fn is_fit(&self) -> bool {
        self.as_ref().is_none_or(ColumnType::is_fit)
    }
}

impl<T> ColumnType for Vec<T> {
    const KINDS: &'static [Kind] = &[Kind::Json];
}

/// Fits every column that is read, even with null.
impl ColumnType for Json {
    const KINDS: &'static [Kind] = &[
        Kind::Integer,
        Kind::Decimal,
        Kind::Double,
        Kind::Boolean,
        Kind::Text,
        Kind::Date,
        Kind::Time,
        Kind::DateTime,
        Kind::Json,
        Kind::Binary,
    ];
    const IS_OPTIONAL: bool = true;
}

/// Declares a struct whose values are records of a content table. Fields have the names of their
/// columns, with `r#type` for the column `type`; the macro ignores serde's `rename`. A column that
/// may be null is an `Option`. Columns that the struct leaves out are neither read nor written.
/// The table's key must be one whole number.
///
/// ```
/// use serde::{Deserialize, Serialize};
///
/// cms_core::content! {
///     /// A product of the shop.
///     #[derive(Clone, Debug, Serialize, Deserialize)]
///     pub struct Product in "products" {
///         pub id: i64,
///         pub name: String,
///         pub price: f64,
///         pub kind: Option<String>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! content {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident in $table:literal {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type),*
        }

        impl $crate::items::Content for $name {
            const TABLE: &'static str = $table;
            const FIELDS: &'static [$crate::items::ContentField] = &[
                $($crate::items::ContentField {
                    name: $crate::items::ContentField::column(stringify!($field)),
                    kinds: <$type as $crate::items::ColumnType>::KINDS,
                    is_optional: <$type as $crate::items::ColumnType>::IS_OPTIONAL,
                }),*
            ];

            fn unfit(&self) -> ::core::option::Option<&'static str> {
                [$((
                    $crate::items::ColumnType::is_fit(&self.$field),
                    $crate::items::ContentField::column(stringify!($field)),
                )),*]
                .into_iter()
                .find_map(|(is_fit, column)| (!is_fit).then_some(column))
            }
        }
    };
}

/// What does not fit between a type and its table; empty when all of it fits.
pub(crate) fn mismatches<T: Content>(tables: &Tables) -> Vec<String> {
    let Some(table) = tables.find(T::TABLE) else {
        return vec![format!("there is no content table {:?}", T::TABLE)];
    };
    let of_field = |field: &ContentField| {
        let Some(column) = table.columns.iter().find(|column| column.name == field.name) else {
            return Some(format!("{}.{} does not exist", T::TABLE, field.name));
        };
        mismatch(field, column).map(|why| format!("{}.{} {why}", T::TABLE, field.name))
    };
    T::FIELDS.iter().filter_map(of_field).collect()
}

fn mismatch(field: &ContentField, column: &Column) -> Option<String> {
    if column.kind == Kind::Password {
        return Some("is a password, which is never read: leave it out".to_owned());
    }
    if !field.kinds.contains(&column.kind) {
        return Some(format!("is a column of kind {:?}, which the field cannot read", column.kind));
    }
    let is_nullable = column.nullable && !column.generated;
    (is_nullable && !field.is_optional).then(|| "may be null: make the field an Option".to_owned())
}

/// A page of typed records.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TypedList<T> {
    /// The records.
    pub records: Vec<T>,
    /// The cursor of the next page, for [`Query::after`]; None at the end.
    pub next: Option<String>,
    /// Number of all matching records, if the query asked for `count`.
    pub total: Option<i64>,
}

/// The records of one content table as values of `T`: [`Items::of`].
pub struct Records<T> {
    items: Items,
    /// The language of the versions that are read and written.
    language: Option<String>,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Records<T> {
    fn clone(&self) -> Self {
        let (items, language) = (self.items.clone(), self.language.clone());
        Self { items, language, of: PhantomData }
    }
}

impl Items {
    /// The records of a content table as values of a Rust type.
    ///
    /// ```no_run
    /// use serde::{Deserialize, Serialize};
    ///
    /// cms_core::content! {
    ///     #[derive(Debug, Serialize, Deserialize)]
    ///     struct Product in "products" { id: i64, name: String, price: f64 }
    /// }
    ///
    /// # async fn shown(cms: cms_core::Cms) -> cms_core::Result<()> {
    /// use cms_core::{Actor, items::{Query, desc, lt}};
    ///
    /// let products = cms.items().of::<Product>();
    /// let cheap = Query::new().filter("price", lt(10)).sort(desc("price")).limit(20);
    /// for product in products.list(&cheap).await?.records {
    ///     println!("{} costs {}", product.name, product.price);
    /// }
    /// let mut change = cms.change(Actor::Operator).await?;
    /// products.update(&mut change, 7, |product| product.price = 9.5).await?;
    /// change.commit().await
    /// # }
    /// ```
    #[must_use]
    pub fn of<T: Content>(&self) -> Records<T> {
        Records { items: self.clone(), language: None, of: PhantomData }
    }
}

impl<T: Content> Records<T> {
    /// Only versions in this language, of a table with languages. An id then names the record by
    /// any of its versions, and new records are in the language unless they say otherwise.
    #[must_use]
    pub fn language(self, language: &str) -> Self {
        Self { language: Some(language.to_owned()), ..self }
    }

    /// The query for records of this type: reads only its columns, and keeps references numbers.
    fn query(&self, query: Query) -> Query {
        let fields = T::FIELDS.iter().map(|field| field.name.to_owned()).collect();
        let language = query.language.or_else(|| self.language.clone());
        Query { fields, language, expand: Vec::new(), ..query }
    }

    /// One record.
    ///
    /// # Errors
    /// `not_found`; `unknown_table`; `internal_error` for a record that the type cannot hold.
    pub async fn get(&self, id: i64) -> Result<T> {
        let query = self.query(Query::new());
        read(self.items.get(T::TABLE, &id.to_string(), &query).await?.json())
    }

    /// As [`Records::get`], as an open change sees it.
    pub async fn get_in(&self, change: &mut Change, id: i64) -> Result<T> {
        let (id, query) = (id.to_string(), self.query(Query::new()));
        read(self.items.get_in(change, T::TABLE, &id, &query).await?.json())
    }

    /// A page of records. It can hold fewer than its limit and still have a `next`: pages end at
    /// `http.page_limit_bytes`.
    ///
    /// # Errors
    /// `bad_query`, and as [`Records::get`].
    pub async fn list(&self, query: &Query) -> Result<TypedList<T>> {
        let db = self.items.0.base.db();
        typed(self.items.page(T::TABLE, &self.query(query.clone()), db).await?)
    }

    /// As [`Records::list`], as an open change sees it.
    pub async fn list_in(&self, change: &mut Change, query: &Query) -> Result<TypedList<T>> {
        typed(self.items.page(T::TABLE, &self.query(query.clone()), change).await?)
    }

    /// All matching records, whatever the query's `limit`, read 500 at a time. Each page is
    /// read in a state of its own: a record that changes meanwhile may appear as before or as
    /// after the change.
    pub fn stream(&self, query: Query) -> impl Stream<Item = Result<T>> + Send + 'static {
        let (items, query) = (self.items.clone(), self.query(query.limit(MAX_LIMIT)));
        let pages = stream::try_unfold(Some(query), move |query| {
            let items = items.clone();
            async move {
                let Some(query) = query else { return Ok::<_, Error>(None) };
                let db = items.0.base.db();
                let page = typed::<T>(items.page(T::TABLE, &query, db).await?)?;
                let next = page.next.map(|next| Query { offset: 0, ..query.after(next) });
                Ok(Some((page.records, next)))
            }
        });
        pages.map_ok(|records| stream::iter(records).map(Ok)).try_flatten()
    }

    /// Adds a record and returns it as stored. The database assigns the id, whatever the field
    /// holds. Columns that the database computes are not sent, and a null field takes the
    /// column's default.
    pub async fn create(&self, change: &mut Change, record: &T) -> Result<T> {
        let table = self.items.table(T::TABLE)?;
        let mut body = members(record)?;
        body.retain(|name, value| !value.is_null() && !is_made(&table, name));
        if let Some(language) = &self.language {
            body.entry("language_short").or_insert_with(|| language.as_str().into());
        }
        read(self.items.create(change, T::TABLE, &body).await?.record.json())
    }

    /// Changes a record with `edit`, and returns it as stored. Only columns whose value changed
    /// are written, and nothing when none did. The id and the columns that the database computes
    /// are never written.
    ///
    /// # Errors
    /// `not_found`, and as [`Items::update`].
    pub async fn update(
        &self,
        change: &mut Change,
        id: i64,
        edit: impl FnOnce(&mut T),
    ) -> Result<T> {
        let (table, id) = (self.items.table(T::TABLE)?, id.to_string());
        let language = self.language.as_deref();
        // Locked, so that nobody changes the record after `edit` has seen it.
        let stored = self.items.lock_record(change, &table, &id, language).await?.1;
        let mut record: T = read(&stored)?;
        let before = members(&record)?;
        edit(&mut record);
        let mut body = members(&record)?;
        body.retain(|name, value| before.get(name) != Some(value) && !is_made(&table, name));
        if body.is_empty() {
            return read(&stored);
        }
        let any = &IfMatch::Any;
        let written = self.items.update(change, T::TABLE, &id, language, any, &body).await?;
        read(written.record.json())
    }

    /// Deletes a record.
    ///
    /// # Errors
    /// `not_found`; `conflict` when other records refer to it.
    pub async fn delete(&self, change: &mut Change, id: i64) -> Result<()> {
        let (id, language) = (id.to_string(), self.language.as_deref());
        self.items.delete(change, T::TABLE, &id, language, &IfMatch::Any).await
    }
}

/// Whether the database assigns or computes the column's values.
fn is_made(table: &Table, column: &str) -> bool {
    let is_numbered = |key: &Column| key.kind == Kind::Integer && key.has_default;
    table.columns.iter().any(|one| one.name == column && one.generated)
        || table.key_columns().any(|key| key.name == column && is_numbered(key))
}

fn members<T: Content>(record: &T) -> Result<Map<String, Json>> {
    if let Some(column) = record.unfit() {
        return Err(Error::invalid_field(column, "range", "must be a finite number"));
    }
    match serde_json::to_value(record).map_err(Error::internal)? {
        Json::Object(members) => Ok(members),
        _ => Err(Error::internal(format!("a record of {} is no JSON object", T::TABLE))),
    }
}

fn read<T: Content>(json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(unfit::<T>)
}

fn unfit<T: Content>(error: serde_json::Error) -> Error {
    Error::internal(format!("a record of {} does not fit its Rust type: {error}", T::TABLE))
}

fn typed<T: Content>(page: Page) -> Result<TypedList<T>> {
    let records = page.values().map_err(unfit::<T>)?;
    Ok(TypedList { records, next: page.next, total: page.total })
}
