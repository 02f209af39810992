//! Texts with tokens such as `{{ name | you }}`, and the values of tokens. Pure. A value is never
//! read as a template or interpreted as markup.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Map, Value as Json};

use crate::{
    conditions::{Surroundings, find},
    fields::{Answer, plain},
    funnels::rules::tokens,
    mail::{escape_html, shortened},
};

/// Bytes after which values are left out, so that no submission makes a mail that is too large.
const MOST: usize = 300_000;
/// Maximum number of tokens that are replaced in a text.
const TOKENS: usize = 200;
/// Characters that are encoded in a whole address. Characters with a meaning in addresses
/// are not encoded.
const IN_URL: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'\'').add(b'<').add(b'>').add(b'`');
/// The same for a part of an address, where characters with a meaning are encoded too.
const IN_PART: &AsciiSet =
    &IN_URL.add(b'&').add(b'#').add(b'?').add(b'/').add(b'%').add(b'=').add(b'+').add(b':');
/// Schemes that links may have.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];
/// Attributes that hold an address.
const LINKS: [&str; 7] = ["href", "src", "action", "formaction", "background", "poster", "cite"];

/// A text with its tokens replaced by texts.
pub(super) fn text(template: &str, values: &Values<'_>) -> String {
    render(template, |value, _| plain_text(value), values)
}

/// HTML with its tokens replaced by values that are shown as they are.
pub(super) fn html(template: &str, values: &Values<'_>) -> String {
    let shown = |value: Value, before: &str| match context(before) {
        HtmlContext::Text => markup(value),
        HtmlContext::Attribute => escape_html(&plain_text(value)).replace("<br>\n", " "),
        HtmlContext::Url => url(&plain_text(value)),
        HtmlContext::UrlPart => utf8_percent_encode(&plain_text(value), IN_PART).to_string(),
        HtmlContext::Nowhere => String::new(),
    };
    render(template, shown, values)
}

/// Replaces tokens from left to right. `shown` gets the value and the template before the token.
fn render(template: &str, shown: impl Fn(Value, &str) -> String, values: &Values<'_>) -> String {
    let (mut out, mut at, mut left) = (String::with_capacity(template.len()), 0, TOKENS);
    let unescaped = |text: &str| text.replace("\\{{", "{{");
    for token in tokens(template) {
        out.push_str(&unescaped(&template[at..token.start]));
        let value = match values.get(token.name) {
            Value::Text(text) if text.trim().is_empty() => Value::Text(token.fallback.to_owned()),
            value => value,
        };
        if out.len() <= MOST && left > 0 {
            left -= 1;
            let mut text = shown(value, &template[..token.start]);
            if text.len() > MOST {
                text = "…".to_owned();
            }
            out.push_str(&text);
        } else {
            out.push('…');
        }
        at = token.end;
    }
    out.push_str(&unescaped(&template[at..]));
    out
}

fn plain_text(value: Value) -> String {
    match value {
        Value::Text(text) => text,
        Value::All(all) | Value::Table(all) => {
            let lines = all.into_iter().map(|(label, text)| format!("{label}: {text}"));
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

fn markup(value: Value) -> String {
    let rows = |all: Vec<(String, String)>, row: &dyn Fn(String, String) -> String| {
        let rows = all.iter().map(|(label, text)| row(escape_html(label), escape_html(text)));
        rows.collect::<String>()
    };
    match value {
        Value::Text(text) => escape_html(&text),
        Value::All(all) => {
            let item = |label, text| format!("<li><b>{label}</b>: {text}</li>");
            format!("<ul>{}</ul>", rows(all, &item))
        }
        Value::Table(all) => {
            let row =
                |label, text| format!("<tr><th align=\"left\">{label}</th><td>{text}</td></tr>");
            format!("<table>{}</table>", rows(all, &row))
        }
    }
}

/// The address of a link: only web and mail addresses. Any other address becomes `#`, whatever the
/// template has behind the token.
fn url(text: &str) -> String {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    if !SCHEMES.iter().any(|scheme| lower.starts_with(scheme)) {
        return "#".to_owned();
    }
    escape_html(&utf8_percent_encode(text, IN_URL).to_string())
}

/// The context of a token in HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HtmlContext {
    Text,
    Attribute,
    /// The beginning of an address.
    Url,
    /// Inside an address, after its beginning.
    UrlPart,
    /// Where no value is safe: code, styles, names.
    Nowhere,
}

/// The context of a token that follows this HTML.
fn context(before: &str) -> HtmlContext {
    let lower = before.to_ascii_lowercase();
    for code in ["script", "style"] {
        let opened = lower.rfind(&format!("<{code}"));
        if opened > lower.rfind(&format!("</{code}")) {
            return HtmlContext::Nowhere;
        }
    }
    let Some(tag) = open_tag(&lower) else { return HtmlContext::Text };
    let Some((name, value)) = attribute(tag) else { return HtmlContext::Nowhere };
    match name {
        _ if LINKS.contains(&name) && value.trim().is_empty() => HtmlContext::Url,
        _ if LINKS.contains(&name) => HtmlContext::UrlPart,
        "style" | "srcdoc" | "srcset" => HtmlContext::Nowhere,
        _ if name.starts_with("on") => HtmlContext::Nowhere,
        _ => HtmlContext::Attribute,
    }
}

/// The text after the `<` of a tag that is still open. A `>` in quotes does not close the tag.
fn open_tag(html: &str) -> Option<&str> {
    let (mut open, mut quote) = (None, None);
    let begins = |at: usize| {
        let next = html[at..].chars().next();
        next.is_none_or(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
    };
    for (at, c) in html.char_indices() {
        match (open, quote, c) {
            (None, _, '<') if begins(at + 1) => open = Some(at + 1),
            (Some(_), None, '>') => open = None,
            (Some(_), None, '"' | '\'') => quote = Some(c),
            (Some(_), Some(one), c) if c == one => quote = None,
            _ => {}
        }
    }
    open.map(|at| &html[at..])
}

/// The attribute whose quoted value is still open in a tag, and that value so far. Values without
/// quotes are not safe.
fn attribute(tag: &str) -> Option<(&str, &str)> {
    let (mut begun, mut quote) = (None, None);
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => (begun, quote) = (Some(at), Some(c)),
            (Some(one), c) if c == one => quote = None,
            _ => {}
        }
    }
    let at = begun.filter(|_| quote.is_some())?;
    let name = tag[..at].trim_end().strip_suffix('=')?.trim_end();
    let name = name.rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '/')).next()?;
    Some((name, &tag[at + 1..]))
}

/// Maximum characters of a value.
const LONGEST_VALUE: usize = 10_000;

/// The answers that count, and the other values of tokens.
pub(super) struct Values<'a> {
    answers: &'a [Answer],
    counting: &'a Map<String, Json>,
    around: &'a Surroundings,
    known: Vec<(&'static str, String)>,
}

/// The value of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    /// All answers: what was asked, and the answer.
    All(Vec<(String, String)>),
    /// The same as a table.
    Table(Vec<(String, String)>),
}

impl<'a> Values<'a> {
    pub(super) fn new(
        answers: &'a [Answer],
        counting: &'a Map<String, Json>,
        around: &'a Surroundings,
        known: Vec<(&'static str, String)>,
    ) -> Self {
        Self { answers, counting, around, known }
    }

    /// The value of a token; a blank text for an unknown token or a missing answer.
    pub(super) fn get(&self, name: &str) -> Value {
        match name {
            "*" => return Value::All(self.all()),
            "*:table" => return Value::Table(self.all()),
            _ => {}
        }
        let short = |text: &str| Value::Text(shortened(text, LONGEST_VALUE).into_owned());
        if let Some(id) = name.strip_prefix("label:") {
            return short(self.answer(id.trim()).map(label).unwrap_or_default());
        }
        if let Some(answer) = self.answer(name) {
            return short(&answer.text);
        }
        if let Some((_, text)) = self.known.iter().find(|(known, _)| *known == name) {
            return short(text);
        }
        short(&plain(&find(name, self.counting, self.around)))
    }

    /// The first answer to a field of type `email` in the order of the path. Hidden fields have
    /// another type.
    pub(super) fn first_mail(&self) -> Option<&'a str> {
        let mut mails = self.answers.iter().filter(|answer| answer.field_type == "email");
        mails.next().map(|answer| answer.text.as_str())
    }

    /// The answer to this field, if it is an address.
    pub(super) fn mail(&self, field: &str) -> Option<&'a str> {
        let mut mails = self.answers.iter().filter(|answer| answer.field_type == "email");
        mails.find(|answer| answer.field == field).map(|answer| answer.text.as_str())
    }

    fn answer(&self, id: &str) -> Option<&'a Answer> {
        self.answers.iter().find(|answer| answer.field == id)
    }

    fn all(&self) -> Vec<(String, String)> {
        let shown = self.answers.iter().filter(|answer| !answer.text.is_empty());
        let pair = |answer: &Answer| {
            let text = shortened(&answer.text, LONGEST_VALUE).into_owned();
            (shortened(label(answer), 200).into_owned(), text)
        };
        shown.map(pair).collect()
    }
}

fn label(answer: &Answer) -> &str {
    if answer.label.is_empty() { &answer.field } else { &answer.label }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::{conditions::Surroundings, fields::Answer};

    fn rendered(template: &str, is_html: bool) -> String {
        let answer = |field: &str, label: &str, text: &str| Answer {
            field: field.to_owned(),
            field_type: "short_text".to_owned(),
            label: label.to_owned(),
            value: text.into(),
            text: text.to_owned(),
            cell: None,
        };
        let answers = [
            answer("name", "Your name", "O'Brien <b>"),
            answer("next", "", "{{ name }}"),
            answer("url", "", "https://example.org/?a=1&b=\"x\""),
            answer("bad", "", "JavaScript:alert(1)"),
            answer("lines", "", "a\nb"),
            answer("blank", "", ""),
        ];
        let counting = json!({"address": {"city": "Köln"}, "topics": ["seo", "ads"]});
        let counting: Map<_, _> = counting.as_object().expect("answers").clone();
        let around = Surroundings::at(0).language("de");
        let known = vec![("_funnel.name", "Leads & more".to_owned())];
        let values = Values::new(&answers, &counting, &around, known);
        if is_html { html(template, &values) } else { text(template, &values) }
    }

    #[test]
    fn values_stand_for_tokens_in_texts() {
        for (template, expected) in [
            ("Hello {{name}}, {{ name }}!", "Hello O'Brien <b>, O'Brien <b>!"),
            ("{{next}}", "{{ name }}"),
            ("{{ blank | you }} {{gone|nobody}}{{ gone }}.", "you nobody."),
            ("{{address.city}} {{topics}} {{ topics.length }}", "Köln seo, ads 2"),
            ("{{label:name}} {{ label:next }} {{label:gone}}", "Your name next "),
            ("{{_funnel.name}} {{_lang}} {{_secret}}", "Leads & more de "),
            ("\\{{name}} {{name", "{{name}} {{name"),
            ("{{}}{{ | x }}", "x"),
            ("{{{blank | x}}} {{ {{ blank | x }} }} \\{{{x}}", "{x} {{ x }} {{{x}}"),
            ("\\{{{{name}} }}", "{{O'Brien <b> }}"),
            ("{{lines}}", "a\nb"),
        ] {
            assert_eq!(rendered(template, false), expected, "{template}");
        }
        assert!(rendered("{{*}}", false).starts_with("Your name: O'Brien <b>\nnext: {{ name }}\n"));
    }

    #[test]
    fn values_in_html_are_shown_and_never_obeyed() {
        for (template, expected) in [
            ("<p>{{name}}</p>", "<p>O&#39;Brien &lt;b&gt;</p>"),
            ("<p title=\"{{name}}\">", "<p title=\"O&#39;Brien &lt;b&gt;\">"),
            ("<p title=\"{{lines}}\">", "<p title=\"a b\">"),
            ("<a href=\"{{url}}\">", "<a href=\"https://example.org/?a=1&amp;b=%22x%22\">"),
            ("<a href='{{ bad }}'>", "<a href='#'>"),
            ("<a href='{{ blank }}javascript:x'>", "<a href='#javascript:x'>"),
            ("<a href='{{ gone | javascript:x }}'>", "<a href='#'>"),
            ("<a HREF = \"{{name}}\">", "<a HREF = \"#\">"),
            (
                "<a href=\"https://x.org/{{url}}\">",
                "<a href=\"https://x.org/https%3A%2F%2Fexample.org%2F%3Fa%3D1%26b%3D%22x%22\">",
            ),
            ("{{ open <a href=\"{{ bad }}\">x", "{{ open <a href=\"#\">x"),
            ("<a href={{url}}>", "<a href=>"),
            ("<p {{name}}=\"x\">", "<p =\"x\">"),
            ("<p onclick=\"{{name}}\" style=\"{{name}}\">", "<p onclick=\"\" style=\"\">"),
            ("<style>{{name}}</style>{{name}}", "<style></style>O&#39;Brien &lt;b&gt;"),
            ("<p title=\"a > b\">{{lines}}", "<p title=\"a > b\">a<br>\nb"),
            ("1 < 2 {{_funnel.name}} <{{name}}", "1 < 2 Leads &amp; more <"),
        ] {
            assert_eq!(rendered(template, true), expected, "{template}");
        }
        let table = rendered("{{*:table}}", true);
        assert!(table.starts_with("<table><tr><th align=\"left\">Your name</th><td>O&#39;Brien"));
        assert!(!rendered("{{*}}", true).contains("<b>\n"), "a label alone is bold");
    }

    #[test]
    fn no_mail_grows_without_end() {
        assert!(rendered(&"{{*}}".repeat(100_000), true).len() < 2 * MOST);
    }
}
