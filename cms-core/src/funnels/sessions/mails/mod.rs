//! Who is written to at the end of a visit: the first mail rule that matches says so.
//!
//! ```text
//! choose    which rule (pure)      compose   its mails (pure)
//! template  texts with tokens      values    what tokens stand for
//! plain     HTML as plain text     (all pure)
//! ```

mod choose;
mod compose;
mod plain;
mod template;
mod values;

pub(in crate::funnels) use choose::{choose, consider};
pub(in crate::funnels) use compose::{Composed, compose};
pub(in crate::funnels) use values::Values;

use super::{session::Session, trail::Trail, visit::Visit};
use crate::{
    Change, Code, Result,
    funnels::{
        Funnels,
        definitions::{self, sql::From},
        graph::Node,
        rules::{Rule, Trigger},
        subject,
    },
    ground::crypto::sha256_hex,
    mail::Mail,
};

impl Funnels {
    /// Queues the mails of the rule that matches, in the change that ends the visit.
    pub(super) async fn dispatch(
        &self,
        change: &mut Change,
        visit: &Visit,
        session: &mut Session,
        trigger: Trigger,
        trail: &mut Trail,
    ) -> Result<()> {
        let stored = definitions::sql::rules(&mut From::Change(change), session.funnel).await?;
        let rules: Vec<_> = stored.into_iter().map(Rule::from).collect();
        let around = visit.around(session);
        let walk = visit.walk(&around);
        let counting = walk.effective(&session.path, &session.answers);
        let Some(chosen) = choose(&rules, trigger, &counting, &around) else {
            let is_awaited = rules.iter().any(|rule| rule.is_active && rule.trigger == trigger);
            session.mail_status = is_awaited.then(|| "unmatched".to_owned());
            return Ok(());
        };
        let answers = walk.answers(&session.path, &session.answers);
        let values = Values::new(&answers, &counting, &around, self.known(visit, session));
        let Composed { mails, skipped } = compose(chosen, &values);
        for why in skipped {
            tracing::warn!(
                rule = chosen.id,
                submission = session.id,
                why,
                "no mail to a recipient"
            );
        }
        let mut queued = 0;
        let mut mails = mails;
        // Each takes its share of what an address gets in a day. In one order, so that two visits
        // with the same addresses do not wait for each other.
        mails.sort_by_cached_key(|(_, mail)| mail.to.mailbox());
        for (kind, mail) in mails {
            let to = &sha256_hex(mail.to.as_str().as_bytes())[..16];
            let (id, event, rule) = (session.id, trigger.as_str(), chosen.id);
            let mail = Mail {
                cause: Some(subject(id)),
                once: Some(format!("funnel:{id}:{event}:{rule}:{kind}:{to}")),
                ..mail
            };
            match self.0.mails.queue(change, &mail).await {
                Ok(_) => queued += 1,
                // No submission fails because its mail cannot be sent.
                Err(error) if error.code() == Code::ValidationFailed => {
                    tracing::warn!(rule, submission = id, %error, "a mail cannot be sent");
                }
                Err(error) => return Err(error),
            }
        }
        session.mail_rule = Some(chosen.id);
        let status = if queued == 0 { "no_recipient" } else { "queued" };
        session.mail_status = Some(status.to_owned());
        trail.note("mail", session.current);
        Ok(())
    }

    /// What tokens that begin with `_` stand for.
    fn known(&self, visit: &Visit, session: &Session) -> Vec<(&'static str, String)> {
        let base = &self.0.base;
        let end = visit.current(session).filter(|node| node.step().is_none());
        let site = base.settings().site_url.clone();
        let site = site.or_else(|| session.host.as_ref().map(|host| format!("https://{host}")));
        let now = jiff::Timestamp::from_millisecond(base.clock().now()).unwrap_or_default();
        let date = now.to_zoned(visit.zone.clone()).date().to_string();
        // Without a host that the site answers for the link stays blank.
        let link = "api/backend/formfunnel?action=submission_get&id";
        let url = site.map(|site| format!("{}/{link}={}", site.trim_end_matches('/'), session.id));
        vec![
            ("_funnel.name", visit.version.header.name.clone()),
            ("_funnel.slug", visit.version.header.slug.clone()),
            ("_submission.id", session.id.to_string()),
            ("_submission.reference", session.reference.clone().unwrap_or_default()),
            ("_submission.url", url.unwrap_or_default()),
            ("_end.name", end.map(|node: &Node| node.name.clone()).unwrap_or_default()),
            ("_date", date),
        ]
    }
}
