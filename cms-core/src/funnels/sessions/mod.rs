//! Visits: what visitors do in a funnel. A session keeps the version that it began with.
//!
//! ```text
//! types     requests of pages, replies     session   a session as stored, and what happened in it
//! moves     ways, answers that count, what answers do to a session (pure)
//! visit     a session with its version, the data of its events
//! start     begun, resumed; the visitor    step      an answered step, completed, abandoned
//! upload    files of visitors              sql       statements
//! mails     mails at the end of a visit    template  texts with tokens
//! trial     answers and mail rules tried   replay    visits of the past
//! way       the way of a visit, for the staff; a step as visitors see it, for authors
//! ```

mod mails;
mod moves;
mod replay;
mod session;
pub(crate) mod sql;
mod start;
mod step;
mod template;
#[cfg(test)]
mod tests;
mod trial;
mod types;
mod upload;
mod visit;
mod way;

pub use replay::{PastEnd, PastInbox, PastStep, PastVisit, Replay};
pub(in crate::funnels) use start::Salt;
pub use start::{Beginning, Visitor};
pub use trial::{Tried, TriedFault, TriedMail, TriedNode, TriedRouting, TriedRule};
pub use types::{
    AnswerStep, CompleteVisit, Completed, Progress, ResumeVisit, Resumed, ShownFunnel, StartVisit,
    Started, StartedTest, Stepped, UploadFor, Uploaded,
};
pub use upload::JudgedFile;
pub use visit::Visit;
pub(in crate::funnels) use way::{NotesAndAnswers, VisitDetail};
pub use way::{PassedEdge, PassedNode, Preview, Previewed, RefusedAnswer, TakenEdge};
