//! What an action looks at.

use serde_json::Value as Json;

use super::Right;

/// Where the user is, on what, with which rights.
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
    /// Permission keys; None: everything, or not known.
    pub(crate) rights: Option<&'a [String]>,
    /// The filter in force.
    pub(crate) filter: &'a str,
    pub(crate) is_local: bool,
    pub(crate) readonly: bool,
    pub(crate) now: i64,
}

impl<'a> Scene<'a> {
    /// The marked rows, else the one under the cursor.
    pub(crate) fn rows(&self) -> Vec<&'a Json> {
        if self.marks.is_empty() { self.row.into_iter().collect() } else { self.marks.clone() }
    }

    /// What is missing for a right.
    pub(super) fn missing(&self, right: Right) -> Option<String> {
        match (right, self.rights) {
            (Right::Local, _) if !self.is_local => {
                Some("only on the site's own machine, with --dir".to_owned())
            }
            (Right::Holds(key), Some(held)) if !held.iter().any(|one| one == key) => {
                Some(format!("needs the right {key}, which you do not hold"))
            }
            (Right::Admin, Some(_)) => Some("only administrators may".to_owned()),
            _ => None,
        }
    }

    /// A command line with its `{member}`s filled from the row, else from the subject.
    pub(super) fn fill(&self, line: &str) -> String {
        let mut filled = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, behind)) = after.split_once('}') else { break };
            filled.push_str(before);
            let value = |from: Option<&Json>| from.and_then(|json| member(json, name));
            let rows: Vec<_> = self.rows().iter().filter_map(|row| value(Some(row))).collect();
            match (rows.is_empty(), value(Some(&self.subject))) {
                (false, _) => filled.push_str(&rows.join(" ")),
                (true, Some(value)) => filled.push_str(&value),
                (true, None) => filled.push_str(&name.to_uppercase()),
            }
            rest = behind;
        }
        filled + rest
    }
}

/// A member as one word of a shell.
fn member(json: &Json, name: &str) -> Option<String> {
    let text = match json.get(name)? {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        Json::Array(parts) => serde_json::to_string(parts).ok()?,
        _ => return None,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return Some(text);
    }
    Some(format!("'{}'", text.replace('\'', r"'\''")))
}
