//! What two attempts differ in.

use super::attempt;
use crate::{
    step::Step,
    widgets::viewer::{Viewer, differences},
};

/// Reads both, then shows what differs, member by member.
pub(crate) fn compare(before: i64, after: i64) -> Step {
    let call = attempt(before).map(|call| {
        call.then(move |old| {
            let call = attempt(after).map(|call| {
                call.then(move |new| {
                    let title = format!("Attempt {before} → {after}");
                    Step::View(Viewer::new(title, differences(&old.data, &new.data)))
                })
            });
            call.into()
        })
    });
    call.into()
}
