//! Tokens of the service's own, in one list: rules are checked against it, mails are filled by it.

use crate::conditions::AROUND;

/// What mails know beside answers and beside what conditions know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::funnels) enum Own {
    FunnelName,
    FunnelSlug,
    SubmissionId,
    SubmissionReference,
    SubmissionUrl,
    EndName,
    Date,
    ResumeUrl,
}

/// Tokens for all answers, as a list and as a table.
const ALL_ANSWERS: [&str; 2] = ["*", "*:table"];

impl Own {
    const ALL: [Self; 8] = [
        Self::FunnelName,
        Self::FunnelSlug,
        Self::SubmissionId,
        Self::SubmissionReference,
        Self::SubmissionUrl,
        Self::EndName,
        Self::Date,
        Self::ResumeUrl,
    ];

    /// What stands between the braces.
    pub(in crate::funnels) const fn name(self) -> &'static str {
        match self {
            Self::FunnelName => "_funnel.name",
            Self::FunnelSlug => "_funnel.slug",
            Self::SubmissionId => "_submission.id",
            Self::SubmissionReference => "_submission.reference",
            Self::SubmissionUrl => "_submission.url",
            Self::EndName => "_end.name",
            Self::Date => "_date",
            Self::ResumeUrl => "_resume_url",
        }
    }

    /// All of them with what they stand for.
    pub(in crate::funnels) fn filled(
        value: impl Fn(Self) -> String,
    ) -> Vec<(&'static str, String)> {
        Self::ALL.into_iter().map(|own| (own.name(), value(own))).collect()
    }
}

/// Whether mails know something by this name that no step asks for.
pub(in crate::funnels) fn is_known(name: &str) -> bool {
    let is_own = Own::ALL.into_iter().any(|own| own.name() == name);
    is_own || ALL_ANSWERS.contains(&name) || AROUND.contains(&name)
}
