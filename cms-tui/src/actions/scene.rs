//! The state that actions depend on.

use serde_json::Value as Json;

use super::Right;
use crate::text;

/// The screen, its rows and the user's rights.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene<'a> {
    /// The noun of the screen.
    pub(crate) noun: &'a str,
    /// Whether the screen has a list.
    pub(crate) is_list: bool,
    /// What the screen is about, such as the table of its records.
    pub(crate) subject: Json,
    pub(crate) row: Option<&'a Json>,
    /// Marked rows, by id.
    pub(crate) marks: Vec<&'a Json>,
    /// All rows that match the filter are marked.
    pub(crate) is_all: bool,
    /// The user's permission keys; None: the user holds everything, or is not known yet.
    pub(crate) rights: Option<&'a [String]>,
    /// What names the site on a command line, such as `--context prod`.
    pub(crate) site: &'a str,
    /// The filter that is in force.
    pub(crate) filter: &'a str,
    /// The column that the list is sorted by, and whether downwards.
    pub(crate) sort: Option<(&'a str, bool)>,
    /// Who the user is, once known.
    pub(crate) who: &'a str,
    /// Whether the caller is the operator.
    pub(crate) is_operator: bool,
    pub(crate) readonly: bool,
    pub(crate) now: i64,
}

impl<'a> Scene<'a> {
    /// The marked rows, else the one under the cursor.
    pub(crate) fn rows(&self) -> Vec<&'a Json> {
        if self.marks.is_empty() { self.row.into_iter().collect() } else { self.marks.clone() }
    }

    /// Says which right is missing.
    pub(super) fn missing(&self, right: Right) -> Option<String> {
        match (right, self.rights) {
            (Right::Local, _) if !self.is_operator => {
                Some("only on the site's own machine, with --dir and without --as".to_owned())
            }
            (Right::Holds(key), held) if !right.is_held(held) => {
                Some(format!("needs the right {key}, which you do not hold"))
            }
            (Right::Admin, Some(_)) => Some("only administrators may".to_owned()),
            _ => None,
        }
    }

    /// A command line with each `{member}` filled in from these rows, else from the subject.
    pub(super) fn fill(&self, line: &str, rows: &[&Json]) -> String {
        let mut filled = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, behind)) = after.split_once('}') else { break };
            filled.push_str(before);
            let value = |from: &Json| member(from, name).and_then(|text| quoted(&text));
            let words: Vec<_> = rows.iter().filter_map(|row| value(row)).collect();
            match (words.len() == rows.len() && !rows.is_empty(), value(&self.subject)) {
                (true, _) => filled.push_str(&words.join(" ")),
                (false, Some(value)) => filled.push_str(&value),
                (false, None) => filled.push_str(&name.to_uppercase()),
            }
            rest = behind;
        }
        filled + rest
    }

    /// The words of a command that the user has defined. A value fills one word and is
    /// never an option.
    ///
    /// # Errors
    /// For a missing value, or one that a command line could read as something else.
    pub(crate) fn own_words(&self, line: &str) -> Result<Vec<String>, String> {
        let rows = match self.rows() {
            rows if rows.is_empty() => vec![&self.subject],
            rows => rows,
        };
        let mut words = Vec::new();
        for word in text::split(line).ok_or("keys.toml: a quote is not closed")? {
            let filled: Result<Vec<_>, _> = rows.iter().map(|row| self.word(&word, row)).collect();
            let mut filled = filled?;
            filled.dedup();
            words.extend(filled);
        }
        Ok(words)
    }

    fn word(&self, word: &str, row: &Json) -> Result<String, String> {
        let (mut filled, mut rest) = (String::new(), word);
        while let Some((before, after)) = rest.split_once('{') {
            let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            let Some((name, behind)) = after.split_once('}').filter(|(name, _)| is_name(name))
            else {
                break;
            };
            let value = member(row, name).or_else(|| member(&self.subject, name));
            let value = value.ok_or_else(|| format!("keys.toml: there is no {name} here"))?;
            if value.starts_with('-') || value.contains(char::is_control) {
                let value = text::safe(&value);
                return Err(format!("the {name} {value:?} could be taken for an option or a key"));
            }
            filled.push_str(before);
            filled.push_str(&value);
            rest = behind;
        }
        Ok(filled + rest)
    }
}

fn member(json: &Json, name: &str) -> Option<String> {
    match json.get(name)? {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Array(parts) => serde_json::to_string(parts).ok(),
        _ => None,
    }
}

/// One word of a shell command. None: a terminal would obey the text when the line is pasted.
pub(crate) fn quoted(text: &str) -> Option<String> {
    if text.contains(char::is_control) {
        return None;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return Some(text.to_owned());
    }
    Some(format!("'{}'", text.replace('\'', r"'\''")))
}
