//! Visits: what visitors do in a funnel. A session keeps the version that it began with.
//!
//! ```text
//! calls     what pages send and learn      session   a session as stored
//! walk      ways and answers that count    moves     what answers do to a session (both pure)
//! visit     a session with its version     trail     what happened, row by row
//! start · step · complete · abandon · resume · upload     one call each
//! client    one text for a visitor of a day
//! told      what events tell               listed    what lists show
//! mails     who is written to at the end   sql       statements
//! trial     a funnel tried by its author   replay    visits that were made before
//! retold    the way of a visit, for the staff
//! ```

mod abandon;
mod calls;
mod client;
mod complete;
mod listed;
mod mails;
mod moves;
mod replay;
mod resume;
mod retold;
mod session;
pub(crate) mod sql;
mod start;
mod step;
#[cfg(test)]
mod tests;
mod told;
mod trail;
mod trial;
mod upload;
mod visit;
mod walk;

pub use calls::{
    AnswerStep, CompleteVisit, Completed, Progress, ResumeVisit, Resumed, ShownFunnel, StartVisit,
    Started, StartedTest, Stepped, UploadFor, Uploaded,
};
pub(in crate::funnels) use client::Salt;
pub use client::Visitor;
pub use replay::{PastEnd, PastInbox, PastStep, PastVisit, Replay};
pub(in crate::funnels) use retold::{Exported, Retold};
pub use retold::{PassedEdge, PassedNode};
pub use start::Beginning;
pub use trial::{Tried, TriedFault, TriedMail, TriedNode, TriedRouting, TriedRule};
pub use upload::JudgedFile;
pub use visit::Visit;
