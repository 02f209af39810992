//! Mails at the end of a visit. The first mail rule that matches decides who gets them.
//!
//! ```text
//! compose   its mails, as plain text too, and the links in them
//! template  texts with tokens, and the values of tokens       (all pure)
//! ```

mod compose;
mod template;

use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Map, Value as Json};

pub(in crate::funnels) use compose::{Composed, compose, resume_link, submission_link};
pub(in crate::funnels) use template::Values;

use super::{
    session::{Session, Trail},
    visit::Visit,
};
use crate::{
    Change, Code, Millis, Result,
    conditions::{Condition, Surroundings, Traced},
    funnels::{
        Funnels,
        definitions::{self, sql::Source},
        graph::Node,
        rules::{BuiltinToken, Rule, Trigger},
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
        let stored = definitions::sql::rules(&mut Source::Change(change), session.funnel).await?;
        let rules: Vec<_> = stored.into_iter().map(Rule::from).collect();
        let around = visit.around(session);
        let walk = visit.walk(&around);
        let counting = walk.effective(session.answered(), &session.answers);
        let Some(chosen) = choose(&rules, trigger, &counting, &around) else {
            let is_awaited = rules.iter().any(|rule| rule.is_active && rule.trigger == trigger);
            session.mail_status = is_awaited.then(|| "unmatched".to_owned());
            return Ok(());
        };
        let answers = walk.answers(session.answered(), &session.answers);
        let known = self.builtin_values(visit, session);
        let values = Values::new(&answers, &counting, &around, known);
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
        // Queueing a mail may lock the daily ration of its address. The order is always the same,
        // so that two visits with the same addresses cannot deadlock.
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
                    tracing::warn!(rule, submission = id, ?error, "a mail cannot be sent");
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

    /// The values of the service's own tokens.
    fn builtin_values(&self, visit: &Visit, session: &Session) -> Vec<(&'static str, String)> {
        let base = &self.0.base;
        let header = &visit.version.header;
        let end = visit.current(session).filter(|node| node.step().is_none());
        let (settings, host) = (base.settings(), session.host.as_deref());
        BuiltinToken::with_values(|token| match token {
            BuiltinToken::FunnelName => header.name.clone(),
            BuiltinToken::FunnelSlug => header.slug.clone(),
            BuiltinToken::SubmissionId => session.id.to_string(),
            BuiltinToken::SubmissionReference => session.reference.clone().unwrap_or_default(),
            BuiltinToken::SubmissionUrl => submission_link(settings, host, session.id),
            BuiltinToken::EndName => end.map(|node: &Node| node.name.clone()).unwrap_or_default(),
            BuiltinToken::Date => date(base.clock().now(), &visit.zone),
            BuiltinToken::ResumeUrl => self.resume_url(visit, session),
        })
    }
}

/// The day of a moment.
pub(super) fn date(now: Millis, zone: &TimeZone) -> String {
    let now = Timestamp::from_millisecond(now).unwrap_or_default();
    now.to_zoned(zone.clone()).date().to_string()
}

/// The first active rule for this event whose condition holds; a rule without one always matches.
fn choose<'a>(
    rules: &'a [Rule],
    trigger: Trigger,
    answers: &Map<String, Json>,
    around: &Surroundings,
) -> Option<&'a Rule> {
    candidates(rules, trigger).find(|rule| read(rule).evaluate(answers, around))
}

/// Every active rule for this event, whether its condition holds, and why.
pub(in crate::funnels) fn consider<'a>(
    rules: &'a [Rule],
    trigger: Trigger,
    answers: &Map<String, Json>,
    around: &Surroundings,
) -> Vec<(&'a Rule, (bool, Vec<Traced>))> {
    let one = |rule: &'a Rule| (rule, read(rule).trace(answers, around));
    candidates(rules, trigger).map(one).collect()
}

fn candidates(rules: &[Rule], trigger: Trigger) -> impl Iterator<Item = &Rule> {
    rules.iter().filter(move |rule| rule.is_active && rule.trigger == trigger)
}

fn read(rule: &Rule) -> Condition {
    Condition::read(rule.condition.as_ref().unwrap_or(&Json::Null))
}
