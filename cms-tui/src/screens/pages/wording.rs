//! The state of a page, and what two of its states differ in, in words. A sign stands beside each
//! colour: `+` new, `-` gone, `>` elsewhere, `~` with another value. Of two long texts, what both
//! begin and end with is left out; line ends that would not be seen are shown as `␍` and `⏎`.

use super::nodes;
use crate::{calls::uncut, screens::prelude::*};

/// Cells of a line that a value takes in a window of its own.
pub(super) const WIDE: usize = 86;
/// Lines of a value that are shown.
const MOST: usize = 500;
/// Differences that a question names.
const NAMED: usize = 3;

/// Published or not, changed or not, what is planned, how large.
pub(super) fn state(draft: &Json) -> Lines {
    let revision = draft["revision"].as_i64();
    let mut lines = vec![match (draft["published"] == true, revision) {
        (true, Some(n)) => (Role::Good, format!("● published as revision {n}")),
        (_, Some(n)) => (Role::Quiet, format!("○ hidden, last published as revision {n}")),
        _ => (Role::Quiet, "○ never published".to_owned()),
    }];
    lines.extend(revision.map(|_| match draft["changed"] == true {
        true => (Role::Warn, "◐ the draft has changed since".to_owned()),
        false => (Role::Good, "✓ the draft is what was published".to_owned()),
    }));
    for (name, what) in [("publish_at", "published"), ("take_off_at", "taken off")] {
        if let Some(at) = draft[name].as_str() {
            lines.push((Role::Warn, format!("⧖ will be {what} {} UTC", moment::minute(at))));
        }
    }
    let words = ["row", "column", "widget", "item"];
    let size = nodes::sizes(draft).into_iter().zip(words).map(|(n, word)| count(n, word));
    lines.push((Role::Plain, size.collect::<Vec<_>>().join(", ")));
    lines
}

/// What happened to the node of a difference, and what that means.
pub(super) fn sign(one: &Json) -> (char, Role) {
    match one["change"].as_str() {
        Some("added") => ('+', Role::Good),
        Some("removed") => ('-', Role::Bad),
        Some("moved") => ('>', Role::Warn),
        _ => ('~', Role::Warn),
    }
}

/// `title 3: title`, without the values.
fn named(one: &Json) -> String {
    let kind = one["widget"].as_str().or(one["kind"].as_str()).unwrap_or_default();
    let column = one["column"].as_str().map(|column| format!(": {column}"));
    plain_text(&format!("{kind} {}{}", one["id"], column.unwrap_or_default()).into())
}

/// As [`named`], and what happened to it: a question has no legend of signs.
fn said(one: &Json) -> String {
    let what = match sign(one).0 {
        '+' => "added",
        '-' => "removed",
        '>' => "moved",
        _ => "changed",
    };
    format!("{} {what}", named(one))
}

/// A difference with both values, in so many cells.
pub(super) fn difference(one: &Json, cells: usize) -> Lines {
    let (sign, role) = sign(one);
    let mut lines = vec![(role, format!("{sign} {}", named(one)))];
    match one["change"].as_str() {
        Some("moved") => {
            let [from, to] = ["from", "to"].map(|name| place(&one[name]));
            lines.extend(both(&from, &to, cells));
        }
        Some("changed") => lines.extend(changed(one, cells)),
        _ => {}
    }
    lines
}

/// Both texts, the old one first.
fn both(from: &str, to: &str, cells: usize) -> Lines {
    let mut lines = Vec::new();
    for (text, sign, role) in [(from, '-', Role::Bad), (to, '+', Role::Good)] {
        let indent = format!("  {sign} ");
        let said = paragraph(role, &indent, text, cells.saturating_sub(4).max(8));
        let more = said.len().saturating_sub(MOST);
        lines.extend(said.into_iter().take(MOST));
        lines.extend(left_out(more));
    }
    lines
}

/// The line that stands for lines that are not shown.
pub(super) fn left_out(more: usize) -> Option<(Role, String)> {
    (more > 0).then(|| (Role::Quiet, format!("  … {}", count(more, "more line"))))
}

/// Where two values differ. Those that a preview has cut may differ further on.
fn changed(one: &Json, cells: usize) -> Lines {
    let [from, to] = ["from", "to"].map(|name| value(&one[name]));
    let is_cut = uncut(&from).or(uncut(&to)).is_some();
    let [from, to] = [&from, &to].map(|text| uncut(text).unwrap_or(text));
    let mut lines = match apart(from, to) {
        Some((from, to)) => both(&from, &to, cells),
        None => return vec![(Role::Quiet, "  further on: c shows where".to_owned())],
    };
    lines.extend(is_cut.then(|| (Role::Quiet, "  … c shows the rest".to_owned())));
    lines
}

/// A value with its lines.
pub(super) fn value(value: &Json) -> String {
    match value {
        Json::Null => "(not set)".to_owned(),
        Json::String(text) if text.is_empty() => "(empty)".to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Where a node stood: `col 3, place 1`.
fn place(of: &Json) -> String {
    let members = of.as_object().into_iter().flatten();
    let mut parent = members.filter(|(name, _)| *name != "position");
    let stood = parent.next().map(|(name, id)| format!("{} {id}", name.trim_end_matches("_id")));
    let at = of["position"].as_i64().unwrap_or_default() + 1;
    // Of rows the page is left out.
    match stood.filter(|stood| !stood.starts_with("page ")) {
        Some(stood) => format!("{stood}, place {at}"),
        None => format!("place {at}"),
    }
}

/// Everything that differs.
pub(super) fn differences(found: &Json, cells: usize) -> Lines {
    let found = items(found);
    if found.is_empty() {
        return vec![(Role::Good, "✓ Nothing differs.".to_owned())];
    }
    let mut lines = vec![(Role::Title, count(found.len(), "difference"))];
    lines.extend(found.iter().flat_map(|one| difference(one, cells)));
    lines
}

/// How many, and the first of them by name, for a question.
pub(super) fn in_short(found: &[Json]) -> String {
    let mut shown: Vec<_> = found.iter().take(NAMED).map(said).collect();
    if found.len() > NAMED {
        shown.push(format!("and {} more", found.len() - NAMED));
    }
    format!("{} ({})", count(found.len(), "change"), shown.join(", "))
}

/// Characters of what is alike that stay beside a difference within a line.
const BESIDE: usize = 30;
/// Lines up to this length are shown whole.
const WHOLE: usize = 160;

/// The parts of two texts that differ; `…` stands where something alike is left out. None: they
/// are the same.
fn apart(from: &str, to: &str) -> Option<(String, String)> {
    if from == to {
        return None;
    }
    let returns = |text: &str| text.matches('\r').count();
    if returns(from) != returns(to) {
        let [from, to] = [from, to].map(|text| text.replace('\r', "␍"));
        return apart(&from, &to);
    }
    let (old, new): (Vec<_>, Vec<_>) = (from.split('\n').collect(), to.split('\n').collect());
    let before = alike(old.iter(), new.iter());
    let most = old.len().min(new.len()) - before;
    let behind = alike(old.iter().rev(), new.iter().rev()).min(most);
    let [old, new] = [old, new].map(|lines| lines[before..lines.len() - behind].to_vec());
    if let ([one], [other]) = (&old[..], &new[..])
        && one.len().max(other.len()) > WHOLE
    {
        return Some(within(one, other));
    }
    Some((shown(&old, before, behind), shown(&new, before, behind)))
}

fn alike<T: PartialEq>(one: impl Iterator<Item = T>, other: impl Iterator<Item = T>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}

fn shown(lines: &[&str], before: usize, behind: usize) -> String {
    let mut all = Vec::new();
    all.extend((before > 0).then_some("…"));
    let is_blank = lines.iter().all(|line| line.trim().is_empty());
    all.extend(lines.iter().map(|line| if is_blank { "⏎" } else { *line }));
    all.extend((behind > 0).then_some("…"));
    all.join("\n")
}

/// The parts of two long lines that differ, with a little of what stands beside them.
fn within(one: &str, other: &str) -> (String, String) {
    let [old, new]: [Vec<char>; 2] = [one, other].map(|line| line.chars().collect());
    let before = alike(old.iter(), new.iter());
    let most = old.len().min(new.len()) - before;
    let behind = alike(old.iter().rev(), new.iter().rev()).min(most);
    let (skipped, left) = (before.saturating_sub(BESIDE), behind.saturating_sub(BESIDE));
    let part = |line: &[char]| {
        let text: String = line[skipped..line.len() - left].iter().collect();
        let dots = |count: usize| if count > 0 { "…" } else { "" };
        format!("{}{text}{}", dots(skipped), dots(left))
    };
    (part(&old), part(&new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_is_told() {
        let changed = |from: String, to: String| {
            let one = json!({"change": "changed", "kind": "widget", "id": 4, "widget": "html",
                "column": "text", "from": from, "to": to});
            let lines = difference(&one, 40).into_iter().skip(1);
            lines.map(|(_, line)| line).collect::<Vec<_>>()
        };
        // Both were cut at the same place, one of them is longer.
        let cut = |kb: usize| format!("{}… ({kb} KB)", "x".repeat(400));
        assert_eq!(changed(cut(2), cut(3)), ["  further on: c shows where"]);
        let lines = changed(cut(2), "y".to_owned());
        assert_eq!(lines.last().map(String::as_str), Some("  … c shows the rest"));
        assert!(lines.iter().all(|line| !line.contains("KB")), "{lines:?}");
        let lines = changed("a\n".repeat(MOST + 7), "b".to_owned());
        assert_eq!(lines[MOST..], ["  … 7 more lines", "  + b"]);
    }

    #[test]
    fn a_page_that_was_never_published_has_not_changed_since() {
        let draft = json!({"changed": true, "revision": null, "published": false, "rows": [],
            "publish_at": "2027-01-02T06:00:00Z"});
        let said: Vec<_> = state(&draft).into_iter().map(|(_, line)| line).collect();
        let size = "0 rows, 0 columns, 0 widgets, 0 items";
        assert_eq!(said.len(), 3, "{said:?}");
        assert_eq!((said[0].as_str(), said[2].as_str()), ("○ never published", size));
        assert_eq!(said[1], "⧖ will be published 2027-01-02 06:00 UTC");
    }

    #[test]
    fn each_difference_has_a_sign_beside_its_colour() {
        let found = json!([
            {"change": "removed", "kind": "widget", "id": 3, "widget": "html"},
            {"change": "added", "kind": "row", "id": 8},
            {"change": "moved", "kind": "widget", "id": 4, "widget": "title",
             "from": {"col_id": 2, "position": 0}, "to": {"col_id": 3, "position": 1}},
            {"change": "moved", "kind": "row", "id": 8,
             "from": {"page_id": 0, "position": 0}, "to": {"page_id": 0, "position": 1}},
            {"change": "changed", "kind": "widget", "id": 4, "widget": "title", "column": "title",
             "from": "A\u{1b}[2J", "to": null},
        ]);
        let lines = differences(&found, 40);
        let said: Vec<_> = lines.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(
            said,
            [
                "5 differences", "- html 3", "+ row 8", "> title 4", "  - col 2, place 1",
                "  + col 3, place 2", "> row 8", "  - place 1", "  + place 2", "~ title 4: title",
                "  - A\\u001b[2J", "  + (not set)",
            ]
        );
        let found = found.as_array().expect("a list");
        assert_eq!(
            in_short(found),
            "5 changes (html 3 removed, row 8 added, title 4 moved, and 2 more)"
        );
    }

    #[test]
    fn what_is_alike_is_left_out() {
        let some = |from: &str, to: &str| Some((from.to_owned(), to.to_owned()));
        for (from, to, expected) in [
            ("same", "same", None),
            ("A", "B", some("A", "B")),
            ("a\nb\nc", "a\nx\ny\nc", some("…\nb\n…", "…\nx\ny\n…")),
            ("a\nb", "a\nb\nc", some("…", "…\nc")),
            ("x\nx", "x", some("…\nx", "…")),
            ("", "a", some("⏎", "a")),
            ("a\n", "a", some("…\n⏎", "…")),
            ("a\n\nb", "a\nb", some("…\n⏎\n…", "…\n…")),
            ("a\r\nb\r\n", "a\nb\n", some("a␍\nb␍\n…", "a\nb\n…")),
            ("a\r\nb\r", "c\r\nb\r", some("a\r\n…", "c\r\n…")),
        ] {
            assert_eq!(apart(from, to), expected, "{from:?} → {to:?}");
        }
    }

    #[test]
    fn of_long_lines_only_what_is_near_is_shown() {
        let line = |word: &str| format!("<p>{}{word}{}</p>", "日".repeat(300), "ä".repeat(300));
        let (old, new) = apart(&line("old"), &line("new")).expect("they differ");
        let around = |word: &str| format!("…{}{word}{}…", "日".repeat(30), "ä".repeat(30));
        assert_eq!((old, new), (around("old"), around("new")));
    }
}
