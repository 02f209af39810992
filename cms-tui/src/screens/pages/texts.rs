//! Where two texts differ: what both begin and end with is left out. Line ends that would not be
//! seen are shown as `␍` and `⏎`. Pure.

/// Characters of what is alike that stay beside a difference within a line.
const BESIDE: usize = 30;
/// Lines up to this length are shown whole.
const WHOLE: usize = 160;

/// The parts of two texts that differ; `…` stands where something alike is left out. None: they
/// are the same.
pub(super) fn apart(from: &str, to: &str) -> Option<(String, String)> {
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
