//! Sanitizes HTML of authors, which is shown to visitors and sent in mails. The result runs no
//! code, and has no names that could shadow those of the page's own code (DOM clobbering).
//! `ammonia` does the work; this file holds the policy.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

use ammonia::{Builder, UrlRelative};

/// Elements of old mails, beside those that ammonia takes.
const OF_MAILS: [&str; 3] = ["big", "font", "tfoot"];
/// Elements that are left out with all that is in them.
const WHOLE: [&str; 13] = [
    "applet", "audio", "embed", "iframe", "math", "noscript", "object", "script", "style", "svg",
    "template", "textarea", "title",
];
/// Attributes of every element that only lay out; no `id` and no `name`.
const LAYOUT: [&str; 17] = [
    "align", "aria-hidden", "aria-label", "bgcolor", "border", "cellpadding", "cellspacing",
    "class", "color", "dir", "face", "height", "role", "size", "style", "valign", "width",
];
const SCHEMES: [&str; 5] = ["https", "http", "mailto", "tel", "cid"];
/// Style properties that lay out the text; none that can put it over the page.
const PROPERTIES: [&str; 44] = [
    "background", "background-color", "border", "border-bottom", "border-collapse", "border-color",
    "border-left", "border-radius", "border-right", "border-spacing", "border-style", "border-top",
    "border-width", "box-sizing", "color", "display", "font", "font-family", "font-size",
    "font-style", "font-weight", "height", "letter-spacing", "line-height", "list-style-type",
    "margin", "margin-bottom", "margin-left", "margin-right", "margin-top", "max-height",
    "max-width", "min-width", "opacity", "padding", "padding-bottom", "padding-left",
    "padding-right", "padding-top", "text-align", "text-decoration", "text-transform",
    "vertical-align", "width",
];

static POLICY: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::default();
    builder
        .add_tags(&OF_MAILS)
        .clean_content_tags(WHOLE.into())
        .add_generic_attributes(&LAYOUT)
        .url_schemes(SCHEMES.into())
        .url_relative(UrlRelative::Custom(Box::new(relative)))
        .filter_style_properties(PROPERTIES.into())
        .link_rel(None);
    builder
});

/// The harmless part of a text, as HTML.
pub(crate) fn sanitize(html: &str) -> String {
    POLICY.clean(html).to_string()
}

/// Elements that sanitized HTML can hold.
pub(crate) fn tags() -> HashSet<&'static str> {
    POLICY.clone_tags()
}

/// An address without a scheme, if it is a path of this site, a place in the page, or a token
/// with at most a path behind it. Tokens are filled in, and escaped, later.
fn relative(address: &str) -> Option<Cow<'_, str>> {
    let is_ours = |text: &str| text.is_empty() || text.starts_with(['/', '#']);
    let is_known = |text: &str| {
        is_ours(text)
            || SCHEMES
                .iter()
                .any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| rest.starts_with(':')))
    };
    let text = address.trim();
    let token = text.strip_prefix("{{").and_then(|rest| rest.split_once("}}"));
    let holds = match token {
        None => is_ours(text),
        Some((token, behind)) => {
            let fallback = token.split_once('|').map_or("", |(_, fallback)| fallback.trim());
            (behind.is_empty() || behind.starts_with(['/', '?', '#'])) && is_known(fallback)
        }
    };
    holds.then_some(Cow::Borrowed(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lays_out_stays_and_what_runs_goes() {
        for (given, expected) in [
            ("Hello <b>you</b><br/>1 < 2 & so", "Hello <b>you</b><br>1 &lt; 2 &amp; so"),
            ("<P CLASS='a b' align=left>x</P>", "<p class=\"a b\" align=\"left\">x</p>"),
            (
                "<a href=\"https://a.example/?x=1&amp;y\">x</a>",
                "<a href=\"https://a.example/?x=1&amp;y\">x</a>",
            ),
            ("<a href=\"{{ page }}\">{{ a | b }}</a>", "<a href=\"{{ page }}\">{{ a | b }}</a>"),
            ("<a href=\"{{ a }}javascript:alert(1)\">x</a>", "<a>x</a>"),
            ("<a href=\"{{ a | javascript:alert(1) }}\">x</a>", "<a>x</a>"),
            ("<a href=\"{{ a | /b }}?c\">x</a>", "<a href=\"{{ a | /b }}?c\">x</a>"),
            ("<a href=\"{{ a | https://b }}\">x</a>", "<a href=\"{{ a | https://b }}\">x</a>"),
            ("<a href=/x#y>x</a><a href=#y>x</a>", "<a href=\"/x#y\">x</a><a href=\"#y\">x</a>"),
            ("<a href=x>x</a><a href=../x>x</a>", "<a>x</a><a>x</a>"),
            ("<img src=\"cid:logo\" id=a name=b>", "<img src=\"cid:logo\">"),
            ("<img src=\"data:text/html,x\" onerror=alert(1)>", "<img>"),
            ("<p style=\"color: red\">x</p>", "<p style=\"color:red\">x</p>"),
            ("<p style=\"position: fixed; inset: 0\">x</p>", "<p style=\"\">x</p>"),
            ("<p style=\"color:red;pos/**/ition:fixed\">x</p>", "<p style=\"color:red\">x</p>"),
            ("<p style=\"background:url(javascript:x)\">x</p>", "<p style=\"\">x</p>"),
            ("<font color=red size=2>x</font>", "<font color=\"red\" size=\"2\">x</font>"),
            ("a<script>alert('</b>')</script >b", "ab"),
            ("a<SCRIPT SRC=x>b", "a"),
            ("<svg><a href=/>x</a></svg>y", "y"),
            ("<!-- <b> -->x<!doctype html>y<?php z ?>w", "xyw"),
            ("<form action=/x><input name=a>x</form>", "x"),
            ("<html><head><title>t</title></head><body><p>x</p></body></html>", "<p>x</p>"),
            ("", ""),
        ] {
            let kept = sanitize(given);
            assert_eq!(kept, expected, "{given}");
            assert_eq!(sanitize(&kept), kept, "{given}");
        }
    }
}
