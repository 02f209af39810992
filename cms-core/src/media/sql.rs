//! Statements of stored files.

use crate::{
    Change, Result,
    db::{Db, args, statements},
};

statements! {
    BY_CONTENT = "select id from cms_media where sha256 = $1";
    /// Those whose content begins so.
    WITHIN = "select path, size from cms_media where sha256 >= $1 and sha256 < $2 order by sha256";
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

/// Paths and sizes of the files in a folder of the media folder, by content.
pub(super) async fn within(db: &Db, folder: u8) -> Result<Vec<(String, i64)>> {
    // `g` stands behind all digits.
    let (first, end) = (format!("{folder:02x}"), format!("{folder:02x}g"));
    db.all(WITHIN, args![first, end]).await
}
