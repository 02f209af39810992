//! Statements of stored files.

use crate::{
    Change, Millis, Result,
    db::{Db, args, statements},
};

/// Whether a text holds the digits of a path (`$1`) or names a file by its id (`$2`, `$3`).
macro_rules! shows {
    ($text:literal) => {
        concat!("(", $text, " like $1 or ", shows!(id $text, "$2", "$3"), ")")
    };
    // PostgreSQL writes a space after the colon.
    (id $text:literal, $comma:literal, $brace:literal) => {
        concat!(
            "replace(", $text, ", ' ', '') like ", $comma, " or replace(", $text,
            ", ' ', '') like ", $brace
        )
    };
}

statements! {
    BY_CONTENT = "select id from cms_media where sha256 = $1";
    /// The next files, in the order of their paths.
    AFTER = "select path, size from cms_media where path > $1 order by path limit 1000";
    SIZE = "select size from cms_media where path = $1";
    ALL_BYTES = "select cast(coalesce(sum(size), 0) as bigint) from cms_media";
    /// The files whose SHA-256 is in this range.
    WITHIN = "select path, size from cms_media where sha256 >= $1 and sha256 < $2 order by sha256";
    /// Searches drafts, the published versions, and older versions that visits still use. Mails
    /// cannot name a file by its id.
    IN_FUNNELS = concat!(
        "select u.id, u.part from (select id, 'settings' as part from cms_formfunnels where ",
        shows!("settings_json"),
        " union select funnel_id, 'nodes' from cms_formfunnel_nodes where ",
        shows!("config_json"),
        " union select funnel_id, 'mails' from cms_formfunnel_email_routing \
         where body_html like $1 or auto_reply_body_html like $1 \
         union select v.funnel_id, 'published' from cms_formfunnel_versions v \
         join cms_formfunnels f on f.published_version_id = v.id where ",
        shows!("v.definition"),
        " union select v.funnel_id, 'visits' from cms_formfunnel_versions v \
         join cms_formfunnels f on f.id = v.funnel_id and f.status <> 'deleted' \
         where (f.published_version_id is null or f.published_version_id <> v.id) and ",
        shows!("v.definition"),
        " and exists (select 1 from cms_formfunnel_submissions s where s.version_id = v.id \
         and s.completed_at is null and s.expires_at > $5)\
         ) u order by u.id, u.part limit $4"
    );
    /// Forms that name a file by its id.
    IN_FORMS = concat!(
        "select id from cms_forms where ", shows!(id "cast(fields as text)", "$1", "$2"),
        " order by id limit $3"
    );
}

pub(super) async fn by_content(change: &mut Change, sha256: &str) -> Result<Option<i64>> {
    let found: Option<(i64,)> = change.optional(BY_CONTENT, args![sha256]).await?;
    Ok(found.map(|(id,)| id))
}

/// Whether there is a row for a content, outside of a change.
pub(super) async fn is_known(db: &Db, sha256: &str) -> Result<bool> {
    let found: Option<(i64,)> = db.optional(BY_CONTENT, args![sha256]).await?;
    Ok(found.is_some())
}

/// Paths and sizes of the files in a folder of the media folder, ordered by hash.
pub(super) async fn within(db: &Db, folder: u8) -> Result<Vec<(String, i64)>> {
    // `g` sorts after all hex digits.
    let (first, end) = (format!("{folder:02x}"), format!("{folder:02x}g"));
    db.all(WITHIN, args![first, end]).await
}

/// The funnels that show a file, each with the part that shows it. `digits`: those of the
/// file's path.
pub(super) async fn in_funnels(
    db: &Db,
    id: i64,
    digits: &str,
    most: usize,
    now: Millis,
) -> Result<Vec<(i64, String)>> {
    let (path, [comma, brace]) = (format!("%{digits}%"), named(id));
    db.all(IN_FUNNELS, args![path, comma, brace, most as i64, now]).await
}

/// Ids of the forms that name a file by its id.
pub(super) async fn in_forms(db: &Db, id: i64, most: usize) -> Result<Vec<i64>> {
    let [comma, brace] = named(id);
    let rows: Vec<(i64,)> = db.all(IN_FORMS, args![comma, brace, most as i64]).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Patterns of JSON that names a file by its id, with other members after the id or without.
fn named(id: i64) -> [String; 2] {
    [",", "}"].map(|end| format!("%\"media_id\":{id}{end}%"))
}
