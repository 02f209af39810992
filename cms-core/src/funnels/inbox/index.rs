//! What searches and counts of the inbox are read from, kept in the background: visitors do not
//! wait for it, and until then reads look at what came lately too. Each engine has its own words
//! for what counts submissions, and what finds a text in them.
//!
//! SQLite has one writer, so its triggers add up in place; its index of trigrams costs a commit too
//! much, so submissions that were written lately stand on a list until they rest, and searches read
//! that list too. On PostgreSQL visitors write at the same time: triggers only append, and the
//! index keeps itself.

use crate::{
    Actor, Millis, Result,
    db::{Dialect, PerEngine, args},
    funnels::Funnels,
};

/// A submission is taken into the index once its visitor has rested so long: a visit changes its
/// texts with every step.
const REST: Millis = 120_000;
/// Submissions that go into the index together.
const BATCH_SIZE: i64 = 500;
/// Appended counts are added up once there are more.
const APPENDED: i64 = 1_000;

impl Funnels {
    /// Takes submissions that rest into the index of searches, and adds up counts.
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

    /// The statements that make the index of searches; None: it is there.
    pub(crate) async fn missing_search_index(&self) -> Result<Option<&'static str>> {
        let (db, dialect) = (self.0.base.db(), self.0.base.db().dialect());
        let Some(ask) = dialect.of(&HAS_INDEX) else { return Ok(None) };
        let (there,): (bool,) = db.one(ask, args![]).await?;
        Ok(dialect.of(&MAKE_INDEX).filter(|_| !there))
    }

    /// Returns how many submissions were seen to.
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

/// What a search looks at, in lower case as far as it is ASCII. `$of` is the row.
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

/// Keeps SQLite's index of searches.
#[derive(Clone, Copy)]
pub(super) struct Indexing {
    /// Up to `$2` submissions that are gone, or rest since `$1`, and that the index does not hold
    /// as they are.
    pub(super) late: &'static str,
    /// Takes those of the JSON array `$1` out of the index.
    pub(super) forget: &'static str,
    /// Adds them as they are now.
    pub(super) add: &'static str,
    /// Takes them off the list.
    pub(super) done: &'static str,
    /// From here on what is taken out of the index is overwritten there, which takes a hundred
    /// times as long; and no longer.
    pub(super) overwrite: [&'static str; 2],
}

/// None: the index of searches keeps itself.
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

/// Adds up what was appended to the counts of the inbox, once there are more than `$1` rows. None:
/// they are added up in place.
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

/// Whether there is an index of searches. None: there always is.
pub(super) const HAS_INDEX: PerEngine<Option<&str>> = PerEngine {
    sqlite: None,
    postgres: Some("select to_regclass('cms_formfunnel_submissions_search') is not null"),
};

/// Makes the index of searches, by hand. None: there always is one.
const MAKE_INDEX: PerEngine<Option<&str>> = PerEngine {
    sqlite: None,
    postgres: Some(concat!(
        "create extension if not exists pg_trgm; CREATE INDEX cms_formfunnel_submissions_search \
         ON cms_formfunnel_submissions USING gin (",
        text!(postgres, ""),
        " gin_trgm_ops)"
    )),
};

/// Up to `$3` submissions that hold the text `$2`, and perhaps some that do not. `$1` is what
/// [`sought`] makes of the text.
pub(super) const FOUND_BY_INDEX: PerEngine<&str> = PerEngine {
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
pub(super) const FOUND_AMONG_NEWEST: PerEngine<&str> = PerEngine {
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

/// A text of three characters or more, as the index takes it.
pub(super) fn sought(dialect: Dialect, text: &str) -> String {
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
            assert_eq!(sought(Dialect::Sqlite, text), sqlite);
            assert_eq!(sought(Dialect::Postgres, text), postgres);
        }
        assert!(trigrams(&"abcdefghij".repeat(20)).len() < 400);
    }
    /// PostgreSQL takes the index only for the expression that it was made with.
    #[test]
    fn the_schema_indexes_what_searches_look_at() {
        let [_, _, (token, index), _] = cms_migrations::POSTGRES;
        assert_eq!(token, "{{inbox_search}}");
        assert!(index.contains(text!(postgres, "")), "{index}");
    }
}
