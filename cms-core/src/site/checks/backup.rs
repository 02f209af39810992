//! Checks of backups.

use super::{Asked, finding::Findings};
use crate::{Cms, Millis, Result, backup, db::args, parse_rfc3339, rfc3339};

const HOUR: Millis = 3_600_000;
const DAY: Millis = 24 * HOUR;
/// After so long a backup is old, unless the task `backup` makes them.
const WEEK: Millis = 7 * DAY;
const REMEDY: &str = "set backup.to, or run `cms db backup FILE` every day, to another disk";
const OF_TASK: &str = "`cms tasks history backup` says why it fails";
const LACKS: &str = "`cms db check` names the files that are missing: put them back, perhaps from \
                     an older backup, then make a new one";

/// A backup that was made.
struct Made {
    /// None: that cannot be read.
    at: Option<Millis>,
    /// What it lacks.
    warnings: Vec<String>,
}

/// The last backup: the later of the one that this machine has noted, and of the task's last run on
/// any machine.
async fn newest(cms: &Cms) -> Result<Option<Made>> {
    let noted = backup::last(cms.settings())
        .map(|last| Made { at: parse_rfc3339(&last.made_at), warnings: last.warnings });
    let run = cms.tasks().last_done("backup", "backup").await?;
    // A run that has ended well lacks nothing. It begins before the moment that is noted.
    let run = run.map(|at| Made { at: Some(at), warnings: Vec::new() });
    Ok(match (noted, run) {
        (Some(noted), Some(run)) if run.at > noted.at => Some(run),
        (noted, run) => noted.or(run),
    })
}

/// When the last backup was made.
pub(super) async fn last(asked: &Asked, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let now = cms.clock().now();
    let backup = &asked.settings.backup;
    let (most, remedy) = match backup.to {
        // One that was left out is no fault yet.
        Some(_) => (2 * HOUR * i64::try_from(backup.every_h).unwrap_or(i64::MAX / DAY), OF_TASK),
        None => (WEEK, REMEDY),
    };
    let Some(last) = newest(cms).await? else {
        let (made,): (Option<Millis>,) =
            cms.db().one(crate::db::migrate::sql::FIRST, args![]).await?;
        match made.is_some_and(|made| now - made > most) {
            true => found.warning("there is no backup", remedy),
            false => found.ok("no backup yet"),
        }
        return Ok(());
    };
    match last.at.map(|at| (at, now - at)) {
        Some((at, age)) if age <= most => match last.warnings.first() {
            None => found.ok(format!("made at {}", rfc3339(at))),
            Some(first) => {
                let more = match last.warnings.len() - 1 {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                let what = format!("the last one, made at {}, lacks something: ", rfc3339(at));
                found.warning(format!("{what}{first}{more}"), LACKS);
            }
        },
        Some((_, age)) => {
            found.warning(format!("the last one is {} hours old", age / HOUR), remedy);
        }
        None => found.warning("when the last one was made cannot be read", remedy),
    }
    Ok(())
}
