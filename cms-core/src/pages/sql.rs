//! Statements of the public reads.

use crate::db::{PerEngine, Statement, record, statements};

record! {
    /// A page, and one of its published versions.
    pub(super) struct PageRow: found_columns {
        pub(super) id: i64 = "p.id",
        pub(super) base_id: Option<i64> = "p.base_id",
        pub(super) language_short: String = "p.language_short",
        pub(super) parent_id: Option<i64> = "p.parent_id",
        pub(super) url_rewrite: String = "p.url_rewrite",
        pub(super) title: String = "p.title",
        pub(super) view: Option<String> = "p.view",
        pub(super) sort_order: i64 = "p.sort_order",
        pub(super) meta_title: Option<String> = "p.meta_title",
        pub(super) meta_description: Option<String> = "p.meta_description",
        pub(super) version_language: Option<String> = "v.language_short",
        pub(super) version_url: Option<String> = "v.url_rewrite",
        /// The frozen tree; set in one row only.
        pub(super) tree: Option<String> = "case when v.id = p.id or v.id is null then r.tree end",
    }
}

/// A page with its published versions. A page that SQL wrote may have no base and then is its
/// own base.
macro_rules! page {
    ($condition:expr) => {
        concat!(
            "select ", found_columns!(), " from cms_pages p left join cms_page_revisions r on \
             r.page_id = p.id and r.number = p.revision left join cms_pages v on v.published and \
             (v.id = coalesce(p.base_id, p.id) or v.base_id = coalesce(p.base_id, p.id)) where ",
            $condition, " order by v.language_short, v.id"
        )
    };
}

/// The version in language `$2` of the published pages `k` at the address `$1`.
macro_rules! version_at_url {
    () => {
        page!(
            "p.published and p.id = (select q.id from cms_pages k join cms_pages q on \
             (q.id = coalesce(k.base_id, k.id) or q.base_id = coalesce(k.base_id, k.id)) where \
             k.url_rewrite = $1 and k.published and q.language_short = $2 order by \
             case when k.language_short = $2 then 0 else 1 end, k.id limit 1)"
        )
    };
}

/// The base of the page `$1`. The row of the page may be gone while its versions stay.
macro_rules! base_of {
    () => {
        "coalesce((select coalesce(k.base_id, k.id) from cms_pages k where k.id = $1), \
         cast($1 as bigint))"
    };
}

/// 1 if the row `$1` stands above itself, else 0. `union` ends at circles of other rows.
macro_rules! circle {
    ($table:literal) => {
        concat!(
            "with recursive above (id) as (select parent_id from ",
            $table,
            " where id = $1 union select t.parent_id from ",
            $table,
            " t join above a on t.id = a.id) select count(*) from above where id = $1"
        )
    };
}

statements! {
    PUBLIC_SETTINGS = "select name, cast(value as text) from cms_settings where public order by \
                       name limit 1000";
    BY_ID = page!("p.published and p.id = $1");
    BY_ID_IN = page!(concat!(
        "p.published and p.id = (select q.id from cms_pages q where (q.id = ",
        base_of!(),
        " or q.base_id = ",
        base_of!(),
        ") and q.language_short = $2 order by q.id limit 1)"
    ));
    BY_VIEW = page!("p.published and p.view = $1 and p.language_short = $2");
    /// Of pages in several languages, the one in `$2`, or else the first.
    BY_URL = page!(
        "p.published and p.id = (select q.id from cms_pages q where q.published and \
         q.url_rewrite = $1 order by case when q.language_short = $2 then 0 else 1 end, q.id \
         limit 1)"
    );
    BY_URL_IN = version_at_url!();
    /// For callers that may see drafts.
    ANY_BY_ID = page!("p.id = $1");
    PUBLISHED_TREES = "select p.id, r.tree from cms_pages p join cms_page_revisions r on \
                       r.page_id = p.id and r.number = p.revision where p.published and \
                       p.id > $1 order by p.id limit $2";
    MENU = "select id, parent_id, title, url, target from cms_menu_items where menu = $1 and \
            language_short = $2 order by sort_order, id limit 1000";
    PAGE_CIRCLE = circle!("cms_pages");
    MENU_CIRCLE = circle!("cms_menu_items");
    /// Numbers of items directly above and below `$1` that are in another menu or language. This
    /// statement and the next read the whole table: menus are small, so `parent_id` has no index.
    MENU_MISFITS = "select count(case when o.id = i.parent_id then 1 end), count(case when \
                    o.parent_id = i.id then 1 end) from cms_menu_items i join cms_menu_items o \
                    on (o.id = i.parent_id or o.parent_id = i.id) where i.id = $1 and \
                    (o.menu <> i.menu or o.language_short <> i.language_short)";
    MENU_BELOW = "select count(*) from cms_menu_items where parent_id = $1 and id <> $1";
    REDIRECT_AT = "select id from cms_redirects where \"from\" = $1 and language_short = $2";
    REDIRECT_LANGUAGES = "select distinct language_short from cms_redirects where active and \
                          language_short is not null order by language_short limit $1";
    COUNT_HITS = "update cms_redirects set hits = hits + $2, last_hit_at = case when \
                  last_hit_at is null or last_hit_at < $3 then $3 else last_hit_at end \
                  where id = $1";
    /// The protocol allows addresses of less than 2,048 characters, including the site's address.
    /// Versions in several languages may share an address, which is then listed once.
    SITEMAP = "select p.id, p.url_rewrite from cms_pages p where p.published and p.id > $1 \
               and length(p.url_rewrite) < 2000 and not exists (select 1 from cms_pages o \
               where o.url_rewrite = p.url_rewrite and o.published and o.id < p.id) \
               order by p.id limit $2";
}

/// The active redirect of the address `$3`, in language `$2`. The array `$1` has all values of
/// `from` that match, in every spelling. `$4`: redirects of any language apply, those of `$2`
/// first. `$5`: no result where a page is published.
macro_rules! redirect {
    ($name:literal, $elements:literal) => {
        Statement::new(
            concat!(module_path!(), "::", $name),
            concat!(
                "select r.id, r.\"from\", r.\"to\", r.status from ", $elements,
                " join cms_redirects r on r.\"from\" = e.value where r.active and \
                 (cast($4 as boolean) or r.language_short is null or r.language_short = $2) \
                 and not (cast($5 as boolean) and exists (select 1 from cms_pages p where \
                 p.published and p.url_rewrite in (select e.value from ", $elements, "))) \
                 order by case when r.\"from\" = $3 then 0 when r.\"from\" not like '%/*' then 1 \
                 else 2 end, length(r.\"from\") desc, \
                 case when r.language_short = $2 then 0 when r.language_short is null then 1 \
                 else 2 end, r.id limit 1"
            ),
        )
    };
}
pub(crate) const REDIRECT: PerEngine<Statement> = PerEngine {
    sqlite: redirect!("REDIRECT_SQLITE", "json_each($1) e"),
    postgres: redirect!("REDIRECT_POSTGRES", "json_array_elements_text(cast($1 as json)) e(value)"),
};

/// The published versions in language `$2` of the pages in the array `$1`, except the page `$5`,
/// at most `$4`. A tree is returned only while it and the ones before have at most `$3` bytes
/// together; no other tree is read.
macro_rules! parts {
    ($name:literal, $elements:literal) => {
        Statement::new(
            concat!(module_path!(), "::", $name),
            concat!(
                "select s.named, s.id, (select t.tree from cms_page_revisions t where t.page_id = \
                 s.id and t.number = s.number and s.total <= $3) from (select f.named, f.place, \
                 f.id, f.number, cast(sum(f.bytes) over (order by f.place, f.id) as bigint) as \
                 total from (select cast(e.value ->> 'id' as bigint) as named, cast(e.value ->> \
                 'at' as bigint) as place, p.id as id, r.number as number, octet_length(r.tree) as \
                 bytes from (select n.value, coalesce(k.base_id, cast(n.value ->> 'id' as \
                 bigint)) as base from ", $elements, " left join cms_pages k on k.id = \
                 cast(n.value ->> 'id' as bigint)) e join cms_pages p on (p.id = e.base or \
                 p.base_id = e.base) join cms_page_revisions r on r.page_id = p.id and \
                 r.number = p.revision where p.language_short = $2 and p.published and \
                 p.id <> $5) f order by f.place, f.id limit $4) s order by s.place, s.id"
            ),
        )
    };
}
pub(crate) const PARTS: PerEngine<Statement> = PerEngine {
    sqlite: parts!("PARTS_SQLITE", "json_each($1) n"),
    postgres: parts!("PARTS_POSTGRES", "json_array_elements(cast($1 as json)) n(value)"),
};
