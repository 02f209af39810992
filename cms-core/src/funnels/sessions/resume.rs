//! A visit that goes on: after its page was loaded again, or by the link of a mail.

use super::{
    mails::links,
    session::{Session, Status},
    trail::Trail,
    types::{ResumeVisit, Resumed},
    visit::{Visit, missing, open},
};
use crate::{Change, Error, Result, funnels::Funnels};

/// What tokens of links are sealed for.
const SEALED: &str = "formfunnel.resume";
/// Characters of a token at most.
const TOKEN: usize = 256;

impl Funnels {
    /// The visit that a call to resume names.
    ///
    /// # Errors
    /// `validation_failed` unless it names one session or one token; `not_found`, also for a token
    /// that this site has not made.
    pub async fn visit_again(&self, call: &ResumeVisit) -> Result<Visit> {
        match (&call.session_uuid, &call.token) {
            (Some(session), None) => self.visit(session).await,
            (None, Some(token)) => {
                let token = token.trim();
                let sealed = Some(token).filter(|token| token.len() <= TOKEN);
                let sealed = sealed.and_then(|token| self.0.base.vault().open(SEALED, token).ok());
                let session = sealed.and_then(|bytes| String::from_utf8(bytes).ok());
                self.visit(&session.ok_or_else(missing)?).await
            }
            _ => {
                let message = "the session is expected, or the token of a link";
                Err(Error::invalid_field("session_uuid", "required", message))
            }
        }
    }

    /// Where the visitor stands. Whoever was away is back. `by_link`: the page came by a link, and
    /// learns the session.
    ///
    /// # Errors
    /// `not_found`, `already_completed`, `session_expired`; as every write.
    pub async fn resume(
        &self,
        change: &mut Change,
        visit: &Visit,
        by_link: bool,
    ) -> Result<Resumed> {
        let mut session = visit.lock(change).await?;
        let now = change.now();
        open(&session, now)?;
        let mut trail = Trail::default();
        trail.note("resumed", session.current);
        visit.note(change, &mut session, trail).await?;
        let stepped = visit.stepped(&session, visit.current(&session), Vec::new());
        Ok(Resumed { stepped, session_uuid: by_link.then(|| visit.uuid.clone()) })
    }

    /// The link that leads a visitor who left back to the visit. Blank without a page, and for a
    /// visit that cannot go on.
    pub(super) fn resume_url(&self, visit: &Visit, session: &Session) -> String {
        let page = visit.version.header.settings.page_url.as_deref();
        let Some(page) = page.filter(|_| session.status != Status::Completed) else {
            return String::new();
        };
        match self.0.base.vault().seal(SEALED, visit.uuid.as_bytes()) {
            Ok(token) => links::resume(page, &token),
            Err(error) => {
                tracing::warn!(submission = session.id, %error, "a mail has no link to its visit");
                String::new()
            }
        }
    }
}
