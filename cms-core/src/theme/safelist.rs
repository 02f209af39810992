//! Class names that PurgeCSS keeps although no source file of the theme holds them: those that
//! Nuxt makes while it runs, and those that editors choose. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{ground::html, pages::widgets};

/// The variables that add names, in the order of [`Safelist::new`]: comma-separated beginnings.
const VARIABLES: [&str; 3] = [
    "NUXT_PURGECSS_SAFELIST_STANDARD",
    "NUXT_PURGECSS_SAFELIST_GREEDY",
    "NUXT_PURGECSS_SAFELIST_DEEP",
];

/// What Nuxt and Vue add while a page runs.
const STANDARD: [&str; 5] = ["^html$", "^body$", "^__nuxt", "^nuxt-", "^router-link-"];
/// Transitions, moved lists and scoped styles of Vue.
const GREEDY: [&str; 3] =
    ["^.*-(?:enter|leave|appear)(?:-(?:from|to|active))?$", "^.+-move$", "^.*data-v-"];

/// Patterns of class, id and tag names for PurgeCSS's `safelist`. Each begins with `^` and is a
/// regular expression of JavaScript, with or without its flags `u` and `v`.
///
/// - `standard`: keeps a selector's part with such a name; its other parts must be found.
/// - `greedy`: one part with such a name keeps the whole selector.
/// - `deep`: keeps such a part and all that is to its right.
///
/// ```
/// use cms_core::theme::Safelist;
/// let list = Safelist::new("btn-, card", "swiper", "prose");
/// assert!(list.standard.contains(&"^btn-".to_owned()));
/// assert!(list.greedy.contains(&"^.*swiper".to_owned()));
/// assert_eq!(list.deep, ["^prose"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Safelist {
    /// Names that begin so.
    pub standard: Vec<String>,
    /// Names that contain this.
    pub greedy: Vec<String>,
    /// Names that begin so, with everything below them.
    pub deep: Vec<String>,
}

impl Safelist {
    /// The defaults and the names of three comma-separated texts. Empty entries count for nothing.
    #[must_use]
    pub fn new(standard: &str, greedy: &str, deep: &str) -> Self {
        let defaults = STANDARD.map(str::to_owned).into_iter().chain(tags()).chain(choices());
        Self {
            standard: merged(defaults, standard, "^"),
            greedy: merged(GREEDY.map(str::to_owned), greedy, "^.*"),
            deep: merged([], deep, "^"),
        }
    }

    /// As [`Safelist::new`], with the values of the variables; `variable` finds one by its name.
    #[must_use]
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let [standard, greedy, deep] = VARIABLES.map(|name| variable(name).unwrap_or_default());
        Self::new(&standard, &greedy, &deep)
    }

    /// An ES module whose default export is the `safelist` option, with its patterns as regular
    /// expressions. JSON has none, and PurgeCSS takes a text for a literal name.
    #[must_use]
    pub fn to_js(&self) -> String {
        let list = |name: &str, patterns: &[String]| {
            let lines = patterns.iter().map(|pattern| format!("    /{pattern}/,\n"));
            format!("  {name}: [\n{}  ],\n", lines.collect::<String>())
        };
        format!(
            "export default {{\n{}{}{}}}\n",
            list("standard", &self.standard),
            list("greedy", &self.greedy),
            list("deep", &self.deep)
        )
    }
}

/// Tags that rich text can hold.
fn tags() -> impl Iterator<Item = String> {
    BTreeSet::from_iter(html::tags()).into_iter().map(|tag| format!("^{tag}$"))
}

/// `align-center`: the choice of an editor in a field of a built-in widget.
fn choices() -> impl Iterator<Item = String> {
    widgets::choices().into_iter().map(|(row, options)| {
        let options: Vec<_> = options.iter().map(|option| escaped(option)).collect();
        format!("^{}-(?:{})$", escaped(&row), options.join("|"))
    })
}

fn merged(defaults: impl IntoIterator<Item = String>, names: &str, start: &str) -> Vec<String> {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let all = defaults.into_iter().chain(names.map(|name| format!("{start}{}", escaped(name))));
    let mut seen = BTreeSet::new();
    all.filter(|pattern| seen.insert(pattern.clone())).collect()
}

/// A text that a pattern matches literally. Only what JavaScript lets be escaped under every flag
/// is escaped; the `regex` crate escapes more.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|'
            | '/' => pattern.extend(['\\', letter]),
            // Would end the line of a literal.
            letter if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') => {
                pattern.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => pattern.push(letter),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_literal_and_empty_entries_are_dropped() {
        let list = Safelist::new(" btn-,,md:a/b , btn-,", "a.b", ",");
        let own = |patterns: &[String], defaults: usize| patterns[defaults..].to_vec();
        let defaults = Safelist::new("", "", "");
        assert_eq!(own(&list.standard, defaults.standard.len()), ["^btn-", r"^md:a\/b"]);
        assert_eq!(own(&list.greedy, defaults.greedy.len()), [r"^.*a\.b"]);
        assert!(list.deep.is_empty());
        assert_eq!(escaped("a\nb\u{2028}-#&~"), r"a\u000ab\u2028-#&~");
    }

    #[test]
    fn what_editors_choose_is_kept() {
        let list = Safelist::from_variables(|name| (name == VARIABLES[2]).then(|| "x".to_owned()));
        for pattern in ["^table$", "^blockquote$", "^align-(?:center|left|right)$"] {
            assert!(list.standard.iter().any(|one| one == pattern), "{pattern}");
        }
        assert_eq!(list.deep, ["^x"]);
        let all = list.standard.iter().chain(&list.greedy).chain(&list.deep);
        assert!(all.clone().all(|pattern| pattern.starts_with('^')));
        assert_eq!(list.to_js().matches("    /^").count(), all.count());
    }
}
