//! The inbox among a million submissions: what counts them, and what finds a text in them.
//!
//! SQLite has one writer, so its triggers add up in place; its index of trigrams costs a commit too
//! much, so submissions that were written lately stand on a list until they rest, and searches read
//! that list too. On PostgreSQL visitors write at the same time: triggers only append, and the
//! index keeps itself.

use super::Dialect;

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

/// PostgreSQL's index of searches.
macro_rules! postgres_index {
    ($operators:literal) => {
        concat!(
            "CREATE INDEX cms_formfunnel_submissions_search ON cms_formfunnel_submissions \
             USING gin (",
            text!(postgres, ""),
            " ",
            $operators,
            ")"
        )
    };
}

pub(super) const SQLITE_COUNTS: &str = "\
CREATE UNIQUE INDEX cms_formfunnel_counts_by_state
    ON cms_formfunnel_counts (funnel_id, inbox_status);
CREATE TRIGGER cms_formfunnel_counts_insert AFTER INSERT ON cms_formfunnel_submissions BEGIN
    INSERT INTO cms_formfunnel_counts VALUES (new.funnel_id, new.inbox_status, 1)
        ON CONFLICT (funnel_id, inbox_status) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER cms_formfunnel_counts_delete AFTER DELETE ON cms_formfunnel_submissions BEGIN
    INSERT INTO cms_formfunnel_counts VALUES (old.funnel_id, old.inbox_status, -1)
        ON CONFLICT (funnel_id, inbox_status) DO UPDATE SET n = n - 1;
END;
CREATE TRIGGER cms_formfunnel_counts_update
    AFTER UPDATE OF inbox_status ON cms_formfunnel_submissions
    WHEN old.inbox_status <> new.inbox_status BEGIN
    INSERT INTO cms_formfunnel_counts VALUES (old.funnel_id, old.inbox_status, -1)
        ON CONFLICT (funnel_id, inbox_status) DO UPDATE SET n = n - 1;
    INSERT INTO cms_formfunnel_counts VALUES (new.funnel_id, new.inbox_status, 1)
        ON CONFLICT (funnel_id, inbox_status) DO UPDATE SET n = n + 1;
END;";

/// Rows of visits that have answered nothing hold no text.
pub(super) const SQLITE_SEARCH: &str = "\
CREATE VIRTUAL TABLE cms_formfunnel_search
    USING fts5 (text, tokenize = 'trigram', detail = 'none', columnsize = 0);
CREATE TABLE cms_formfunnel_search_late (submission_id INTEGER PRIMARY KEY) STRICT;
INSERT INTO cms_formfunnel_search_late SELECT id FROM cms_formfunnel_submissions;
CREATE TRIGGER cms_formfunnel_search_insert AFTER INSERT ON cms_formfunnel_submissions
    WHEN new.summary <> '' OR coalesce(new.contact_name, new.contact_email, new.contact_phone,
        new.company, new.reference) IS NOT NULL BEGIN
    INSERT OR IGNORE INTO cms_formfunnel_search_late VALUES (new.id);
END;
CREATE TRIGGER cms_formfunnel_search_delete AFTER DELETE ON cms_formfunnel_submissions BEGIN
    INSERT OR IGNORE INTO cms_formfunnel_search_late VALUES (old.id);
END;
CREATE TRIGGER cms_formfunnel_search_update
    AFTER UPDATE OF contact_name, contact_email, contact_phone, company, summary, reference
    ON cms_formfunnel_submissions
    WHEN new.summary <> old.summary OR new.contact_name IS NOT old.contact_name
        OR new.contact_email IS NOT old.contact_email
        OR new.contact_phone IS NOT old.contact_phone OR new.company IS NOT old.company
        OR new.reference IS NOT old.reference BEGIN
    INSERT OR IGNORE INTO cms_formfunnel_search_late VALUES (new.id);
END;";

pub(super) const POSTGRES_COUNTS: &str = "\
CREATE FUNCTION cms_formfunnel_counted() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $body$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO cms_formfunnel_counts VALUES (OLD.funnel_id, OLD.inbox_status, -1);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO cms_formfunnel_counts VALUES (NEW.funnel_id, NEW.inbox_status, 1);
    END IF;
    RETURN NULL;
END $body$;
CREATE TRIGGER cms_formfunnel_counts_rows AFTER INSERT OR DELETE ON cms_formfunnel_submissions
    FOR EACH ROW EXECUTE FUNCTION cms_formfunnel_counted();
CREATE TRIGGER cms_formfunnel_counts_update
    AFTER UPDATE OF inbox_status ON cms_formfunnel_submissions
    FOR EACH ROW WHEN (OLD.inbox_status <> NEW.inbox_status)
    EXECUTE FUNCTION cms_formfunnel_counted();";

/// The extension may be refused, or lie in any schema; one that lay in this one would go with it.
pub(super) const POSTGRES_SEARCH: &str = concat!(
    "DO $body$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm') THEN
        CREATE EXTENSION pg_trgm WITH SCHEMA public;
    END IF;
    EXECUTE (SELECT format($index$",
    postgres_index!("%I.gin_trgm_ops"),
    "$index$, n.nspname)
        FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'pg_trgm');
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'searches of the inbox have no index: %', SQLERRM;
END $body$;"
);

/// Keeps SQLite's index of searches.
pub(crate) struct Indexing {
    /// Up to `$2` submissions that are gone, or rest since `$1`, and that the index does not hold
    /// as they are.
    pub(crate) late: &'static str,
    /// Takes those of the JSON array `$1` out of the index.
    pub(crate) forget: &'static str,
    /// Adds them as they are now.
    pub(crate) add: &'static str,
    /// Takes them off the list.
    pub(crate) done: &'static str,
    /// From here on what is taken out of the index is overwritten there, which takes a hundred
    /// times as long; and no longer.
    pub(crate) overwrite: [&'static str; 2],
}

impl Dialect {
    /// What keeps the index of searches. None: it keeps itself.
    pub(crate) const fn indexing(self) -> Option<Indexing> {
        match self {
            Self::Postgres => None,
            Self::Sqlite => Some(Indexing {
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
        }
    }

    /// Adds up what was appended to the counts of the inbox, once there are more than `$1` rows.
    /// None: they are added up in place.
    pub(crate) const fn sum_counts(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some(
                "with gone as (delete from cms_formfunnel_counts where ctid = any (array(select \
                 ctid from cms_formfunnel_counts where (select count(*) from \
                 cms_formfunnel_counts) > $1)) returning funnel_id, inbox_status, n) \
                 insert into cms_formfunnel_counts select funnel_id, inbox_status, sum(n) \
                 from gone group by funnel_id, inbox_status having sum(n) <> 0",
            ),
        }
    }

    /// Whether there is an index of searches. None: there always is.
    pub(crate) const fn has_search_index(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => {
                Some("select to_regclass('cms_formfunnel_submissions_search') is not null")
            }
        }
    }

    /// Makes the index of searches, by hand. None: there always is one.
    pub(crate) const fn search_index(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some(concat!(
                "create extension if not exists pg_trgm; ",
                postgres_index!("gin_trgm_ops")
            )),
        }
    }

    /// Up to `$3` submissions that hold the text `$2`, and perhaps some that do not. `$1` is what
    /// [`Dialect::sought`] makes of the text.
    pub(crate) const fn found_by_index(self) -> &'static str {
        match self {
            Self::Sqlite => concat!(
                "select id from (select rowid as id from cms_formfunnel_search \
                 where cms_formfunnel_search match $1 limit $3) union \
                 select id from (select s.id from cms_formfunnel_search_late l \
                 cross join cms_formfunnel_submissions s where s.id = l.submission_id and instr(",
                text!(sqlite, "s."),
                ", $2) > 0 limit $3)"
            ),
            Self::Postgres => concat!(
                "select s.id from cms_formfunnel_submissions s where ",
                text!(postgres, "s."),
                " like $1 and strpos(",
                text!(postgres, "s."),
                ", $2) > 0 limit $3"
            ),
        }
    }

    /// Up to `$3` submissions that hold the text `$1`, among the `$2` newest.
    pub(crate) const fn found_among_newest(self) -> &'static str {
        match self {
            Self::Sqlite => concat!(
                "select id from (select s.id, ",
                text!(sqlite, "s."),
                " as text from cms_formfunnel_submissions s order by s.id desc limit $2) n \
                 where instr(n.text, $1) > 0 limit $3"
            ),
            Self::Postgres => concat!(
                "select id from (select s.id, ",
                text!(postgres, "s."),
                " as text from cms_formfunnel_submissions s order by s.id desc limit $2) n \
                 where strpos(n.text, $1) > 0 limit $3"
            ),
        }
    }

    /// A text of three characters or more, as the index takes it.
    pub(crate) fn sought(self, text: &str) -> String {
        match self {
            Self::Sqlite => trigrams(text),
            Self::Postgres => {
                let escaped = text.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
                format!("%{escaped}%")
            }
        }
    }

    /// The keys of the JSON array `$n` as the row `k`, and the expression of one.
    pub(crate) fn keys(self, n: usize) -> (String, &'static str) {
        match self {
            Self::Sqlite => (format!("json_each(${n}) k"), "k.value"),
            Self::Postgres => (
                format!("json_array_elements_text(cast(${n} as json)) k (value)"),
                "cast(k.value as bigint)",
            ),
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
            assert_eq!(Dialect::Sqlite.sought(text), sqlite);
            assert_eq!(Dialect::Postgres.sought(text), postgres);
        }
        assert!(trigrams(&"abcdefghij".repeat(20)).len() < 400);
    }
}
