//! Describing and creating tables.

use super::{Col, Dialect, Kind, PADDED, quote};

/// The columns of the table that `to_regclass` finds by this name on PostgreSQL.
macro_rules! columns {
    ($($place:tt)+) => {
        concat!(
            "select cast(a.attname as text), format_type((with recursive d (id) as (select \
             a.atttypid union all \
             select b.typbasetype from d join pg_type b on b.oid = d.id and b.typtype = 'd') \
             select d.id from d join pg_type b on b.oid = d.id and b.typtype <> 'd'), null), \
             a.attnotnull, a.atthasdef or a.attidentity <> '', a.attgenerated <> '' or \
             a.attidentity = 'a', \
             cast(case when array_position(i.indkey, a.attnum) < i.indnkeyatts then \
             array_position(i.indkey, a.attnum) + 1 else 0 end as bigint), \
             (select cast(r.relname as text) from pg_constraint f join pg_class r on r.oid = \
             f.confrelid and r.oid = to_regclass(quote_ident(r.relname)) \
             join pg_index k on k.indrelid = r.oid and k.indisprimary and k.indkey[0] = \
             f.confkey[1] \
             where f.conrelid = a.attrelid and f.contype = 'f' and f.conkey = array[a.attnum] \
             limit 1), \
             case when a.atttypmod > 4 and a.atttypid in (cast('bpchar' as regtype), \
             cast('varchar' as regtype)) \
             then cast(a.atttypmod - 4 as bigint) end \
             from pg_attribute a left join pg_index i on i.indrelid = a.attrelid and \
             i.indisprimary \
             where a.attrelid = to_regclass(",
            $($place)+,
            ") and a.attnum > 0 and not a.attisdropped order by a.attnum"
        )
    };
}

/// The table or view `$1` of the site's schema, even if `search_path` leads to others of the name.
macro_rules! own {
    () => {
        "quote_ident(current_schema()) || '.' || quote_ident($1)"
    };
}

impl Dialect {
    /// Foreign keys of the table `$1`: column, table and column referred to. None: the engine's
    /// errors name the column.
    pub(crate) const fn foreign_keys(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => Some(
                "select f.\"from\", f.\"table\", coalesce(f.\"to\", (select c.name from \
                 pragma_table_info(f.\"table\") c where c.pk = 1)) \
                 from pragma_foreign_key_list($1) f order by f.id, f.seq",
            ),
            Self::Postgres => None,
        }
    }

    /// The tables that foreign keys of the table `$1` of the site's schema refer to, spelled as in
    /// the database. As with [`Dialect::columns`], without those that search_path does not reach.
    #[cfg(all(feature = "sqlite", feature = "postgres"))]
    pub(crate) const fn referred(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "select distinct coalesce(r.name, f.\"table\") from pragma_foreign_key_list($1) f \
                 left join sqlite_schema r on r.type = 'table' and lower(r.name) = \
                 lower(f.\"table\")"
            }
            Self::Postgres => concat!(
                "select distinct cast(r.relname as text) from pg_constraint f join pg_class r on \
                 r.oid = f.confrelid and r.oid = to_regclass(quote_ident(r.relname)) \
                 where f.contype = 'f' and f.conrelid = to_regclass(",
                own!(),
                ")"
            ),
        }
    }

    /// The statement that made the index `$1`. None: the engine's errors name its columns.
    pub(crate) const fn made_index(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => Some(
                "select s.sql from sqlite_schema s where s.type = 'index' and s.name = $1 \
                 and s.sql is not null",
            ),
            Self::Postgres => None,
        }
    }

    /// Columns of the table or view `$1` of the site's schema: name, type, not null, has a default,
    /// generated, position in the primary key (from 1; 0 outside), table whose primary key it
    /// refers to, characters at most. A reference to a table that search_path does not reach under
    /// its bare name counts as none.
    pub(crate) const fn columns(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "select c.name, c.type, c.\"notnull\" <> 0, c.dflt_value is not null, c.hidden in \
                 (2, 3), cast(c.pk as integer), \
                 (select r.name from pragma_foreign_key_list($1) f join sqlite_schema r on r.type \
                 = 'table' and lower(r.name) = lower(f.\"table\") \
                 where lower(f.\"from\") = lower(c.name) and (select count(*) from \
                 pragma_foreign_key_list($1) g where g.id = f.id) = 1 \
                 and (f.\"to\" is null or (select lower(p.name) from pragma_table_info(r.name) p \
                 where p.pk = 1) = lower(f.\"to\")) limit 1), \
                 null from pragma_table_xinfo($1) c where c.hidden <> 1 order by c.cid"
            }
            Self::Postgres => columns!(own!()),
        }
    }

    /// As [`Dialect::columns`], of a table or view that others made: `search_path` leads to it.
    pub(crate) const fn adopted_columns(self) -> &'static str {
        match self {
            Self::Sqlite => self.columns(),
            Self::Postgres => columns!("quote_ident($1)"),
        }
    }

    /// Columns of the indexes of table `$1`, without its primary key and partial indexes: index,
    /// column (null for an expression), whether it descends.
    pub(in crate::db) const fn indexes(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "select l.name, x.name, x.\"desc\" <> 0 \
                 from pragma_index_list($1) l, pragma_index_xinfo(l.name) x \
                 where l.origin <> 'pk' and l.partial = 0 and x.key = 1 order by l.name, x.seqno"
            }
            Self::Postgres => {
                "select cast(c.relname as text), cast(a.attname as text), \
                 (i.indoption[cast(k.n - 1 as integer)] & 1) <> 0 \
                 from pg_index i join pg_class c on c.oid = i.indexrelid \
                 cross join lateral unnest(cast(i.indkey as smallint[])) with ordinality k (at, n) \
                 left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.at \
                 and k.at > 0 \
                 where i.indrelid = to_regclass(quote_ident($1)) and not i.indisprimary \
                 and i.indisvalid and i.indpred is null and k.n <= i.indnkeyatts \
                 order by c.relname, k.n"
            }
        }
    }

    /// Name of each index of the table `$1` of the site's schema, whether it is unique, and whether
    /// it is complete.
    pub(crate) const fn index_states(self) -> &'static str {
        match self {
            Self::Sqlite => "select l.name, l.\"unique\" <> 0, true from pragma_index_list($1) l",
            Self::Postgres => concat!(
                "select cast(c.relname as text), i.indisunique, i.indisvalid \
                 from pg_index i join pg_class c on c.oid = i.indexrelid \
                 where i.indrelid = to_regclass(",
                own!(),
                ")"
            ),
        }
    }

    /// A column of a declared table as an index holds it, so that the index serves
    /// [`Dialect::compared`].
    pub(crate) fn indexed_column(self, col: Col) -> String {
        match (self, col.kind) {
            (Self::Postgres, Kind::Text) => format!("{} collate \"C\"", quote(col.name)),
            _ => quote(col.name),
        }
    }

    /// The words in `create index` that let others write meanwhile (PostgreSQL), or that accept
    /// an index made before (SQLite, which has one writer at a time).
    pub(crate) const fn beside(self) -> &'static str {
        match self {
            Self::Sqlite => "if not exists ",
            Self::Postgres => "concurrently ",
        }
    }

    /// The `from` item that yields the values of a declared column, and the expression of one
    /// value. A JSON column yields its entries as text.
    pub(crate) fn entries(self, table: &str, col: Col) -> (String, String) {
        let c = format!("t.{}", quote(col.name));
        let entries = match (self, col.kind) {
            (Self::Sqlite, Kind::Json) => format!(
                "json_each(case json_type({c}) when 'array' then {c} else json_array(json({c})) \
                 end)"
            ),
            (Self::Postgres, Kind::Json) => format!(
                "json_array_elements_text(case json_typeof({c}) when 'array' then {c} else \
                 json_build_array({c}) end)"
            ),
            _ => return (format!("{table} t"), c),
        };
        (
            format!("(select {c} from {table} t where {c} is not null) t, {entries} e"),
            "cast(e.value as text)".to_owned(),
        )
    }

    /// The words that turn a query into one for its plan.
    pub(in crate::db) const fn explain(self) -> &'static str {
        match self {
            Self::Sqlite => "explain query plan",
            Self::Postgres => "explain (costs off)",
        }
    }

    /// Names of all tables and views, without the engine's own.
    pub(in crate::db) const fn tables(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "select name from sqlite_schema where type in ('table', 'view') and name not like \
                 'sqlite!_%' escape '!' order by name"
            }
            Self::Postgres => {
                "select cast(c.relname as text) from pg_class c join pg_namespace n on n.oid = \
                 c.relnamespace \
                 where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v', 'm', 'f') \
                 order by c.relname"
            }
        }
    }

    /// The behaviour of a column whose type the engine calls `native`.
    pub(in crate::db) fn kind(self, native: &str) -> Kind {
        let lower = native.to_ascii_lowercase();
        match self {
            Self::Sqlite => sqlite_kind(&lower),
            Self::Postgres => postgres_kind(&lower),
        }
    }

    /// The type for casts before values are written or compared; empty for text, which needs none.
    /// In a cast, `character` and `bit` without a length have the length 1.
    pub(in crate::db) fn cast_type(self, native: &str) -> String {
        match (self, native) {
            (Self::Sqlite, _) | (_, "text" | "character varying") => String::new(),
            (_, "character") => PADDED.to_owned(),
            (_, "character[]") => format!("{PADDED}[]"),
            (_, "bit") => "bit varying".to_owned(),
            (_, "bit[]") => "bit varying[]".to_owned(),
            (Self::Postgres, other) => other.to_owned(),
        }
    }

    /// The engine's type for a declared column.
    pub(crate) fn declared_type(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (_, Kind::Text | Kind::Password) => "TEXT",
            (Self::Sqlite, Kind::Integer | Kind::Boolean) => "INTEGER",
            (Self::Sqlite, Kind::Double | Kind::Decimal) => "REAL",
            (Self::Sqlite, Kind::Binary) => "BLOB",
            (Self::Sqlite, _) => "TEXT",
            (Self::Postgres, Kind::Integer) => "BIGINT",
            (Self::Postgres, Kind::Boolean) => "BOOLEAN",
            (Self::Postgres, Kind::Double) => "DOUBLE PRECISION",
            (Self::Postgres, Kind::Decimal) => "NUMERIC",
            (Self::Postgres, Kind::Date) => "DATE",
            (Self::Postgres, Kind::Time) => "TIME",
            (Self::Postgres, Kind::DateTime) => "TIMESTAMP WITH TIME ZONE",
            (Self::Postgres, Kind::Json) => "JSON",
            (Self::Postgres, Kind::Binary) => "BYTEA",
        }
    }

    /// The type for casts to a declared column, as `cast_type` gives it for adopted
    /// ones.
    pub(crate) fn declared_cast(self, kind: Kind) -> String {
        self.cast_type(&self.declared_type(kind).to_ascii_lowercase())
    }

    /// `create table` for a declared table: an `id` that counts up, then `columns`, each with the
    /// rest of its definition.
    pub(crate) fn create_table(self, table: &str, columns: &[(Col, String)]) -> String {
        let mut lines = vec![format!("\"id\" {}", self.fill("{{id}}"))];
        lines.extend(columns.iter().map(|(col, rest)| {
            format!("{} {}{rest}", quote(col.name), self.declared_type(col.kind))
        }));
        format!("create table {} ({}) {}", quote(table), lines.join(", "), self.fill("{{strict}}"))
    }

    /// A value as a literal in the definition of a column.
    pub(crate) fn literal(self, value: &serde_json::Value) -> String {
        match (self, value) {
            (_, serde_json::Value::String(text)) => format!("'{}'", text.replace('\'', "''")),
            (Self::Sqlite, serde_json::Value::Bool(b)) => i32::from(*b).to_string(),
            (_, other) => other.to_string(),
        }
    }

    /// Makes the next generated id larger than all present ones, after rows were inserted with ids,
    /// and larger than `ahead`. SQLite does the first by itself.
    pub(crate) fn advance_id(self, table: &str, key: &str, ahead: Option<i64>) -> Option<String> {
        let name = |text: &str| text.replace('\'', "''");
        match self {
            Self::Sqlite => ahead.map(|id| {
                let table = name(table);
                format!(
                    "update sqlite_sequence set seq = {id} where name = '{table}' and seq < {id}"
                )
            }),
            Self::Postgres => {
                let (t, k, least) = (quote(table), quote(key), ahead.unwrap_or(1));
                Some(format!(
                    "select cast(setval(s, greatest((select max({k}) from {t}), (select \
                     last_value from pg_sequences \
                     where schemaname = current_schema() and format('%I.%I', schemaname, \
                     sequencename) = cast(s as text) \
                     or format('%I', sequencename) = cast(s as text) limit 1), {least})) as text) \
                     from (select cast(pg_get_serial_sequence('{}', '{}') as regclass) as s) q \
                     where s is not null",
                    name(&t),
                    name(key)
                ))
            }
        }
    }
}

fn sqlite_kind(native: &str) -> Kind {
    let has = |word: &str| native.contains(word);
    if has("bool") || native == "bit" {
        Kind::Boolean
    } else if has("datetime") || has("timestamp") {
        Kind::DateTime
    } else if has("date") {
        Kind::Date
    } else if native == "time" || (native.starts_with("time ") && !has("with time zone")) {
        Kind::Time
    } else if has("json") {
        Kind::Json
    } else if has("int") {
        Kind::Integer
    } else if has("dec") || has("numeric") || has("money") || has("number") {
        Kind::Decimal
    } else if has("real") || has("floa") || has("doub") {
        Kind::Double
    } else if has("blob") || has("image") || has("binary") {
        Kind::Binary
    } else {
        Kind::Text
    }
}

fn postgres_kind(native: &str) -> Kind {
    match native {
        "smallint" | "integer" | "bigint" => Kind::Integer,
        "numeric" => Kind::Decimal,
        "double precision" | "real" => Kind::Double,
        "boolean" => Kind::Boolean,
        "date" => Kind::Date,
        // With an offset it is no time of day, but text.
        "time without time zone" => Kind::Time,
        "timestamp without time zone" | "timestamp with time zone" => Kind::DateTime,
        "json" | "jsonb" => Kind::Json,
        "bytea" => Kind::Binary,
        array if array.ends_with("[]") => Kind::Json,
        _ => Kind::Text,
    }
}
