//! "Did you mean": the known word nearest to a mistyped one.

/// The candidate that `word` probably means: one that differs only by the table before its dot,
/// else the nearest by edits, if at most a third of the letters (or one) differ, else one that
/// begins with `word`.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl Iterator<Item = &'c str> + Clone,
) -> Option<&'c str> {
    let forgot_table =
        |candidate: &&str| candidate.rsplit_once('.').is_some_and(|(_, last)| last == word);
    let misplaced =
        |candidate: &&str| word.rsplit_once('.').is_some_and(|(_, last)| last == *candidate);
    let lower = word.to_lowercase();
    let begun = |candidate: &&str| lower.len() > 3 && candidate.to_lowercase().starts_with(&lower);
    let near = || {
        let distances = candidates.clone().map(|c| (distance(&lower, &c.to_lowercase()), c));
        let (distance, best) = distances.min_by_key(|(distance, _)| *distance)?;
        (distance <= 1.max(word.len() / 3)).then_some(best)
    };
    let find = |rule: &dyn Fn(&&'c str) -> bool| candidates.clone().find(rule);
    find(&forgot_table).or_else(|| find(&misplaced)).or_else(near).or_else(|| find(&begun))
}

/// Number of letters to insert, remove, replace or swap with the next to get from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            let mut edits = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                edits = edits.min(before[j - 1] + 1);
            }
            next.push(edits);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let table = [
            ("", "", 0),
            ("", "ab", 2),
            ("listen", "lisen", 1),
            ("kitten", "sitting", 3),
            ("ab", "ba", 1),
            ("icno", "icon", 1),
        ];
        for (a, b, edits) in table {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }

    #[test]
    fn suggestions() {
        let known = ["listen", "languages", "webhooks.allow_http", "db_pw", "db_db"];
        let table = [
            ("lisen", Some("listen")),
            ("langauges", Some("languages")),
            ("allow_http", Some("webhooks.allow_http")),
            ("http.listen", Some("listen")),
            ("webhook.allow_http", Some("webhooks.allow_http")),
            ("LISTEN", Some("listen")),
            ("lang", Some("languages")),
            ("colour", None),
        ];
        for (word, meant) in table {
            assert_eq!(nearest(word, known.into_iter()), meant, "{word}");
        }
    }
}
