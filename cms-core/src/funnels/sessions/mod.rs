//! Visits: what visitors do in a funnel. A session keeps the version that it began with.
//!
//! ```text
//! types     requests of pages, replies     session   a session as stored, and what happened in it
//! moves     ways, answers that count, what answers do to a session (pure)
//! visit     a session with its version
//! start · step · complete · abandon · upload     one call each; start also resumes
//! client    one hash for a visitor of a day
//! events    the data of events             sql       statements
//! mails     mails at the end of a visit
//! simulator a walk without a visit         preview   a step as visitors see it
//! trial     answers and mail rules tried   replay    visits of the past
//! way       the way of a visit, for the staff
//! ```

mod abandon;
mod client;
mod complete;
mod events;
mod mails;
mod moves;
mod preview;
mod replay;
mod session;
mod simulator;
pub(crate) mod sql;
mod start;
mod step;
#[cfg(test)]
mod tests;
mod trial;
mod types;
mod upload;
mod visit;
mod way;

pub(in crate::funnels) use client::Salt;
pub use client::Visitor;
pub use preview::{Preview, Previewed, RefusedAnswer, TakenEdge};
pub use replay::{PastEnd, PastInbox, PastStep, PastVisit, Replay};
pub use start::Beginning;
pub use trial::{Tried, TriedFault, TriedMail, TriedNode, TriedRouting, TriedRule};
pub use types::{
    AnswerStep, CompleteVisit, Completed, Progress, ResumeVisit, Resumed, ShownFunnel, StartVisit,
    Started, StartedTest, Stepped, UploadFor, Uploaded,
};
pub use upload::JudgedFile;
pub use visit::Visit;
pub(in crate::funnels) use way::{NotesAndAnswers, VisitDetail};
pub use way::{PassedEdge, PassedNode};
