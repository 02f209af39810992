//! `/api/formfunnel`

use cms_core::funnels::{
    AnswerStep, CompleteVisit, Completed, ResumeVisit, Resumed, StartVisit, Started, Stepped,
    UploadFor, Uploaded,
};
use serde::Deserialize;

use super::{
    Body, Deferred, Done, Early, Octets,
    body::MOST_ANSWERS,
    operations,
    parameters::{AnyQuery, NoQuery},
};

operations! {
    /// Begins a visit of a published funnel: its first step, and the session, which is the
    /// visitor's secret.
    Start: NoQuery, StartVisit => Started;
    /// Answers a step. Conditions are evaluated here; the reply is the next step or the end. The
    /// same answers again change nothing, other answers to an earlier step lead back to it.
    Step: NoQuery, Early<OfVisit, AnswerStep> => Stepped;
    /// Completes a visit, with the last answers if they were not sent before. Nothing that the way
    /// requires may be missing. Completing again answers the same.
    Complete: NoQuery, Early<OfVisit, CompleteVisit> => Completed;
    /// The page was closed. The body is JSON, text or a form that holds `session_uuid`, as
    /// `navigator.sendBeacon` sends it. The answer is the same whatever it holds.
    Abandon: AnyQuery, Octets => Done;
    /// Where a visit stands, after its page was loaded again; or after a link in a mail led back to
    /// it, whose token is named in place of the session.
    Resume: NoQuery, ResumeVisit => Resumed;
    /// Takes a file for a field. Its id is the answer. Files that no answer holds are removed after
    /// a day.
    Upload: NoQuery, Deferred<UploadFor> => Uploaded;
}

/// Which visit a body is about.
#[derive(Clone, Debug, Deserialize)]
pub struct OfVisit {
    /// The session.
    pub session_uuid: String,
}

impl Body for StartVisit {
    const MOST_VALUES: usize = MOST_ANSWERS;
}

impl Body for AnswerStep {
    const MOST_VALUES: usize = MOST_ANSWERS;
}

impl Body for CompleteVisit {
    const MOST_VALUES: usize = MOST_ANSWERS;
}

impl Body for ResumeVisit {}
