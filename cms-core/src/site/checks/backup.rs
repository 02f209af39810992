//! Checks of backups.

use super::{Asked, finding::Findings};
use crate::{Millis, Result, backup, db::args, parse_rfc3339};

const HOUR: Millis = 3_600_000;
const DAY: Millis = 24 * HOUR;
/// After so long a backup is old, unless the task `backup` makes them.
const WEEK: Millis = 7 * DAY;
const REMEDY: &str = "set backup.to, or run `cms db backup FILE` every day, to another disk";
const OF_TASK: &str = "`cms tasks history backup` says why it fails";
const LACKS: &str = "`cms db check` names the files that are missing: put them back, perhaps from \
                     an older backup, then make a new one";

/// When the last backup of this machine was made.
pub(super) async fn last(asked: &Asked, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let now = cms.clock().now();
    let backup = &asked.settings.backup;
    let (most, remedy) = match backup.to {
        // One that was left out is no fault yet.
        Some(_) => (2 * HOUR * i64::try_from(backup.every_h).unwrap_or(i64::MAX / DAY), OF_TASK),
        None => (WEEK, REMEDY),
    };
    let Some(last) = backup::last(&asked.settings) else {
        let (made,): (Option<Millis>,) =
            cms.db().one(crate::db::migrate::sql::FIRST, args![]).await?;
        match made.is_some_and(|made| now - made > most) {
            true => found.warning("there is no backup", remedy),
            false => found.ok("no backup yet"),
        }
        return Ok(());
    };
    let age = parse_rfc3339(&last.made_at).map(|made_at| now - made_at);
    match age {
        Some(age) if age <= most => match last.warnings.first() {
            None => found.ok(format!("made at {}", last.made_at)),
            Some(first) => {
                let more = match last.warnings.len() - 1 {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                let what = format!("the last one, made at {}, lacks something: ", last.made_at);
                found.warning(format!("{what}{first}{more}"), LACKS);
            }
        },
        Some(age) => found.warning(format!("the last one is {} hours old", age / HOUR), remedy),
        None => found.warning("when the last one was made cannot be read", remedy),
    }
    Ok(())
}
