//! Visits: what visitors do in a funnel. A session keeps the version that it began with.
//!
//! ```text
//! types     what pages send and learn      session   a session as stored
//! walk      ways and answers that count    moves     what answers do to a session (both pure)
//! visit     a session with its version     trail     what happened, row by row
//! start · step · complete · abandon · resume · upload     one call each
//! client    one text for a visitor of a day
//! events    what events tell               summary   what lists show
//! mails     who is written to at the end   sql       statements
//! trial     a funnel tried by its author   replay    visits that were made before
//! way       the way of a visit, for the staff
//! ```

mod abandon;
mod client;
mod complete;
mod events;
mod mails;
mod moves;
mod replay;
mod resume;
mod session;
pub(crate) mod sql;
mod start;
mod step;
mod summary;
#[cfg(test)]
mod tests;
mod trail;
mod trial;
mod types;
mod upload;
mod visit;
mod walk;
mod way;

pub(in crate::funnels) use client::Salt;
pub use client::Visitor;
pub use replay::{PastEnd, PastInbox, PastStep, PastVisit, Replay};
pub use start::Beginning;
pub use trial::{Tried, TriedFault, TriedMail, TriedNode, TriedRouting, TriedRule};
pub use types::{
    AnswerStep, CompleteVisit, Completed, Progress, ResumeVisit, Resumed, ShownFunnel, StartVisit,
    Started, StartedTest, Stepped, UploadFor, Uploaded,
};
pub use upload::JudgedFile;
pub use visit::Visit;
pub(in crate::funnels) use way::{Exported, Retold};
pub use way::{PassedEdge, PassedNode};
