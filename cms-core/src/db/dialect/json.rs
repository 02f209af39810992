//! Rows as JSON, written by the engine: the same bytes from both.

use std::fmt::Write as _;

use super::{Col, Dialect, Kind, PADDED, quote};
use crate::db::Statement;

impl Dialect {
    /// The `from` item that yields the keys of the JSON array `$n` as rows `k`, and the
    /// expression of one key.
    pub(crate) fn keys(self, n: usize) -> (String, &'static str) {
        match self {
            Self::Sqlite => (format!("json_each(${n}) k"), "k.value"),
            Self::Postgres => (
                format!("json_array_elements_text(cast(${n} as json)) k (value)"),
                "cast(k.value as bigint)",
            ),
        }
    }

    /// A statement that ends with `in`, over the keys of the JSON array `$n`.
    pub(crate) fn among(self, statement: Statement, n: usize) -> String {
        let (from, one) = self.keys(n);
        format!("{} (select {one} from {from})", statement.sql())
    }

    /// The JSON object of a row: each member's name with the expression of its value.
    pub(crate) fn object(self, members: &[(&str, String)]) -> String {
        match self {
            Self::Sqlite => sqlite_object(members),
            Self::Postgres => {
                let members =
                    members.iter().map(|(name, value)| format!("{value} as {}", quote(name)));
                // `o.*` instead of `o`, because a column may be named o.
                format!(
                    "(select cast(row_to_json(o.*) as text) from (select {}) o)",
                    members.collect::<Vec<_>>().join(", ")
                )
            }
        }
    }

    /// A nested object as the value of a member. `query` returns the text of one object, or no row.
    pub(crate) fn nested(self, query: &str) -> String {
        match self {
            Self::Sqlite => format!("json(({query}))"),
            Self::Postgres => format!("cast(({query}) as json)"),
        }
    }

    /// A JSON array of expressions, as text: the position of a row in a sorted list.
    pub(crate) fn array(self, values: &[String]) -> String {
        match self {
            Self::Sqlite => format!("json_array({})", values.join(", ")),
            Self::Postgres => {
                // Functions take at most 100 arguments, an array any number.
                let values = values.iter().map(|v| format!("cast({v} as text)"));
                format!("cast(to_json(array[{}]) as text)", values.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The elements of the JSON array `$n` as rows `e`, each in the column `value`.
    pub(crate) fn elements(self, n: usize) -> String {
        match self {
            Self::Sqlite => format!("json_each(${n}) e"),
            Self::Postgres => format!("json_array_elements(cast(${n} as json)) e(value)"),
        }
    }

    /// The value of a column inside [`Dialect::array`]. [`Dialect::comparable`] reads it back
    /// without loss.
    pub(crate) fn placed(self, of: &str, col: Col) -> String {
        let e = self.compared(of, col);
        match (self, col.kind) {
            (Self::Sqlite, Kind::Binary) => format!("lower(hex({e}))"),
            (Self::Postgres, Kind::Binary) => format!("encode({e}, 'hex')"),
            // SQLite's JSON functions write only 15 digits of a double, no infinity, and no bytes.
            // Adopted columns may hold all of them.
            (Self::Sqlite, _) => format!(
                "case typeof({e}) when 'real' then case when {e} in (9e999, -9e999) then \
                 json_array(sign({e})) else json(format('%!.17g', {e})) end when 'blob' then \
                 json_array(lower(hex({e}))) else {e} end"
            ),
            _ => e,
        }
    }

    /// The JSON value of a column.
    pub(crate) fn member(self, of: &str, col: Col) -> String {
        let c = format!("{of}.{}", quote(col.name));
        match self {
            Self::Sqlite => sqlite_member(&c, col),
            Self::Postgres => postgres_member(&c, col),
        }
    }
}

/// Members of one call of `json_object`, which takes 1,000 arguments.
const MEMBERS: usize = 400;

/// Longer objects are joined from the texts of several, without the braces between them.
fn sqlite_object(members: &[(&str, String)]) -> String {
    let object = |members: &[(&str, String)]| {
        let members = members.iter().map(|(name, value)| format!("{}, {value}", literal(name)));
        format!("json_object({})", members.collect::<Vec<_>>().join(", "))
    };
    if members.len() <= MEMBERS {
        return object(members);
    }
    let inner = |part| format!("(select substr(j, 2, length(j) - 2) from (select {part} as j))");
    let parts: Vec<_> = members.chunks(MEMBERS).map(|part| inner(object(part))).collect();
    format!("('{{' || {} || '}}')", parts.join(" || ',' || "))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn postgres_member(c: &str, col: Col) -> String {
    match col.kind {
        Kind::Decimal => format!("trim_scale(cast({c} as numeric))"),
        // Minus zero is zero.
        Kind::Double => format!("case when {c} = 0 then 0 else {c} end"),
        Kind::DateTime => {
            let utc = if col.native.contains("without") {
                c.to_owned()
            } else {
                format!("{c} at time zone 'UTC'")
            };
            // `to_char` knows neither infinity nor years before Christ.
            format!(
                "case when isfinite({c}) and {utc} >= timestamp '0001-01-01' then \
                 rtrim(rtrim(to_char({utc}, 'YYYY-MM-DD\"T\"HH24:MI:SS.US'), '0'), '.') || 'Z' \
                 else cast({utc} as text) end"
            )
        }
        Kind::Json if col.native.ends_with("[]") => format!("to_json({c})"),
        Kind::Json => format!("cast({c} as json)"),
        Kind::Binary => format!("translate(encode({c}, 'base64'), chr(10), '')"),
        Kind::Integer | Kind::Boolean => c.to_owned(),
        // A cast would remove the padding of `character(n)`.
        Kind::Text if col.native == PADDED => c.to_owned(),
        Kind::Text | Kind::Date | Kind::Time | Kind::Password => format!("cast({c} as text)"),
    }
}

fn sqlite_member(c: &str, col: Col) -> String {
    let shown = sqlite_shown(c, col);
    let is_blob = match col.kind {
        _ if col.own => return shown,
        Kind::Boolean | Kind::Binary => return shown,
        // SQLite reads JSON from bytes too.
        Kind::Json => format!("typeof({c}) = 'blob' and not json_valid({c})"),
        _ => format!("typeof({c}) = 'blob'"),
    };
    // An adopted column may hold bytes, whatever its type.
    format!("case when {is_blob} then {} else {shown} end", sqlite_base64(c))
}

/// A value that is no bytes.
fn sqlite_shown(c: &str, col: Col) -> String {
    match col.kind {
        Kind::Boolean if col.own => {
            format!("json(case {c} when 1 then 'true' when 0 then 'false' end)")
        }
        Kind::Boolean => {
            format!("json(case {} when 1 then 'true' when 0 then 'false' end)", sqlite_boolean(c))
        }
        Kind::Double if col.own => sqlite_double(c),
        // Any text is greater than any number.
        Kind::Double => {
            format!("case typeof({c}) when 'text' then {c} else {} end", sqlite_double(c))
        }
        Kind::Decimal => sqlite_decimal(c),
        Kind::DateTime if col.own => format!("rtrim(rtrim(substr({c}, 1, 23), '0'), '.') || 'Z'"),
        Kind::DateTime => {
            // Numbers and other text stay as another program wrote them.
            let is_instant = format!("{c} glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'");
            let instant = sqlite_instant(c);
            format!(
                "case when typeof({c}) = 'text' and {is_instant} then {instant} || 'Z' else {c} end"
            )
        }
        Kind::Date if !col.own => {
            format!("case typeof({c}) when 'text' then substr({c}, 1, 10) else {c} end")
        }
        Kind::Json => format!("json(case when json_valid({c}) then {c} else json_quote({c}) end)"),
        Kind::Binary => sqlite_base64(c),
        _ if col.own => c.to_owned(),
        // An adopted column may hold a value of any type.
        _ => format!("case typeof({c}) when 'real' then {} else {c} end", sqlite_double(c)),
    }
}

/// The shortest text that reads back as the same double, from `format` with 15, 16 or 17 digits.
fn shortest(c: &str, conversion: &str, digits: [u8; 3]) -> String {
    let [a, b, z] = digits.map(|d| format!("format('%!.{d}{conversion}', {c})"));
    format!(
        "case when cast({a} as real) = {c} then {a} when cast({b} as real) = {c} then {b} else \
         {z} end"
    )
}

/// Writes doubles as PostgreSQL does: plain between 1e-4 and 1e15, `1.5e+300` outside.
fn sqlite_double(c: &str) -> String {
    let mut sql = format!("json(case when {c} is null then null when {c} = 0 then '0' ");
    let _ = write!(
        sql,
        "when {c} > 1.7976931348623157e308 then '\"Infinity\"' when {c} < -1.7976931348623157e308 \
         then '\"-Infinity\"' "
    );
    let plain = shortest(c, "g", [15, 16, 17]);
    let _ = write!(
        sql,
        "when abs({c}) >= 1e-4 and abs({c}) < 1e15 then (select case when s like '%.0' then \
         substr(s, 1, length(s) - 2) else s end from (select {plain} as s)) "
    );
    // Below the normal range doubles have fewer digits; 5e-324 has one.
    let few = format!(
        "(select format('%!.*e', p, {c}) from (with recursive d(p) as (select 0 union all select \
         p + 1 from d where p < 15) select p from d) where cast(format('%!.*e', p, {c}) as real) \
         = {c} order by p limit 1)"
    );
    let scientific = format!(
        "case when abs({c}) < 2.2250738585072014e-308 then {few} else {} end",
        shortest(c, "e", [14, 15, 16])
    );
    let _ = write!(
        sql,
        "else (select rtrim(rtrim(substr(s, 1, instr(s, 'e') - 1), '0'), '.') || substr(s, \
         instr(s, 'e')) from (select {scientific} as s)) end)"
    );
    sql
}

/// Writes decimals without exponent and trailing zeros.
fn sqlite_decimal(c: &str) -> String {
    let mut sql = format!(
        "json(case when typeof({c}) <> 'real' then case typeof({c}) when 'text' then \
         json_quote({c}) else {c} end when {c} = 0 then '0' "
    );
    let _ = write!(sql, "when abs({c}) >= 1e15 then format('%.0f', {c}) ");
    let _ = write!(
        sql,
        "when abs({c}) >= 1e-4 then (select case when s like '%.0' then substr(s, 1, length(s) - \
         2) else s end from (select format('%!.15g', {c}) as s)) "
    );
    let _ = write!(
        sql,
        "else (select case when {c} < 0 then '-' else '' end || '0.' || substr('{zeros}', 1, \
         -cast(substr(s, instr(s, 'e') + 1) as integer) - 1) || rtrim(replace(substr(s, 1, \
         instr(s, 'e') - 1), '.', ''), '0') from (select format('%!.14e', abs({c})) as s)) end)",
        zeros = "0".repeat(40)
    );
    sql
}

/// 1 or 0 from any form in which SQLite databases keep booleans.
pub(super) fn sqlite_boolean(c: &str) -> String {
    format!(
        "case when {c} is null then null when {c} = 0 or lower({c}) in ('f', 'false', '0') then 0 \
         else 1 end"
    )
}

/// `2026-11-21T09:30:00[.25]` from any form in which SQLite databases keep instants. Applies an
/// offset.
pub(super) fn sqlite_instant(c: &str) -> String {
    let tail = format!("substr({c}, 20)");
    format!(
        "case when length({c}) <= 10 then {c} || 'T00:00:00' \
         when length({c}) > 19 and ({tail} like '%+%' or {tail} like '%-%') then \
         strftime('%Y-%m-%dT%H:%M:%S', {c}) \
         else substr({c}, 1, 10) || 'T' || substr({c} || ':00', 12, 8) || \
         case when substr({c}, 20, 1) = '.' then rtrim(rtrim(rtrim({tail}, 'Zz'), '0'), '.') else \
         '' end end"
    )
}

/// RFC 4648 base64, three bytes at a time, because SQLite has no function for it.
fn sqlite_base64(c: &str) -> String {
    let letter = |shift: &str| {
        format!(
            "substr('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', \
             (({shift}) & 63) + 1, 1)"
        )
    };
    format!(
        "case when {c} is null then null else coalesce((with recursive g(i) as (select 1 where \
         octet_length({c}) > 0 union all \
         select i + 3 from g where i + 3 <= octet_length({c})) select group_concat({} || {} || \
         case when n > 1 then {} else '=' end || \
         case when n > 2 then {} else '=' end, '' order by i) from (select i, length(b) as n, \
         ('0x' || substr(hex(b) || '0000', 1, 6)) ->> '$' as v from (select i, substr(cast({c} as \
         blob), i, 3) as b from g))), '') end",
        letter("v >> 18"),
        letter("v >> 12"),
        letter("v >> 6"),
        letter("v"),
    )
}
