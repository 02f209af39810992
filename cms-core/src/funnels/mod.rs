//! Funnels: forms of several steps. The answers decide which steps follow.
//!
//! ```text
//! graph        nodes and edges (pure)
//! checks       what is wrong with them (pure)
//! rules        mail rules (pure)
//! header       name, slug, settings: all but nodes, edges and mail rules
//! settings     its settings
//! record       funnels as they are stored and shown; a problem, and where it is
//! definitions  funnels as their authors draw, save and publish them
//! sessions     visits: what visitors do in a funnel
//! inbox        what they sent, for the staff
//! analytics    the numbers of a funnel
//! counters     visits that are over, counted by day
//! retention    removal of old submissions
//! ```

mod analytics;
mod checks;
mod counters;
mod definitions;
mod graph;
mod header;
mod inbox;
mod record;
mod retention;
mod rules;
mod sessions;
mod settings;

use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;

pub use analytics::{
    Analytics, AnalyticsBefore, AnalyticsBranch, AnalyticsDay, AnalyticsEnd, AnalyticsField,
    AnalyticsInbox, AnalyticsMails, AnalyticsQuery, AnalyticsRange, AnalyticsSource, AnalyticsStep,
    AnalyticsTotals, AnalyticsValue, AnalyticsVersion,
};
pub(crate) use definitions::sql::LIST as FUNNELS;
pub use definitions::{
    Created, Duplicated, NewFunnel, Published, Routings, Saved, SavedFunnel, SavedRoutings,
};
pub use inbox::{
    Assignable, Bulk, BulkDone, BulkOp, FunnelSubmission, FunnelSubmissionDetail, InboxCount,
    InboxCounts, InboxFilter, InboxLines, InboxPage, InboxQuery, InboxTable, InboxView, NewView,
    StoredFile, SubmissionChange, SubmissionDeletion, SubmissionFile, SubmissionMail,
    SubmissionUpdate, Undone, Updated, ViewQuery,
};
pub(crate) use inbox::{COLUMNS as INBOX, UNASSIGN};
pub use record::{
    EmailRouting, Funnel, FunnelDetail, FunnelEdge, FunnelLanguage, FunnelNode, Warning,
    WhichFunnel,
};
pub use sessions::{
    AnswerStep, Beginning, CompleteVisit, Completed, JudgedFile, PassedEdge, PassedNode, PastEnd,
    PastInbox, PastStep, PastVisit, Preview, Previewed, Progress, RefusedAnswer, Replay,
    ResumeVisit, Resumed, ShownFunnel, StartVisit, Started, StartedTest, Stepped, TakenEdge, Tried,
    TriedFault, TriedMail, TriedNode, TriedRouting, TriedRule, UploadFor, Uploaded, Visit, Visitor,
};

use self::{definitions::VersionCache, sessions::Salt};
use crate::{base::Base, items::OwnList, mail::Mails};

/// Maximum number of visitors' files in memory at once: each may have 50 MiB.
const JUDGED: usize = 4;

/// The funnels of a site: `cms.funnels()`.
#[derive(Clone)]
pub struct Funnels(Arc<Inner>);

struct Inner {
    base: Base,
    mails: Mails,
    versions: VersionCache,
    /// The salt of client hashes, as this process last read it.
    salt: Mutex<Salt>,
    /// Limits the visitors' files in memory.
    judging: Arc<Semaphore>,
    inbox: OwnList,
}

impl Funnels {
    pub(crate) fn new(base: &Base, mails: &Mails) -> Self {
        Self(Arc::new(Inner {
            base: base.clone(),
            mails: mails.clone(),
            versions: VersionCache::default(),
            salt: Mutex::default(),
            judging: Arc::new(Semaphore::new(JUDGED)),
            inbox: inbox::inbox(base.db().dialect()),
        }))
    }
}

/// How mails and events name the submission that they are about.
pub(crate) fn subject(submission: i64) -> String {
    format!("funnel submission {submission}")
}

/// All fixed statements of this room.
pub(crate) fn statements() -> [&'static [crate::db::Statement]; 8] {
    [
        definitions::sql::ALL,
        definitions::ALL,
        definitions::versions::ALL,
        sessions::sql::ALL,
        inbox::sql::ALL,
        counters::sql::ALL,
        analytics::sql::ALL,
        retention::ALL,
    ]
}
