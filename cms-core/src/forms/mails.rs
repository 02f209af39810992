//! The mails that a submission causes: one to each recipient of its form.

use super::form::Form;
use crate::{
    fields::Answer,
    mail::{MAX_MAIL_BYTES, Mail, MailAddress, Subject, escape_html, shortened},
};

/// Characters of an answer at most.
const ANSWER: usize = 10_000;
/// An answer of that length as text and as HTML, where a character has up to six bytes, and lines
/// around it.
const ROOM: usize = 130_000;

/// The mails about a submission.
pub(super) fn notices(form: &Form, id: i64, summary: &str, answers: &[Answer]) -> Vec<Mail> {
    let title = if form.title.is_empty() { &form.name } else { &form.title };
    let subject = Subject::of(&format!("{title}: {summary}"));
    let (mut text, html) = bodies(answers);
    text.push_str(&format!("Form {}, submission {id}\n", form.name));
    let reply_to = answers.iter().find(|answer| answer.field_type == "email");
    let reply_to = reply_to.and_then(|answer| MailAddress::parse(&answer.text).ok());
    let mail = |recipient: &String| {
        let to = MailAddress::parse(recipient)
            .inspect_err(|error| tracing::warn!(form = form.name, %error, "no mail to a recipient"))
            .ok()?;
        Some(Mail {
            cause: Some(format!("submission {id}")),
            reply_to: reply_to.clone(),
            html: Some(html.clone()),
            ..Mail::new("form.notice", to, subject.clone(), text.clone())
        })
    };
    form.recipients.iter().filter_map(mail).collect()
}

/// The answers as text and as HTML: a submission never fails because its mail would be too large.
fn bodies(answers: &[Answer]) -> (String, String) {
    let (mut text, mut html) = (String::new(), "<table>".to_owned());
    for (at, answer) in answers.iter().enumerate() {
        if text.len() + html.len() + ROOM > MAX_MAIL_BYTES {
            let more =
                format!("{} more answers are stored with the submission.", answers.len() - at);
            text.push_str(&more);
            html.push_str(&format!("<tr><td colspan=\"2\">{more}</td></tr>"));
            break;
        }
        let name = if answer.label.is_empty() { &answer.field } else { &answer.label };
        let (name, value) = (shortened(name, 200), shortened(&answer.text, ANSWER));
        text.push_str(&format!("{name}\n{value}\n\n"));
        let (name, value) = (escape_html(&name), escape_html(&value));
        html.push_str(&format!("<tr><th align=\"left\">{name}</th><td>{value}</td></tr>"));
    }
    html.push_str("</table>");
    (text, html)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(label: &str, text: &str) -> Answer {
        Answer {
            field: "a".to_owned(),
            field_type: "long_text".to_owned(),
            label: label.to_owned(),
            value: text.into(),
            text: text.to_owned(),
            cell: None,
        }
    }

    #[test]
    fn values_are_escaped_and_no_mail_is_too_large() {
        let (text, html) = bodies(&[answer("<b>", "<script>&\"'\nx"), answer("", "{{ a }}")]);
        assert_eq!(text, "<b>\n<script>&\"'\nx\n\na\n{{ a }}\n\n");
        assert!(html.contains("&lt;b&gt;") && html.contains("&lt;script&gt;&amp;"), "{html}");
        assert!(!html.contains("<script") && html.contains("{{ a }}"), "{html}");
        for character in ["x", "\"", "\u{1f600}"] {
            let long = vec![answer(&character.repeat(500), &character.repeat(20_000)); 200];
            let (text, html) = bodies(&long);
            assert!(text.len() + html.len() <= MAX_MAIL_BYTES, "{character}");
            assert!(text.ends_with("stored with the submission."), "{character}");
        }
    }
}
