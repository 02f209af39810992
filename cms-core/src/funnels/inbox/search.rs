//! How a text is searched for. A text of three characters or more is looked up in an index first.
//! If the index finds few submissions, only these are read; if it finds many, a page is soon full,
//! whatever its order. Shorter texts, and all texts if the engine has no index, are searched for
//! among the newest submissions only.
//!
//! Background work brings the search index and the counts of the inbox up to date, so that visitors
//! do not wait; until then, reads also look at recent submissions. Each engine has its own
//! statements that count submissions and that find a text in them.
//!
//! SQLite has one writer, so its triggers add up counts in place. Its trigram index would make
//! commits too expensive, so recently written submissions are on a list until they rest, and
//! searches read that list too. On PostgreSQL visitors write at the same time, so triggers only
//! append counts; the engine maintains the index.

use super::sql;
use crate::{
    Actor, Millis, Result,
    change::Reader,
    db::{Dialect, PerEngine, Value, args},
    funnels::Funnels,
    items::{Query, Within},
};

/// Up to this number, the found submissions are few.
const FEW: i64 = 5_000;
/// Hits are dense if at least one in this many submissions holds the text.
const ONE_IN: i64 = 4;
/// Minimum characters of a text that the index looks up.
const INDEXED: usize = 3;
/// Number of newest submissions that are searched without an index.
const NEWEST: i64 = 50_000;

/// A query, with the submissions in which its text is looked for.
pub(super) struct NarrowedQuery {
    /// The query, restricted to the found submissions if these are few.
    pub(super) query: Query,
    pub(super) hits: Hits,
}

/// How the submissions that hold the text are spread among all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hits {
    /// No text is searched for, or the query names the submissions.
    Narrow,
    /// The index found many, close together: a read in any order soon finds enough.
    Dense,
    /// The index found many, far apart: a read of all of them uses the index.
    Sparse,
}

impl Hits {
    /// Judges by the submissions that the index found first: old ones, with which counting begins.
    fn of(found: &[(i64,)]) -> Self {
        let ids = || found.iter().map(|(id,)| *id);
        let span = ids().max().unwrap_or_default() - ids().min().unwrap_or_default();
        match span <= ONE_IN * FEW {
            true => Self::Dense,
            false => Self::Sparse,
        }
    }
}

/// The statement that finds, by the index, all submissions that may hold a text; with its values.
pub(super) fn index_statement(dialect: Dialect, text: &str) -> (&'static str, Vec<Value>) {
    let text = text.to_ascii_lowercase();
    (dialect.of(&FOUND_BY_INDEX), args![index_pattern(dialect, &text), text, i64::MAX])
}

async fn has_index(from: &mut Reader<'_>) -> Result<bool> {
    let Some(ask) = from.dialect().of(&HAS_INDEX) else { return Ok(true) };
    Ok(from.all::<(bool,)>(ask, args![]).await?.contains(&(true,)))
}

/// Restricts a query to the submissions in which its text is looked for.
pub(super) async fn narrow(from: impl Into<Reader<'_>>, query: &Query) -> Result<NarrowedQuery> {
    let mut from = from.into();
    let Some(text) = &query.search else {
        return Ok(NarrowedQuery { query: query.clone(), hits: Hits::Narrow });
    };
    let (text, dialect) = (text.to_ascii_lowercase(), from.dialect());
    let indexed = text.chars().count() >= INDEXED && has_index(&mut from).await?;
    let found: Vec<(i64,)> = if indexed {
        let args = args![index_pattern(dialect, &text), text, FEW + 1];
        from.all(dialect.of(&FOUND_BY_INDEX), args).await?
    } else {
        from.all(dialect.of(&FOUND_AMONG_NEWEST), args![text, NEWEST, FEW + 1]).await?
    };
    let (within, hits) = if found.len() as i64 <= FEW {
        let keys = found.into_iter().map(|(id,)| id).collect();
        (Some(Within::Keys(keys)), Hits::Narrow)
    } else if indexed {
        (None, Hits::of(&found))
    } else {
        let oldest: Vec<(i64,)> = from.all(sql::NEWEST, args![NEWEST]).await?;
        (Some(Within::From(oldest.first().map_or(0, |(id,)| *id))), Hits::Narrow)
    };
    Ok(NarrowedQuery { query: Query { within, ..query.clone() }, hits })
}

/// How long a visitor must rest before the submission is indexed: a visit changes its texts
/// with every step.
const REST: Millis = 120_000;
/// Number of submissions that are indexed in one change.
const BATCH_SIZE: i64 = 500;
/// Appended counts are added up once there are more rows than this.
const APPENDED: i64 = 1_000;

impl Funnels {
    /// Adds submissions that rest to the search index, and adds up counts.
    ///
    /// # Errors
    /// As every write. What was committed stays.
    pub async fn tend_inbox(&self) -> Result<()> {
        let base = &self.0.base;
        if let Some(sum) = base.db().dialect().of(&SUM_COUNTS) {
            let mut change = base.change(Actor::System).await?;
            change.run(sum, args![APPENDED]).await?;
            change.commit().await?;
        }
        let rested = base.clock().now().saturating_sub(REST);
        while self.index(rested).await? == BATCH_SIZE {}
        Ok(())
    }

    /// The statements that make the search index, whatever the `search_path` of who runs them;
    /// None: the index exists.
    pub(crate) async fn missing_search_index(&self) -> Result<Option<String>> {
        let (db, dialect) = (self.0.base.db(), self.0.base.db().dialect());
        let both = dialect.of(&HAS_INDEX).zip(dialect.of(&MAKE_INDEX));
        let Some((ask, [place, make])) = both else { return Ok(None) };
        if let (true,) = db.one(ask, args![]).await? {
            return Ok(None);
        }
        let (place,): (String,) = db.one(place, args![]).await?;
        Ok(Some(format!("{place}; {make}")))
    }

    /// Indexes a batch of submissions. Returns how many.
    async fn index(&self, rested: Millis) -> Result<i64> {
        let base = &self.0.base;
        let Some(indexing) = base.db().dialect().of(&INDEXING) else { return Ok(0) };
        let mut change = base.change(Actor::System).await?;
        let late: Vec<(i64,)> = change.all(indexing.late, args![rested, BATCH_SIZE]).await?;
        if late.is_empty() {
            return Ok(0);
        }
        let ids: Vec<i64> = late.into_iter().map(|(id,)| id).collect();
        let keys = serde_json::json!(ids).to_string();
        for step in [indexing.forget, indexing.add, indexing.done] {
            change.run(step, args![keys.clone()]).await?;
        }
        change.commit().await?;
        Ok(ids.len() as i64)
    }
}

/// The text that a search looks at, with ASCII letters in lower case. `$of` is the row.
macro_rules! text {
    ($engine:ident, $of:literal) => {
        text!(
            $engine, $of, "contact_name", "contact_email", "contact_phone", "company", "summary",
            "reference"
        )
    };
    (sqlite, $of:literal, $first:literal $(, $next:literal)*) => {
        concat!(
            "lower(coalesce(", $of, $first, ", '')",
            $(" || char(10) || coalesce(", $of, $next, ", '')",)* ")"
        )
    };
    (postgres, $of:literal, $first:literal $(, $next:literal)*) => {
        concat!(
            "lower((coalesce(", $of, $first, ", '')",
            $(" || E'\\n' || coalesce(", $of, $next, ", '')",)* ") collate \"C\")"
        )
    };
}

/// The statements that maintain SQLite's search index.
#[derive(Clone, Copy)]
pub(super) struct Indexing {
    /// Up to `$2` submissions on the list that are gone, or rest since `$1`: the index does not
    /// hold them as they are.
    pub(super) late: &'static str,
    /// Takes the submissions of the JSON array `$1` out of the index.
    pub(super) forget: &'static str,
    /// Adds them as they are now.
    pub(super) add: &'static str,
    /// Takes them off the list.
    pub(super) done: &'static str,
    /// Switches secure deletion on, then off: removed texts are overwritten in the index, which
    /// takes a hundred times as long.
    pub(super) overwrite: [&'static str; 2],
}

/// None: the engine maintains the search index.
pub(super) const INDEXING: PerEngine<Option<Indexing>> = PerEngine {
    sqlite: Some(Indexing {
        late: "select l.submission_id from cms_formfunnel_search_late l \
               left join cms_formfunnel_submissions s on s.id = l.submission_id \
               where s.id is null or s.last_activity_at <= $1 \
               order by l.submission_id limit $2",
        forget: "delete from cms_formfunnel_search \
                 where rowid in (select value from json_each($1))",
        add: concat!(
            "insert into cms_formfunnel_search (rowid, text) select s.id, ",
            text!(sqlite, "s."),
            " from cms_formfunnel_submissions s \
             where s.id in (select value from json_each($1))"
        ),
        done: "delete from cms_formfunnel_search_late \
               where submission_id in (select value from json_each($1))",
        overwrite: [
            "insert into cms_formfunnel_search (cms_formfunnel_search, rank) \
             values ('secure-delete', 1)",
            "insert into cms_formfunnel_search (cms_formfunnel_search, rank) \
             values ('secure-delete', 0)",
        ],
    }),
    postgres: None,
};

/// Adds up the appended counts of the inbox, once there are more than `$1` rows. None: triggers
/// add them up in place.
const SUM_COUNTS: PerEngine<Option<&str>> = PerEngine {
    sqlite: None,
    postgres: Some(
        "with gone as (delete from cms_formfunnel_counts where ctid = any (array(select ctid from \
         cms_formfunnel_counts where (select count(*) from cms_formfunnel_counts) > $1)) \
         returning funnel_id, inbox_status, n) \
         insert into cms_formfunnel_counts select funnel_id, inbox_status, sum(n) \
         from gone group by funnel_id, inbox_status having sum(n) <> 0",
    ),
};

/// Whether the search index exists. None: it always does.
const HAS_INDEX: PerEngine<Option<&str>> = PerEngine {
    sqlite: None,
    postgres: Some(
        "select to_regclass(quote_ident(current_schema()) || \
         '.cms_formfunnel_submissions_search') is not null",
    ),
};

/// Selects the statements that make the extension where it is missing and set `search_path`, and
/// makes the search index; administrators run both by hand. None: the index always exists.
const MAKE_INDEX: PerEngine<Option<[&str; 2]>> = PerEngine {
    sqlite: None,
    postgres: Some([
        "select case when e.oid is null then 'create schema if not exists public; create \
         extension pg_trgm with schema public; ' else '' end || format('set search_path to %I, \
         %I', current_schema(), coalesce(n.nspname, 'public')) from (select 1) one left join \
         pg_extension e on e.extname = 'pg_trgm' left join pg_namespace n on n.oid = \
         e.extnamespace",
        concat!(
            "CREATE INDEX cms_formfunnel_submissions_search ON cms_formfunnel_submissions USING \
             gin (",
            text!(postgres, ""),
            " gin_trgm_ops)"
        ),
    ]),
};

/// Up to `$3` submissions that hold the text `$2`, and perhaps some that do not. `$1` is the
/// result of [`index_pattern`] for the text.
const FOUND_BY_INDEX: PerEngine<&str> = PerEngine {
    sqlite: concat!(
        "select id from (select rowid as id from cms_formfunnel_search \
         where cms_formfunnel_search match $1 limit $3) union \
         select id from (select s.id from cms_formfunnel_search_late l \
         cross join cms_formfunnel_submissions s where s.id = l.submission_id and instr(",
        text!(sqlite, "s."),
        ", $2) > 0 limit $3)"
    ),
    postgres: concat!(
        "select s.id from cms_formfunnel_submissions s where ",
        text!(postgres, "s."),
        " like $1 and strpos(",
        text!(postgres, "s."),
        ", $2) > 0 limit $3"
    ),
};

/// Up to `$3` submissions that hold the text `$1`, among the `$2` newest.
const FOUND_AMONG_NEWEST: PerEngine<&str> = PerEngine {
    sqlite: concat!(
        "select id from (select s.id, ",
        text!(sqlite, "s."),
        " as text from cms_formfunnel_submissions s order by s.id desc limit $2) n \
         where instr(n.text, $1) > 0 limit $3"
    ),
    postgres: concat!(
        "select id from (select s.id, ",
        text!(postgres, "s."),
        " as text from cms_formfunnel_submissions s order by s.id desc limit $2) n \
         where strpos(n.text, $1) > 0 limit $3"
    ),
};

/// A text of three characters or more, in the form that the index looks up.
fn index_pattern(dialect: Dialect, text: &str) -> String {
    match dialect {
        Dialect::Sqlite => trigrams(text),
        Dialect::Postgres => {
            let escaped = text.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
            format!("%{escaped}%")
        }
    }
}

/// The parts of three characters that a row must have to hold the text.
fn trigrams(text: &str) -> String {
    const MOST: usize = 32;
    let characters: Vec<char> = text.chars().collect();
    let mut parts: Vec<String> = Vec::new();
    for part in characters.windows(3) {
        let quoted = format!("\"{}\"", part.iter().collect::<String>().replace('"', "\"\""));
        if parts.len() < MOST && !parts.contains(&quoted) {
            parts.push(quoted);
        }
    }
    parts.join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_sought_as_it_is() {
        for (text, sqlite, postgres) in [
            ("ada", "\"ada\"", "%ada%"),
            ("öl@x", "\"öl@\" AND \"l@x\"", "%öl@x%"),
            ("aaaa", "\"aaa\"", "%aaaa%"),
            ("a\"%_\\", "\"a\"\"%\" AND \"\"\"%_\" AND \"%_\\\"", "%a\"\\%\\_\\\\%"),
        ] {
            assert_eq!(index_pattern(Dialect::Sqlite, text), sqlite);
            assert_eq!(index_pattern(Dialect::Postgres, text), postgres);
        }
        assert!(trigrams(&"abcdefghij".repeat(20)).len() < 400);
    }
    /// PostgreSQL takes the index only for the expression that it was made with.
    #[test]
    fn the_schema_indexes_what_searches_look_at() {
        let [_, _, (token, index), ..] = cms_migrations::POSTGRES;
        assert_eq!(token, "{{inbox_search}}");
        assert!(index.contains(text!(postgres, "")), "{index}");
    }
}
