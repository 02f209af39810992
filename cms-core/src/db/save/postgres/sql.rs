//! Queries of PostgreSQL's catalogs. The functions `pg_get_…` leave the schema out of names that
//! `search_path` finds, so that the answers fit any schema.

pub(super) const SNAPSHOT: &str = "begin isolation level repeatable read read only; \
     set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0";

pub(super) const NAME: &str = "select cast(current_schema() as text)";

pub(super) const PATH: &str = "select current_setting('search_path')";

pub(super) const HAS: &str = "select exists (select 1 from pg_namespace where nspname = $1)";

pub(super) const SCHEMAS: &str = "select cast(n.nspname as text) from pg_namespace n join pg_roles \
     r on r.oid = n.nspowner where r.rolname = current_user and starts_with(n.nspname, $1)";

/// The schema in use.
macro_rules! here {
    () => {
        "(select n.oid from pg_namespace n where n.nspname = current_schema())"
    };
}

/// Whether an object belongs to no extension.
macro_rules! own {
    ($catalog:literal, $oid:literal) => {
        concat!(
            " not exists (select 1 from pg_depend x where x.classid = cast('",
            $catalog,
            "' as regclass) and x.objid = ",
            $oid,
            " and x.deptype = 'e') "
        )
    };
}

pub(super) const TABLES: &str = concat!(
    "select cast(c.relname as text), array(select cast(a.attname as text) from pg_attribute a \
     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' \
     order by a.attnum) from pg_class c where c.relkind = 'r' and c.relnamespace = ",
    here!(),
    " and",
    own!("pg_class", "c.oid"),
    "order by c.relname"
);

pub(super) const BYTES: &str = concat!(
    "select cast(coalesce(sum(pg_table_size(c.oid)), 0) as bigint) from pg_class c where \
     c.relkind = 'r' and c.relnamespace = ",
    here!()
);

/// Tables that cannot be saved in an archive: partitions, children, foreign tables and the like.
pub(super) const FOREIGN: &str = concat!(
    "select cast(c.relname as text) || case when c.relkind = 'f' then ' is a foreign table' \
     when c.relkind = 'm' then ' is a materialized view' when c.relkind = 'p' or \
     c.relispartition then ' is partitioned' when c.relrowsecurity then ' has policies for rows' \
     else ' inherits from a table' end \
     from pg_class c where c.relnamespace = ",
    here!(),
    " and",
    own!("pg_class", "c.oid"),
    "and (c.relkind in ('f', 'm', 'p') or c.relkind = 'r' and (c.relispartition or \
     c.relrowsecurity or exists (select 1 from pg_inherits i where i.inhrelid = c.oid))) \
     order by c.relname"
);

/// Other objects that cannot be saved in an archive, such as aggregates, collations, operators and
/// rules. Extensions are no part of an archive.
pub(super) const UNSAVED: &str = concat!(
    "select case p.prokind when 'a' then 'aggregate ' || cast(p.oid as regprocedure) else \
     pg_describe_object(d.classid, d.objid, 0) end from pg_depend d left join pg_type t on \
     d.classid = cast('pg_type' as regclass) and t.oid = d.objid left join pg_proc p on d.classid \
     = cast('pg_proc' as regclass) and p.oid = d.objid where d.refclassid = cast('pg_namespace' as \
     regclass) and d.deptype = 'n' and d.classid not in (cast('pg_class' as regclass), \
     cast('pg_extension' as regclass)) and coalesce(t.typtype not in ('e', 'd', 'm'), true) and \
     coalesce(p.prokind not in ('f', 'p'), true) and not exists (select 1 from pg_depend x where \
     x.classid = d.classid and x.objid = d.objid and x.deptype = 'e') and d.refobjid = ",
    here!(),
    " union all select pg_describe_object(cast('pg_rewrite' as regclass), r.oid, 0) from \
     pg_rewrite r join pg_class c on c.oid = r.ev_class where r.rulename <> '_RETURN' and \
     c.relnamespace = ",
    here!(),
    " and",
    own!("pg_class", "c.oid"),
    "order by 1"
);

/// What refers to an object of another schema: of `$1`, or of one that is not in `search_path`.
/// Objects of extensions are left out.
pub(super) const OUTSIDE: &str = concat!(
    "with here (oid) as ",
    here!(),
    ", mine (kind, id) as (select cast('pg_class' as regclass), c.oid from pg_class c, here where \
     c.relnamespace = here.oid union all select cast('pg_type' as regclass), t.oid from pg_type t, \
     here where t.typnamespace = here.oid union all select cast('pg_proc' as regclass), p.oid from \
     pg_proc p, here where p.pronamespace = here.oid union all select cast('pg_constraint' as \
     regclass), k.oid from pg_constraint k, here where k.connamespace = here.oid union all select \
     cast('pg_rewrite' as regclass), r.oid from pg_rewrite r join pg_class c on c.oid = \
     r.ev_class, here where c.relnamespace = here.oid union all select cast('pg_attrdef' as \
     regclass), f.oid from pg_attrdef f join pg_class c on c.oid = f.adrelid, here where \
     c.relnamespace = here.oid union all select cast('pg_trigger' as regclass), g.oid from \
     pg_trigger g join pg_class c on c.oid = g.tgrelid, here where not g.tgisinternal and \
     c.relnamespace = here.oid) select distinct pg_describe_object(d.classid, d.objid, d.objsubid) \
     || ' refers to ' || o.identity from mine join pg_depend d on d.classid = mine.kind and \
     d.objid = mine.id cross join lateral pg_identify_object(d.refclassid, d.refobjid, 0) o where \
     o.type <> 'index' and o.schema not in ('pg_catalog', 'information_schema', 'pg_toast') and \
     (o.schema = $1 or o.schema <> all (cast(current_schemas(false) as text[]))) and not exists \
     (select 1 from pg_depend x where x.deptype = 'e' and (x.classid = d.refclassid and x.objid = \
     d.refobjid or exists (select 1 from pg_depend y where y.classid = d.refclassid and y.objid = \
     d.refobjid and y.deptype = 'i' and x.classid = y.refclassid and x.objid = y.refobjid))) \
     order by 1"
);

pub(super) const ENUMS: &str = concat!(
    "select 'create type ' || quote_ident(t.typname) || ' as enum (' || (select \
     string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder) from pg_enum e where \
     e.enumtypid = t.oid) || ')' from pg_type t where t.typtype = 'e' and t.typnamespace = ",
    here!(),
    " and",
    own!("pg_type", "t.oid"),
    "order by t.oid"
);

pub(super) const DOMAINS: &str = concat!(
    "select 'create domain ' || quote_ident(t.typname) || ' as ' || format_type(t.typbasetype, \
     t.typtypmod) || case when t.typdefault is null then '' else ' default ' || \
     pg_get_expr(t.typdefaultbin, 0) end || case when t.typnotnull then ' not null' else '' end || \
     coalesce((select string_agg(' constraint ' || quote_ident(k.conname) || ' ' || \
     pg_get_constraintdef(k.oid), '' order by k.oid) from pg_constraint k where k.contypid = t.oid \
     and k.contype = 'c'), '') from pg_type t where t.typtype = 'd' and t.typnamespace = ",
    here!(),
    " and",
    own!("pg_type", "t.oid"),
    "order by t.oid"
);

/// What a sequence counts by, as `create sequence` and `as identity` say it.
macro_rules! counting {
    () => {
        "'increment by ' || s.seqincrement || ' minvalue ' || s.seqmin || ' maxvalue ' || s.seqmax \
         || ' start with ' || s.seqstart || ' cache ' || s.seqcache || case when s.seqcycle then \
         ' cycle' else '' end"
    };
}

/// Sequences, except those of identity columns, which come with their table.
pub(super) const SEQUENCES: &str = concat!(
    "select 'create sequence ' || quote_ident(c.relname) || ' as ' || format_type(s.seqtypid, \
     null) || ' ' || ",
    counting!(),
    " from pg_sequence s join pg_class c on c.oid = s.seqrelid where not exists (select 1 from \
     pg_depend i where i.classid = cast('pg_class' as regclass) and i.objid = c.oid and \
     i.deptype = 'i') and c.relnamespace = ",
    here!(),
    " and",
    own!("pg_class", "c.oid"),
    "order by c.oid"
);

/// Ties sequences to their columns: a dropped column takes its sequence along.
pub(super) const OWNED: &str = concat!(
    "select 'alter sequence ' || quote_ident(c.relname) || ' owned by ' || quote_ident(t.relname) \
     || '.' || quote_ident(a.attname) from pg_class c join pg_depend d on d.classid = \
     cast('pg_class' as regclass) and d.objid = c.oid and d.deptype = 'a' and d.refobjsubid > 0 \
     join pg_class t on t.oid = d.refobjid join pg_attribute a on a.attrelid = t.oid and a.attnum \
     = d.refobjsubid where c.relkind = 'S' and c.relnamespace = ",
    here!(),
    " and",
    own!("pg_class", "c.oid"),
    "order by c.oid"
);

/// The text of a function begins with its schema, which is cut off.
pub(super) const FUNCTIONS: &str = concat!(
    "select case p.prokind when 'p' then 'create procedure ' else 'create function ' end || \
     substr(f.text, position(f.schema in f.text) + length(f.schema)) from pg_proc p cross join \
     lateral (select pg_get_functiondef(p.oid) as text, quote_ident(current_schema()) || '.' as \
     schema) f where p.prokind in ('f', 'p') and p.pronamespace = ",
    here!(),
    " and",
    own!("pg_proc", "p.oid"),
    "order by p.oid"
);

/// Functions whose own `search_path` names the schema that they were made in.
pub(super) const BOUND: &str = concat!(
    "select case p.prokind when 'p' then 'procedure ' else 'function ' end || \
     quote_ident(p.proname) || '(' || pg_get_function_identity_arguments(p.oid) || ')' from \
     pg_proc p where p.prokind in ('f', 'p') and exists (select 1 from unnest(p.proconfig) g \
     where g like 'search_path=%') and p.pronamespace = ",
    here!(),
    " and",
    own!("pg_proc", "p.oid"),
    "order by p.oid"
);

pub(super) const CREATE: &str = concat!(
    "select 'create ' || case c.relpersistence when 'u' then 'unlogged ' else '' end || 'table ' \
     || quote_ident(c.relname) || ' (' || coalesce((select string_agg(quote_ident(a.attname) || \
     ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attcollation <> t.typcollation \
     then (select ' collate ' || quote_ident(n.nspname) || '.' || quote_ident(l.collname) from \
     pg_collation l join pg_namespace n on n.oid = l.collnamespace where l.oid = a.attcollation) \
     else '' end || case when a.attidentity <> '' then (select ' generated ' || case a.attidentity \
     when 'a' then 'always' else 'by default' end || ' as identity (' || ",
    counting!(),
    " || ')' from pg_depend i join pg_sequence s on s.seqrelid = i.objid where i.classid = \
     cast('pg_class' as regclass) and i.refobjid = c.oid and i.refobjsubid = a.attnum and \
     i.deptype = 'i') when a.attgenerated <> '' then ' generated always as (' || \
     pg_get_expr(d.adbin, d.adrelid) || ') ' || case a.attgenerated when 's' then 'stored' else \
     'virtual' end when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid) \
     else '' end || case when a.attnotnull then ' not null' else '' end, ', ' order by a.attnum) \
     from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_attrdef d on d.adrelid \
     = a.attrelid and d.adnum = a.attnum where a.attrelid = c.oid and a.attnum > 0 and not \
     a.attisdropped), '') || ')' || coalesce(' with (' || array_to_string(c.reloptions, ', ') || \
     ')', '') from pg_class c where c.relkind = 'r' and c.relnamespace = ",
    here!(),
    " and",
    own!("pg_class", "c.oid"),
    "order by c.oid"
);

macro_rules! constraints {
    ($kinds:literal) => {
        concat!(
            "select 'alter table ' || quote_ident(c.relname) || ' add constraint ' || \
             quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid) from pg_constraint k \
             join pg_class c on c.oid = k.conrelid where c.relkind = 'r' and k.contype in (",
            $kinds,
            ") and c.relnamespace = ",
            here!(),
            " and",
            own!("pg_class", "c.oid"),
            "order by position(k.contype in 'puxcf'), k.oid"
        )
    };
}

pub(super) const RULES: &str = constraints!("'p', 'u', 'x', 'c'");
pub(super) const REFERENCES: &str = constraints!("'f'");

macro_rules! indexes {
    ($columns:literal, $unique:literal) => {
        concat!(
            "select ",
            $columns,
            "pg_get_indexdef(i.indexrelid, 0, true) from pg_index i join pg_class c on c.oid = \
             i.indrelid join pg_class x on x.oid = i.indexrelid where c.relkind = 'r' and \
             i.indisvalid and ",
            $unique,
            "i.indisunique and not exists (select 1 from pg_constraint k where k.conindid = \
             i.indexrelid and k.contype in ('p', 'u', 'x')) and c.relnamespace = ",
            here!(),
            " and",
            own!("pg_class", "c.oid"),
            "order by i.indexrelid"
        )
    };
}

pub(super) const UNIQUE: &str = indexes!("", "");
pub(super) const INDEXES: &str = indexes!("cast(x.relname as text), ", "not ");

/// How a subscription tells rows of a table apart, where not by the primary key.
pub(super) const IDENTITIES: &str = concat!(
    "select 'alter table ' || quote_ident(c.relname) || ' replica identity ' || case \
     c.relreplident when 'f' then 'full' when 'n' then 'nothing' else 'using index ' || \
     quote_ident(x.relname) end from pg_class c left join pg_index i on i.indrelid = c.oid and \
     i.indisreplident left join pg_class x on x.oid = i.indexrelid where c.relkind = 'r' and \
     (c.relreplident in ('f', 'n') or c.relreplident = 'i' and x.oid is not null) and \
     c.relnamespace = ",
    here!(),
    " and",
    own!("pg_class", "c.oid"),
    "order by c.oid"
);

pub(super) const VIEWS: &str = concat!(
    "select 'create view ' || quote_ident(c.relname) || coalesce(' with (' || \
     array_to_string(c.reloptions, ', ') || ')', '') || ' as ' || pg_get_viewdef(c.oid, true) from \
     pg_class c where c.relkind = 'v' and c.relnamespace = ",
    here!(),
    " and",
    own!("pg_class", "c.oid"),
    "order by c.oid"
);

pub(super) const TRIGGERS: &str = concat!(
    "select pg_get_triggerdef(g.oid, true) || case g.tgenabled when 'O' then '' else '; alter \
     table ' || quote_ident(c.relname) || case g.tgenabled when 'D' then ' disable' when 'R' then \
     ' enable replica' else ' enable always' end || ' trigger ' || quote_ident(g.tgname) end from \
     pg_trigger g join pg_class c on c.oid = g.tgrelid where not g.tgisinternal and \
     c.relnamespace = ",
    here!(),
    " and",
    own!("pg_class", "c.oid"),
    "order by g.oid"
);

pub(super) const COUNTED: &str = concat!(
    "select cast(c.relname as text), cast(t.relname as text), cast(a.attname as text), \
     pg_sequence_last_value(c.oid) from pg_class c left join pg_depend d on d.classid = \
     cast('pg_class' as regclass) and d.objid = c.oid and d.deptype in ('a', 'i') and \
     d.refobjsubid > 0 left join pg_class t on t.oid = d.refobjid left join pg_attribute a on \
     a.attrelid = t.oid and a.attnum = d.refobjsubid where c.relkind = 'S' and c.relnamespace = ",
    here!(),
    " and",
    own!("pg_class", "c.oid"),
    "order by c.relname"
);

pub(super) const UNPROVED: &str = concat!(
    "select cast(k.conname as text) || ' of ' || cast(c.relname as text) from pg_constraint k join \
     pg_class c on c.oid = k.conrelid where not k.convalidated and c.relnamespace = ",
    here!(),
    " order by 1"
);

/// Sessions of programs with the same name and user.
pub(super) const OTHERS: &str = "select count(*) from pg_stat_activity o join pg_stat_activity m \
     on m.pid = pg_backend_pid() where o.pid <> m.pid and o.datid = m.datid and o.usesysid = \
     m.usesysid and o.application_name = m.application_name and o.backend_type = 'client backend'";

/// Moves tables first, with their indexes and sequences, then views. The order does not matter:
/// views refer to tables by number (`oid`).
pub(super) const MOVES: &str = concat!(
    "with n as (select oid from pg_namespace where nspname = $1), moved (place, text) as (\
     select 1, format('alter table %I.%I set schema %I', $1, c.relname, $2) from pg_class c, n \
     where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'f') and not c.relispartition and",
    own!("pg_class", "c.oid"),
    "union all select 2, format('alter %s %I.%I set schema %I', case c.relkind when 'v' then \
     'view' when 'm' then 'materialized view' else 'sequence' end, $1, c.relname, $2) from \
     pg_class c, n where c.relnamespace = n.oid and c.relkind in ('v', 'm', 'S') and not exists \
     (select 1 from pg_depend d where d.classid = cast('pg_class' as regclass) and d.objid = c.oid \
     and d.deptype in ('a', 'i') and d.refobjsubid > 0) and",
    own!("pg_class", "c.oid"),
    "union all select 3, format('alter %s %I.%I(%s) set schema %I', case p.prokind when 'p' then \
     'procedure' when 'a' then 'aggregate' else 'function' end, $1, p.proname, \
     pg_get_function_identity_arguments(p.oid), $2) from pg_proc p, n where p.pronamespace = n.oid \
     and",
    own!("pg_proc", "p.oid"),
    "union all select 4, format('alter %s %I.%I set schema %I', case t.typtype when 'd' then \
     'domain' else 'type' end, $1, t.typname, $2) from pg_type t, n where t.typnamespace = n.oid \
     and t.typtype in ('e', 'd') and",
    own!("pg_type", "t.oid"),
    ") select text from moved order by place"
);
