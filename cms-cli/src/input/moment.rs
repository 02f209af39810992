//! Date-times as people type them.

use cms_core::parse_rfc3339;
use cms_http::wire::parameters::Moment;

use crate::output::{Done, Exit, Failure};

/// Reads a date-time such as `2026-11-21T09:30:00Z`.
pub(crate) fn moment(text: &str) -> Done<Moment> {
    parse_rfc3339(text).map(Moment).ok_or_else(|| {
        Failure::new(Exit::Failed, format!("{text:?} is not a date-time"))
            .hint("write it as 2026-11-21T09:30:00Z")
    })
}
