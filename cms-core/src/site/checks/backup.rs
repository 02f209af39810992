//! Checks of backups.

use super::{Asked, finding::Found};
use crate::{Millis, Result, backup, db::args, parse_rfc3339};

const DAY: Millis = 24 * 3_600_000;
/// After so long a backup is old.
const WEEK: Millis = 7 * DAY;
const REMEDY: &str = "`cms db backup FILE`, every day and to another disk";

/// When the last backup of this machine was made.
pub(super) async fn last(asked: &Asked, found: &mut Found) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let now = cms.clock().now();
    let Some(last) = backup::last(&asked.settings) else {
        let (made,): (Option<Millis>,) =
            cms.db().one(crate::db::migrate::sql::FIRST, args![]).await?;
        match made.is_some_and(|made| now - made > WEEK) {
            true => found.warning("there is no backup", REMEDY),
            false => found.ok("no backup yet"),
        }
        return Ok(());
    };
    let age = parse_rfc3339(&last.made_at).map(|made_at| now - made_at);
    match age {
        Some(age) if age <= WEEK => found.ok(format!("made at {}", last.made_at)),
        Some(age) => found.warning(format!("the last one is {} days old", age / DAY), REMEDY),
        None => found.warning("when the last one was made cannot be read", REMEDY),
    }
    Ok(())
}
