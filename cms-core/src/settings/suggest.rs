//! "Did you mean": the known word nearest to a mistyped one.

/// The candidate that `word` probably means: one that differs only by the table before its dot, or
/// else the nearest by edits, if at most a third of the letters differ.
pub(super) fn nearest<'c>(
    word: &str,
    candidates: impl Iterator<Item = &'c str> + Clone,
) -> Option<&'c str> {
    let forgot_table =
        |candidate: &&str| candidate.rsplit_once('.').is_some_and(|(_, last)| last == word);
    let misplaced =
        |candidate: &&str| word.rsplit_once('.').is_some_and(|(_, last)| last == *candidate);
    candidates.clone().find(forgot_table).or_else(|| candidates.clone().find(misplaced)).or_else(
        || {
            let (distance, best) =
                candidates.map(|c| (distance(word, c), c)).min_by_key(|(distance, _)| *distance)?;
            (distance <= 1.max(word.len() / 3)).then_some(best)
        },
    )
}

/// Number of letters to insert, remove or replace to get from `a` to `b` (Levenshtein distance).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
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
            ("ab", "ba", 2),
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
            ("colour", None),
        ];
        for (word, meant) in table {
            assert_eq!(nearest(word, known.into_iter()), meant, "{word}");
        }
    }
}
