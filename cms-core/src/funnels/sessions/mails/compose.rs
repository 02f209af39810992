//! The mails of a rule. Pure.

use super::{plain::text_of, template, values::Values};
use crate::{
    funnels::rules::{Rule, Trigger, entries, token},
    mail::{Mail, MailAddress, Subject},
};

/// Recipients of a rule at most, copies included.
const MOST: usize = 20;

/// Mails with their kinds, and why others are none.
#[derive(Debug, Default)]
pub(in crate::funnels) struct Composed {
    /// `notice` or `reply`.
    pub(in crate::funnels) mails: Vec<(&'static str, Mail)>,
    pub(in crate::funnels) skipped: Vec<String>,
}

/// The mails that a rule writes about answers: one for each recipient, and the confirmation.
pub(in crate::funnels) fn compose(rule: &Rule, values: &Values<'_>) -> Composed {
    let mut composed = Composed::default();
    let answered = values.first_mail().and_then(|mail| MailAddress::parse(mail).ok());
    // With each, whether the visitor named it: such mails are rationed as automatic replies are, so
    // that nobody sends his words to strangers through this site.
    let mut recipients: Vec<(MailAddress, bool)> = Vec::new();
    for (list, takes_tokens) in [(&rule.recipients, true), (&rule.cc, false), (&rule.bcc, false)] {
        // The list is taken apart before anything is put into it.
        for entry in entries(list) {
            match recipient(entry, takes_tokens, values) {
                Ok(to) if recipients.iter().any(|(known, _)| *known == to) => {}
                Ok(_) if recipients.len() == MOST => {
                    composed.skipped.push(format!("a mail rule has at most {MOST} recipients"));
                }
                Ok(to) => recipients.push((to, token(entry).is_some())),
                Err(why) => composed.skipped.push(why),
            }
        }
    }
    if !recipients.is_empty() {
        let (subject, html) = texts(&rule.subject, &rule.body_html, values);
        for (to, auto_reply) in recipients {
            let mail = Mail {
                auto_reply,
                reply_to: answered.clone(),
                html: Some(html.clone()),
                ..Mail::new("funnel.notice", to, subject.clone(), text_of(&html))
            };
            composed.mails.push(("notice", mail));
        }
    }
    if rule.auto_reply_enabled && rule.trigger == Trigger::Completed {
        match answered {
            None => composed.skipped.push("nobody to confirm to: no address was given".to_owned()),
            Some(to) => {
                let body = &rule.auto_reply_body_html;
                let (subject, html) = texts(&rule.auto_reply_subject, body, values);
                let mail = Mail {
                    auto_reply: true,
                    html: Some(html.clone()),
                    ..Mail::new("funnel.reply", to, subject, text_of(&html))
                };
                composed.mails.push(("reply", mail));
            }
        }
    }
    composed
}

/// One address: as it stands, or the answer to a field of type `email`.
fn recipient(entry: &str, takes_tokens: bool, values: &Values<'_>) -> Result<MailAddress, String> {
    let parse = |text: &str| {
        MailAddress::parse(text).map_err(|_| format!("{entry} is no address, or was not answered"))
    };
    match token(entry) {
        None => parse(entry),
        Some(_) if !takes_tokens => Err(format!("{entry}: copies go to fixed addresses only")),
        Some(field) => {
            let answer = values.mail(field);
            parse(answer.ok_or_else(|| format!("{entry}: no answer of type email"))?)
        }
    }
}

fn texts(subject: &str, body: &str, values: &Values<'_>) -> (Subject, String) {
    let subject = Subject::of(&template::text(subject, values));
    // Without a text of its own a mail shows all answers.
    let body = if body.trim().is_empty() { "{{*:table}}" } else { body };
    (subject, template::html(body, values))
}
