//! Mails at the end of a visit. The first mail rule that matches decides who gets them, with their
//! plain text and the links in them; `template` fills texts with tokens.

use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Map, Value as Json};

use super::{
    session::{Session, Trail},
    template::{self, Values},
    visit::Visit,
};
use crate::{
    Change, Code, Millis, Result,
    conditions::{Condition, Surroundings, Traced},
    funnels::{
        Funnels, definitions,
        graph::Node,
        rules::{BuiltinToken, Rule, Trigger, entries, token},
        subject,
    },
    ground::crypto::sha256_hex,
    mail::{Mail, MailAddress, Subject},
    settings::Settings,
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
        let stored = definitions::sql::rules(&mut *change, session.funnel).await?;
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
pub(super) fn consider<'a>(
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

/// Maximum number of recipients of a rule, including copies.
const MOST: usize = 20;

/// Mails with their kinds, and why some recipients get none.
#[derive(Debug, Default)]
pub(super) struct Composed {
    /// `notice` or `reply`.
    pub(super) mails: Vec<(&'static str, Mail)>,
    pub(super) skipped: Vec<String>,
}

/// The mails of a rule: one for each recipient, and the confirmation.
pub(super) fn compose(rule: &Rule, values: &Values<'_>) -> Composed {
    let mut composed = Composed::default();
    let answered = values.first_mail().and_then(|mail| MailAddress::parse(mail).ok());
    // With each address, whether the visitor named it. Such mails are rationed like automatic
    // replies, so that nobody can send texts to strangers through this site.
    let mut recipients: Vec<(MailAddress, bool)> = Vec::new();
    for (list, takes_tokens) in [(&rule.recipients, true), (&rule.cc, false), (&rule.bcc, false)] {
        // The list is split before tokens are replaced, so that no value can add recipients.
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
                // In a notice to the visitor, replies go to the sender.
                reply_to: answered.clone().filter(|own| *own != to),
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

/// One address: the entry itself, or the answer to a field of type `email`.
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

/// The name under which a page finds the token of a visit. The part of an address behind `#`
/// reaches no server, so no server logs the token.
const TOKEN: &str = "cms-resume";
/// The placeholder for the id of a submission in the setting.
const ID: &str = "{id}";

/// The address of a submission: from the settings, else in the API. Blank if no such
/// address is known.
pub(super) fn submission_link(settings: &Settings, host: Option<&str>, id: i64) -> String {
    if let Some(shown) = &settings.mail.submission_url {
        return shown.replace(ID, &id.to_string());
    }
    let api = settings.api_url.clone().or_else(|| settings.site_url.clone());
    let Some(api) = api.or_else(|| Some(format!("https://{}", host?))) else {
        return String::new();
    };
    let api = api.trim_end_matches('/');
    format!("{api}/api/backend/formfunnel?action=submission_get&id={id}")
}

/// The address of a funnel's page that leads back to a visit.
pub(super) fn resume_link(page: &str, token: &str) -> String {
    format!("{page}#{TOKEN}={token}")
}

/// Tags after which a new line begins.
const BLOCKS: [&str; 14] =
    ["p", "br", "div", "li", "tr", "table", "ul", "ol", "h1", "h2", "h3", "h4", "blockquote", "hr"];
/// Entities that are decoded.
const ENTITIES: [(&str, &str); 7] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&apos;", "'"),
    ("&nbsp;", " "),
    // Last, so that nothing is decoded twice.
    ("&amp;", "&"),
];

/// The text of HTML: without tags, code and comments. The address of a link follows its text.
fn text_of(html: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(html.len()), html);
    // Where the text of a link begins, and its address.
    let mut link = None;
    while let Some((text, tagged)) = rest.split_once('<') {
        out.push_str(&text.replace(['\n', '\r', '\t'], " "));
        if let Some(comment) = tagged.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let (tag, after) = tagged.split_once('>').unwrap_or((tagged, ""));
        let is_end = tag.starts_with('/');
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next();
        let name = name.unwrap_or_default().to_ascii_lowercase();
        rest = after;
        match name.as_str() {
            "script" | "style" | "head" if !is_end => {
                let end = format!("</{name}");
                let at = after.to_ascii_lowercase().find(&end).unwrap_or(after.len());
                rest = &after[at..];
            }
            "th" | "td" if is_end => out.push_str("  "),
            "a" if !is_end => link = web_address(tag).map(|address| (out.len(), address)),
            "a" => {
                let said = link.take().filter(|(at, address)| out[*at..].trim() != *address);
                if let Some((_, address)) = said {
                    out.extend([" (", address, ")"]);
                }
            }
            name if BLOCKS.contains(&name) => out.push('\n'),
            _ => {}
        }
    }
    out.push_str(&rest.replace(['\n', '\r', '\t'], " "));
    let text = ENTITIES.iter().fold(out, |text, (entity, c)| text.replace(entity, c));
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if !(line.is_empty() && lines.last().is_none_or(String::is_empty)) {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

/// The address that a tag leads to, if it is one of the web.
fn web_address(tag: &str) -> Option<&str> {
    let (_, rest) = tag.split_once(" href=\"")?;
    let (address, _) = rest.split_once('"')?;
    ["http:", "https:"].iter().any(|scheme| address.starts_with(scheme)).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_is_shown_where_the_settings_say() {
        let mut settings = Settings::default();
        let api = |site: &str| format!("{site}/api/backend/formfunnel?action=submission_get&id=7");
        assert_eq!(submission_link(&settings, None, 7), "");
        assert_eq!(submission_link(&settings, Some("a.org:8443"), 7), api("https://a.org:8443"));
        settings.site_url = Some("https://b.org".to_owned());
        assert_eq!(submission_link(&settings, Some("a.org"), 7), api("https://b.org"));
        settings.api_url = Some("https://b.org/cms".to_owned());
        assert_eq!(submission_link(&settings, Some("a.org"), 7), api("https://b.org/cms"));
        settings.mail.submission_url = Some("https://admin.b.org/leads/{id}?of={id}".to_owned());
        let shown = "https://admin.b.org/leads/7?of=7";
        assert_eq!(submission_link(&settings, Some("a.org"), 7), shown);
    }

    #[test]
    fn html_is_read_as_people_do() {
        for (html, expected) in [
            ("<p>Hello <b>Ada</b>,</p>\n<p>a &lt;b&gt; &amp;lt;</p>", "Hello Ada,\n\na <b> &lt;"),
            ("a<br>\nb<br/>c", "a\nb\nc"),
            ("<style>p { }</style><script>x</script>a<!-- b -->c", "ac"),
            ("<table><tr><th>Name</th><td>Ada</td></tr></table>", "Name Ada"),
            (
                "<p><a href=\"https://a.org/?x=1&amp;y=2\" rel=\"noopener\">Go <b>on</b></a>.</p>",
                "Go on (https://a.org/?x=1&y=2).",
            ),
            ("<a href=\"http://a.org/\"> http://a.org/ </a>", "http://a.org/"),
            ("<a href=\"http://a.org\"><img src=\"x\"></a> b</a>", "(http://a.org) b"),
            ("<a href=\"mailto:a@b.org\">Write</a> <a name=\"x\">or</a>", "Write or"),
            ("a < b", "a"),
            ("<p", ""),
            ("", ""),
        ] {
            assert_eq!(text_of(html), expected, "{html}");
        }
    }
}
