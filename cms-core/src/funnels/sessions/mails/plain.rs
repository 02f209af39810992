//! HTML as plain text, for the other part of a mail. Pure.

/// Tags after which a new line begins.
const BLOCKS: [&str; 14] =
    ["p", "br", "div", "li", "tr", "table", "ul", "ol", "h1", "h2", "h3", "h4", "blockquote", "hr"];
/// Entities that are read.
const ENTITIES: [(&str, &str); 7] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&apos;", "'"),
    ("&nbsp;", " "),
    // Last, so that nothing is read twice.
    ("&amp;", "&"),
];

/// The text of HTML: without tags, code and comments.
pub(super) fn text_of(html: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(html.len()), html);
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

#[cfg(test)]
mod tests {
    use super::text_of;

    #[test]
    fn html_is_read_as_people_do() {
        for (html, expected) in [
            ("<p>Hello <b>Ada</b>,</p>\n<p>a &lt;b&gt; &amp;lt;</p>", "Hello Ada,\n\na <b> &lt;"),
            ("a<br>\nb<br/>c", "a\nb\nc"),
            ("<style>p { }</style><script>x</script>a<!-- b -->c", "ac"),
            ("<table><tr><th>Name</th><td>Ada</td></tr></table>", "Name Ada"),
            ("a < b", "a"),
            ("<p", ""),
            ("", ""),
        ] {
            assert_eq!(text_of(html), expected, "{html}");
        }
    }
}
