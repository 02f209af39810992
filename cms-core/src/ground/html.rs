//! HTML of authors: what is shown to visitors and sent in mails runs nothing. Whatever is not
//! known as harmless is left out or shown as text. Pure.

use std::fmt::Write as _;

/// Elements that only lay out.
pub(crate) const TAGS: [&str; 55] = [
    "a",
    "abbr",
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "hr",
    "html",
    "i",
    "img",
    "ins",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
];
/// Elements that are left out with all that is in them.
const WHOLE: [&str; 12] = [
    "applet", "audio", "embed", "iframe", "math", "noscript", "object", "script", "style", "svg",
    "template", "textarea",
];
/// Attributes that only lay out, or name.
const ATTRIBUTES: [&str; 30] = [
    "align",
    "alt",
    "aria-hidden",
    "aria-label",
    "bgcolor",
    "border",
    "cellpadding",
    "cellspacing",
    "class",
    "color",
    "cols",
    "colspan",
    "dir",
    "face",
    "height",
    "href",
    "hspace",
    "id",
    "lang",
    "name",
    "role",
    "rowspan",
    "size",
    "span",
    "src",
    "style",
    "title",
    "valign",
    "vspace",
    "width",
];
/// What an address may begin with.
const ADDRESSES: [&str; 7] = ["https://", "http://", "mailto:", "tel:", "cid:", "/", "#"];

/// The harmless part of a text. What it returns it returns again.
pub(crate) fn harmless(html: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(html.len()), html);
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        if rest.starts_with("<!") || rest.starts_with("<?") {
            rest = rest.split_once('>').map_or("", |(_, after)| after);
            continue;
        }
        match tag(rest) {
            None => {
                kept.push_str("&lt;");
                rest = &rest[1..];
            }
            Some((tag, after)) => {
                rest = after;
                if TAGS.contains(&tag.name.as_str()) {
                    tag.write(&mut kept);
                } else if !tag.closes && WHOLE.contains(&tag.name.as_str()) {
                    rest = behind(rest, &tag.name);
                }
            }
        }
    }
    kept + rest
}

struct Tag {
    closes: bool,
    name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn write(&self, to: &mut String) {
        if self.closes {
            let _ = write!(to, "</{}>", self.name);
            return;
        }
        let _ = write!(to, "<{}", self.name);
        let kept = |(name, value): &(String, String)| match name.as_str() {
            "style" => Some(layout(value)).filter(|kept| !kept.is_empty()),
            name => is_harmless(name, value).then(|| value.clone()),
        };
        for (attribute, value) in self.attributes.iter().filter_map(|one| Some((one, kept(one)?))) {
            let name = &attribute.0;
            let value = value.replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;");
            let _ = write!(to, " {name}=\"{value}\"");
        }
        to.push('>');
    }
}

fn is_harmless(name: &str, value: &str) -> bool {
    if !ATTRIBUTES.contains(&name) {
        return false;
    }
    match name {
        "href" | "src" => is_address(&bare(value)),
        "style" => layout(value) == value,
        _ => true,
    }
}

/// As browsers read it: they leave out blanks and controls.
fn bare(value: &str) -> String {
    let text: String = value.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    text.to_lowercase()
}

/// The declarations of a style that lay out what is in the text: none that puts it over the page,
/// none that loads or runs anything.
fn layout(style: &str) -> String {
    let kept = style.split(';').filter(|one| is_layout(&bare(one)));
    kept.collect::<Vec<_>>().join(";").trim().to_owned()
}

fn is_layout(declaration: &str) -> bool {
    const FORBIDDEN: [&str; 7] = ["{{", "&", "\\", "/*", "@", "<", ">"];
    const CALLS: [&str; 5] = ["rgb", "rgba", "hsl", "hsla", "calc"];
    const PROPERTIES: [&str; 34] = [
        "background",
        "background-color",
        "border",
        "border-collapse",
        "border-color",
        "border-radius",
        "border-spacing",
        "border-style",
        "border-width",
        "box-sizing",
        "color",
        "direction",
        "display",
        "font",
        "font-family",
        "font-size",
        "font-style",
        "font-weight",
        "height",
        "letter-spacing",
        "line-height",
        "list-style-type",
        "margin",
        "opacity",
        "overflow",
        "padding",
        "text-align",
        "text-decoration",
        "text-transform",
        "vertical-align",
        "white-space",
        "width",
        "word-break",
        "word-spacing",
    ];
    let Some((name, value)) = declaration.split_once(':') else { return false };
    // Sides and limits: border-top-color, padding-left, max-width.
    let whole = name.strip_prefix("max-").or(name.strip_prefix("min-")).unwrap_or(name);
    let sides = ["-top", "-right", "-bottom", "-left"];
    let property = sides.iter().fold(whole.to_owned(), |name, side| name.replace(side, ""));
    let mut calls = value.split('(').rev().skip(1);
    PROPERTIES.contains(&property.as_str())
        && !FORBIDDEN.iter().any(|part| declaration.contains(part))
        && calls.all(|before| CALLS.iter().any(|call| before.ends_with(call)))
        // A negative margin moves the text over the page.
        && !(property == "margin" && value.contains('-'))
}

/// Whether an address begins as one of those known, or is a token with a path behind it at most.
fn is_address(text: &str) -> bool {
    let is_known = |text: &str| ADDRESSES.iter().any(|start| text.starts_with(start));
    let token = text.strip_prefix("{{").and_then(|rest| rest.split_once("}}"));
    let Some((token, behind)) = token else { return is_known(text) };
    let fallback = token.split_once('|').map(|(_, fallback)| fallback);
    let goes_on = behind.is_empty() || behind.starts_with(['/', '?', '#']);
    goes_on && fallback.is_none_or(|fallback| fallback.is_empty() || is_known(fallback))
}

/// The tag at the beginning of a text, and what follows it. None: it is no tag.
fn tag(text: &str) -> Option<(Tag, &str)> {
    let inner = text.strip_prefix('<')?;
    let (closes, inner) = match inner.strip_prefix('/') {
        Some(inner) => (true, inner),
        None => (false, inner),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '_');
    let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
    let (name, mut rest) = inner.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        if let Some(after) = rest.strip_prefix('>') {
            let name = name.to_ascii_lowercase();
            return Some((Tag { closes, name, attributes }, after));
        }
        // A tag without an end, or with another inside: none that a browser should guess at.
        if rest.is_empty() || rest.starts_with('<') {
            return None;
        }
        let ends = |c: char| c.is_whitespace() || matches!(c, '=' | '>' | '<' | '/');
        let end = rest.char_indices().skip(1).find(|(_, c)| ends(*c)).map_or(rest.len(), |at| at.0);
        let (name, after) = rest.split_at(end);
        let (value, after) = match after.trim_start().strip_prefix('=') {
            None => (String::new(), after),
            Some(after) => value(after.trim_start())?,
        };
        attributes.push((name.to_ascii_lowercase(), value));
        rest = after;
    }
}

/// The value of an attribute, and what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            let (value, after) = inner.split_once(quote)?;
            return Some((value.to_owned(), after));
        }
    }
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '<' | '>'))?;
    let (value, after) = text.split_at(end);
    (!after.starts_with('<')).then(|| (value.to_owned(), after))
}

/// What follows the end of an element.
fn behind<'a>(text: &'a str, name: &str) -> &'a str {
    let ends = text.match_indices("</").map(|(at, _)| &text[at..]);
    let is_end = |end: &&str| {
        end[2..].get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
    };
    ends.into_iter().find(is_end).and_then(|end| end.split_once('>')).map_or("", |(_, after)| after)
}

#[cfg(test)]
mod judge;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lays_out_stays_and_what_runs_goes() {
        for (given, expected) in [
            ("Hello <b>you</b><br/>1 < 2 & so", "Hello <b>you</b><br>1 &lt; 2 & so"),
            ("<P CLASS='a b' align=left>x</P>", "<p class=\"a b\" align=\"left\">x</p>"),
            (
                "<a href=\"https://a.example/?x=1&amp;y\">x</a>",
                "<a href=\"https://a.example/?x=1&amp;y\">x</a>",
            ),
            ("<a href=\"{{ page }}\">x</a>", "<a href=\"{{ page }}\">x</a>"),
            ("<a href=\"{{ a }}javascript:alert(1)\">x</a>", "<a>x</a>"),
            ("<a href=\"{{ a | javascript:alert(1) }}\">x</a>", "<a>x</a>"),
            ("<a href=\"{{ a | /b }}?c\">x</a>", "<a href=\"{{ a | /b }}?c\">x</a>"),
            ("<a href=javascript:alert(1)>x</a>", "<a>x</a>"),
            ("<a href=\" java\tscript:alert(1)\">x</a>", "<a>x</a>"),
            ("<a href=\"&#106;avascript:alert(1)\">x</a>", "<a>x</a>"),
            ("<img src=\"data:text/html,x\" onerror=alert(1)>", "<img>"),
            ("<p style=\"color: red\">x</p>", "<p style=\"color: red\">x</p>"),
            ("<p style=\"background: url(x)\">x</p>", "<p>x</p>"),
            (
                "<p style=\"max-width:9em; Border-Top:1px solid\">x</p>",
                "<p style=\"max-width:9em; Border-Top:1px solid\">x</p>",
            ),
            ("<p style=\"position: fixed; inset: 0\">x</p>", "<p>x</p>"),
            ("<p style=\"color:red;pos/**/ition:fixed\">x</p>", "<p style=\"color:red\">x</p>"),
            (
                "<a style=\"display:inline-block;left:0;border-left-color:rgb(1, 2, 3)\">x</a>",
                "<a style=\"display:inline-block;border-left-color:rgb(1, 2, 3)\">x</a>",
            ),
            ("<p style=\"margin:-50vh -50vw\">x</p>", "<p>x</p>"),
            ("<p style=\"background:image-set('https://x/p' 1x)\">x</p>", "<p>x</p>"),
            ("<p style=\"margin\">x</p>", "<p>x</p>"),
            ("a<script>alert('</b>')</script >b", "ab"),
            ("a<SCRIPT SRC=x>b", "a"),
            ("<svg><a href=/>x</a></svg>y", "y"),
            ("<!-- <b> -->x<!doctype html>y<?php z ?>w", "xyw"),
            ("<form action=/x><input name=a>x</form>", "x"),
            ("<b onclick=\"x\" <script>alert(1)</script>", "&lt;b onclick=\"x\" "),
            ("<b title=\"a>b<c\">x</b>", "<b title=\"a&gt;b&lt;c\">x</b>"),
            ("<b title='\"onload=x'>", "<b title=\"&quot;onload=x\">"),
            ("<b", "&lt;b"),
            ("</ b>", "&lt;/ b>"),
            ("", ""),
        ] {
            assert_eq!(harmless(given), expected, "{given}");
        }
    }
}
