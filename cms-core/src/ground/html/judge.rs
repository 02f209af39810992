//! Random texts, cleaned, and then read as browsers read HTML: by the tokeniser of the HTML
//! standard (13.2.5), which shares nothing with what it judges.

use proptest::prelude::*;

use super::harmless;

/// A start tag as a browser sees it: its name, and its attributes with their entities read.
#[derive(Debug)]
struct Seen {
    name: String,
    attributes: Vec<(String, String)>,
}

/// Where the tokeniser stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Data,
    TagOpen,
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    Quoted(char),
    Unquoted,
    AfterQuoted,
    Markup,
}

/// The start tags of a text. Err: something else than text and tags, or a tag without an end.
fn tags(html: &str) -> Result<Vec<Seen>, String> {
    let mut found: Vec<Seen> = Vec::new();
    let (mut state, mut is_end) = (State::Data, false);
    let blank = |c: char| matches!(c, '\t' | '\n' | '\x0c' | '\r' | ' ');
    let new = || Seen { name: String::new(), attributes: Vec::new() };
    let mut at = new();
    let mut chars = html.chars().peekable();
    while let Some(c) = chars.next() {
        let done = |at: &mut Seen, found: &mut Vec<Seen>, is_end: bool| {
            let seen = std::mem::replace(at, new());
            if !is_end {
                found.push(seen);
            }
            State::Data
        };
        state = match (state, c) {
            (State::Data, '<') => {
                is_end = chars.next_if_eq(&'/').is_some();
                State::TagOpen
            }
            (State::Data, _) => State::Data,
            (State::TagOpen, c) if c.is_ascii_alphabetic() => {
                at.name.push(c.to_ascii_lowercase());
                State::TagName
            }
            (State::TagOpen, '!' | '?') => State::Markup,
            // `</ b>` is a comment to browsers, `< b` is text.
            (State::TagOpen, _) if is_end => State::Markup,
            (State::TagOpen, _) => State::Data,
            (State::Markup, _) => return Err(format!("a comment or a declaration: {html:?}")),
            (State::Quoted(quote), c) if c == quote => State::AfterQuoted,
            (State::Quoted(quote), c) => {
                if let Some((_, value)) = at.attributes.last_mut() {
                    value.push(c);
                }
                State::Quoted(quote)
            }
            (State::BeforeValue, c) if blank(c) => State::BeforeValue,
            (State::BeforeValue, '"' | '\'') => State::Quoted(c),
            (_, '>') => done(&mut at, &mut found, is_end),
            (State::Unquoted, c) if blank(c) => State::BeforeName,
            (State::BeforeValue | State::Unquoted, c) => {
                if let Some((_, value)) = at.attributes.last_mut() {
                    value.push(c);
                }
                State::Unquoted
            }
            (State::TagName, c) if blank(c) || c == '/' => State::BeforeName,
            (State::TagName, c) => {
                at.name.push(c.to_ascii_lowercase());
                State::TagName
            }
            (State::Name, '=') | (State::AfterName, '=') => State::BeforeValue,
            (State::Name, c) if blank(c) => State::AfterName,
            (State::AfterName, c) if blank(c) => State::AfterName,
            (State::Name | State::AfterName | State::BeforeName | State::AfterQuoted, '/') => {
                State::BeforeName
            }
            (State::Name, c) => {
                if let Some((name, _)) = at.attributes.last_mut() {
                    name.push(c.to_ascii_lowercase());
                }
                State::Name
            }
            (State::BeforeName | State::AfterQuoted, c) if blank(c) => State::BeforeName,
            (State::BeforeName | State::AfterName | State::AfterQuoted, c) => {
                at.attributes.push((c.to_ascii_lowercase().to_string(), String::new()));
                State::Name
            }
        };
    }
    if state != State::Data {
        return Err(format!("a tag without an end: {html:?}"));
    }
    for seen in &mut found {
        for (_, value) in &mut seen.attributes {
            *value = read(value);
        }
    }
    Ok(found)
}

/// A value with its entities read, as far as they hide a scheme.
fn read(value: &str) -> String {
    let (mut out, mut rest) = (String::new(), value);
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let named = [
            ("colon;", ":"),
            ("Tab;", "\t"),
            ("NewLine;", "\n"),
            ("lpar;", "("),
            ("quot;", "\""),
            ("lt;", "<"),
            ("gt;", ">"),
            ("amp;", "&"),
            ("sol;", "/"),
            ("bsol;", "\\"),
        ];
        if let Some((name, text)) = named.iter().find(|(name, _)| after.starts_with(name)) {
            out.push_str(text);
            rest = &after[name.len()..];
            continue;
        }
        let number = after.strip_prefix('#').and_then(|digits| {
            let (digits, base) = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => (hex, 16),
                None => (digits, 10),
            };
            let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
            let code = u32::from_str_radix(&digits[..end], base).ok()?;
            let rest = digits[end..].strip_prefix(';').unwrap_or(&digits[end..]);
            Some((char::from_u32(code)?, rest))
        });
        match number {
            Some((c, after)) => {
                out.push(c);
                rest = after;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out + rest
}

/// Why a browser would run or load something, or let it cover the page.
fn fault(seen: &Seen) -> Option<String> {
    const RUNS: [&str; 26] = [
        "script", "style", "iframe", "frame", "frameset", "object", "embed", "applet", "form",
        "input", "button", "select", "textarea", "link", "meta", "base", "svg", "math", "template",
        "noscript", "audio", "video", "source", "track", "portal", "dialog",
    ];
    if RUNS.contains(&seen.name.as_str()) {
        return Some(format!("<{}>", seen.name));
    }
    seen.attributes.iter().find_map(|(name, value)| {
        let is_address = [
            "href",
            "src",
            "action",
            "formaction",
            "background",
            "poster",
            "data",
            "srcdoc",
            "srcset",
            "ping",
            "cite",
            "longdesc",
            "xlink:href",
        ]
        .contains(&name.as_str());
        // Browsers leave these out of addresses.
        let bare: String =
            value.chars().filter(|c| *c > ' ' && !c.is_control()).collect::<String>();
        let bare = bare.to_lowercase();
        let scheme = bare.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        });
        let runs = scheme
            .is_some_and(|scheme| !["https", "http", "mailto", "tel", "cid"].contains(&scheme));
        let covers = ["url(", "expression", "@import", "position:", "image-set", "\\", "behavior"];
        let is_bad = name.starts_with("on")
            || (is_address && (runs || !["href", "src"].contains(&name.as_str())))
            || (name == "style" && covers.iter().any(|part| bare.contains(part)));
        is_bad.then(|| format!("{name}={value:?}"))
    })
}

fn judge(given: &str) -> Result<(), String> {
    let kept = harmless(given);
    if harmless(&kept) != kept {
        return Err(format!("{kept:?} is another text the second time"));
    }
    match tags(&kept)?.iter().find_map(fault) {
        Some(why) => Err(format!("{why} in {kept:?}")),
        None => Ok(()),
    }
}

/// The judge finds what it is there for.
#[test]
fn the_judge_is_awake() {
    for bad in [
        "<script>",
        "<a href=javascript:x>",
        "<a href=' java\tscript:x'>",
        "<b ONCLICK=x>",
        "<a href=\"&#106;avascript&colon;x\">",
        "<img/src=data:x>",
        "<b style='position:fixed'>",
        "<b/onclick=x>",
        "<b a='x'onclick=x>",
        "<a href = \"vbscript:x\">",
        "<svg/onload=x>",
        "<b style=\"back&#103;round:url(x)\">",
    ] {
        let seen = tags(bad).expect(bad);
        assert!(seen.iter().find_map(fault).is_some(), "{bad}");
    }
    for bad in ["<!-- x -->", "<b", "</ b>", "<?php x ?>", "<b a=\"x>"] {
        assert!(tags(bad).is_err(), "{bad}");
    }
    for good in ["a < b", "<b title='a>b'>", "<a href=\"https://x.example/?a=b:c\">x</a>", "</b>"] {
        let seen = tags(good).expect(good);
        assert_eq!(seen.iter().find_map(fault), None, "{good}");
    }
}

fn parts() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "<script",
        "</script>",
        "<b ",
        "<b/",
        "onclick=",
        " onerror = ",
        "<svg",
        "<a href=",
        "<a href=\"",
        "javascript:x",
        "java&Tab;script&colon;x",
        "&#x6a;avascript:",
        "data:,x",
        "<!--",
        "-->",
        "--!>",
        "<style>",
        "</style",
        "'",
        "\"",
        ">",
        "<img src=x ",
        "style=\"",
        "position:fixed;",
        "background:url(x)",
        "{{ a }}",
        "{{ a | javascript:x }}",
        "\0",
        "\x0c",
        "\t",
        "\n",
        "/",
        "=",
        "`",
        "&quot;",
        "&lt;",
        "<textarea>",
        "<title>",
        "<p title='",
        "é",
        "\u{2028}",
        "<math><mi//xlink:href=",
        "<![CDATA[",
        "]]>",
        "</",
        "<//",
        "< ",
    ]);
    prop_oneof![1 => "[<>/='\" a-z!&;:-]{0,4}", 3 => known.prop_map(str::to_owned)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]
    #[test]
    fn nothing_that_runs_is_left(parts in proptest::collection::vec(parts(), 0..14)) {
        prop_assert_eq!(judge(&parts.concat()), Ok(()));
    }
}
