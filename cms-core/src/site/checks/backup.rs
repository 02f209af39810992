//! Checks of backups.

use super::{CheckInput, finding::Findings};
use crate::{Cms, Millis, Result, backup, db::args, parse_rfc3339, rfc3339};

const HOUR: Millis = 3_600_000;
const DAY: Millis = 24 * HOUR;
/// Age at which a backup is old, unless the task `backup` makes backups.
const WEEK: Millis = 7 * DAY;
const REMEDY: &str = "set backup.to, or run `cms db backup FILE` every day, to another disk";
const OF_TASK: &str = "`cms tasks history backup` says why it fails";
const LACKS: &str = "`cms db check` names the files that are missing: put them back, perhaps from \
                     an older backup, then make a new one";

/// A backup that was made.
struct LastBackup {
    /// When it was made; `None`: the time cannot be read.
    at: Option<Millis>,
    /// Warnings about what it lacks.
    warnings: Vec<String>,
}

/// The last backup: the later of the one recorded on this machine and the last successful run of
/// the task on any machine.
async fn newest(cms: &Cms) -> Result<Option<LastBackup>> {
    let noted = backup::last(cms.settings())
        .map(|last| LastBackup { at: parse_rfc3339(&last.made_at), warnings: last.warnings });
    let run = cms.tasks().last_done("backup", "backup").await?;
    // A run that ended well lacks nothing. It begins before the recorded moment.
    let run = run.map(|at| LastBackup { at: Some(at), warnings: Vec::new() });
    Ok(match (noted, run) {
        (Some(noted), Some(run)) if run.at > noted.at => Some(run),
        (noted, run) => noted.or(run),
    })
}

/// When the last backup was made.
pub(super) async fn last(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let now = cms.clock().now();
    let backup = &asked.settings.backup;
    let (most, remedy) = match backup.to {
        // One missed backup is not a fault yet.
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
