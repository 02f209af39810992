//! The submissions that an act is for: the one under the cursor, the marked ones, or all that
//! match the filter. In the last case the service first counts them.

use cms_http::wire::inbox::{Bulk, BulkOp, ChangeSubmissions, InboxFilter};

use super::{filter::Conditions, id, name};
use crate::screens::prelude::*;

/// Ids that one change names.
const IDS: usize = 10_000;

/// Which submissions.
#[derive(Clone, Debug)]
pub(super) enum Target {
    One(Json),
    Many(Vec<i64>),
    /// All that match this filter, with their number as the service counted them.
    All(InboxFilter, u64),
}

impl Target {
    pub(super) fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(ids) => ids.len(),
            Self::All(_, expected) => usize::try_from(*expected).unwrap_or(usize::MAX),
        }
    }

    /// In words, for questions.
    pub(super) fn said(&self) -> String {
        match self {
            Self::One(row) => name(row),
            Self::Many(ids) => count(ids.len(), "submission"),
            Self::All(..) => format!("all {} that match", count(self.count(), "submission")),
        }
    }

    /// A change of these.
    pub(super) fn change(&self, op: BulkOp, value: Option<Json>) -> Bulk {
        let (ids, filter, expected) = match self {
            Self::One(row) => (Some(vec![id(row)]), None, None),
            Self::Many(ids) => (Some(ids.clone()), None, None),
            Self::All(filter, expected) => {
                (None, Some(filter.clone()), i64::try_from(*expected).ok())
            }
        };
        Bulk { op, ids, filter, expected, value }
    }
}

/// Finds out which submissions are meant, then continues.
pub(super) fn chosen(
    scene: &Scene<'_>,
    next: impl FnOnce(Target) -> Step + Send + 'static,
) -> Step {
    if scene.is_all {
        let read = Conditions::read(scene.filter, scene.now, scene.who);
        return match read {
            Ok(conditions) => counted(conditions.body(), next),
            Err(fault) => Step::Fault(fault),
        };
    }
    let rows = scene.rows();
    match rows[..] {
        [] => Step::None,
        [row] => next(Target::One(row.clone())),
        ref rows if rows.len() > IDS => Step::Fault(Fault::new(format!(
            "At most {IDS} can be marked one by one: * marks all that match the filter."
        ))),
        ref rows => next(Target::Many(rows.iter().map(|row| id(row)).collect())),
    }
}

/// Lets the service count: it refuses a change that expects no submissions, and says
/// how many match.
fn counted(filter: InboxFilter, next: impl FnOnce(Target) -> Step + Send + 'static) -> Step {
    let body = Target::All(filter.clone(), 0).change(BulkOp::SetStatus, Some("new".into()));
    let call = send::<ChangeSubmissions>(&NoQuery {}, &body).map(Calling::counting);
    call.ending(move |outcome| match outcome {
        Ok(_) => Step::tell("No submission matches."),
        Err(Fault { matched: Some(matched), .. }) => next(Target::All(filter, matched)),
        Err(fault) => Step::Fault(fault),
    })
}
