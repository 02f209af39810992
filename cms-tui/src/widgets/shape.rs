//! A list as the user wants it: order and width of its columns, and the order of its rows.

use serde::{Deserialize, Serialize};

/// Wider columns are mistyped.
const WIDEST: usize = 400;

/// What is remembered of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Shape {
    /// Columns in their order; those it does not name come behind, as usual.
    columns: Vec<Wanted>,
    /// Column and whether downwards.
    pub(crate) sort: Option<(String, bool)>,
}

/// A column as the user wants it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Wanted {
    name: String,
    /// In cells; None: as usual.
    width: Option<usize>,
    is_hidden: bool,
}

impl Shape {
    /// The columns by name and usual width, put in order: what is left of them.
    pub(crate) fn arrange<C>(
        &self,
        mut usual: Vec<C>,
        name: impl Fn(&C) -> &str,
        widen: impl Fn(&mut C, usize),
    ) -> Vec<C> {
        let mut arranged = Vec::new();
        for wanted in &self.columns {
            let Some(at) = usual.iter().position(|one| name(one) == wanted.name) else { continue };
            let mut column = usual.remove(at);
            if let Some(width) = wanted.width {
                widen(&mut column, width);
            }
            if !wanted.is_hidden {
                arranged.push(column);
            }
        }
        arranged.extend(usual);
        arranged
    }

    /// A line for each column, to be edited: `name`, `name 20`, `- name`.
    pub(crate) fn text(&self, usual: &[&str]) -> String {
        let line = |wanted: &Wanted| {
            let sign = if wanted.is_hidden { "- " } else { "" };
            let width = wanted.width.map(|width| format!(" {width}")).unwrap_or_default();
            format!("{sign}{}{width}", wanted.name)
        };
        let known = self.columns.iter().filter(|one| usual.contains(&one.name.as_str()));
        let new = usual.iter().filter(|name| !self.columns.iter().any(|one| one.name == **name));
        known.map(line).chain(new.map(|name| (*name).to_owned())).collect::<Vec<_>>().join("\n")
    }

    /// Reads the lines. A column without a line is hidden.
    ///
    /// # Errors
    /// A sentence that names the line.
    pub(crate) fn read(&mut self, text: &str, usual: &[&str]) -> Result<(), String> {
        let mut columns: Vec<Wanted> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (is_hidden, rest) = match line.strip_prefix('-') {
                Some(rest) => (true, rest.trim()),
                None => (false, line),
            };
            let (name, width) = match rest.rsplit_once(' ') {
                Some((name, width)) => (name.trim(), Some(width)),
                None => (rest, None),
            };
            let known = usual.iter().find(|one| one.eq_ignore_ascii_case(name));
            let Some(name) = known else {
                return Err(format!("{line:?}: there is no column {name:?}"));
            };
            if columns.iter().any(|one| one.name == *name) {
                return Err(format!("{line:?}: {name} stands twice"));
            }
            let width = match width.map(str::parse::<usize>) {
                None => None,
                Some(Ok(width @ 1..=WIDEST)) => Some(width),
                Some(_) => return Err(format!("{line:?}: a width is a number from 1 to {WIDEST}")),
            };
            columns.push(Wanted { name: (*name).to_owned(), width, is_hidden });
        }
        if columns.iter().all(|one| one.is_hidden) {
            return Err("one column at least must be shown".to_owned());
        }
        for name in usual {
            if !columns.iter().any(|one| one.name == *name) {
                columns.push(Wanted { name: (*name).to_owned(), width: None, is_hidden: true });
            }
        }
        self.columns = columns;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: [&str; 3] = ["name", "url", "state"];

    fn arranged(shape: &Shape) -> Vec<(&'static str, usize)> {
        let usual = USUAL.map(|name| (name, 0)).to_vec();
        shape.arrange(usual, |(name, _)| name, |(_, cells), width| *cells = width)
    }

    #[test]
    fn lines_order_widen_and_hide_columns() {
        let mut shape = Shape::default();
        assert_eq!(shape.text(&USUAL), "name\nurl\nstate");
        assert_eq!(arranged(&shape), [("name", 0), ("url", 0), ("state", 0)]);
        shape.read("STATE 12\n\nname", &USUAL).expect("a shape");
        assert_eq!(arranged(&shape), [("state", 12), ("name", 0)]);
        assert_eq!(shape.text(&USUAL), "state 12\nname\n- url");
        shape.read("- name\nurl 40", &USUAL).expect("a shape");
        assert_eq!(arranged(&shape), [("url", 40)]);
        let kept: Shape = serde_json::from_str(&serde_json::to_string(&shape).expect("JSON"))
            .expect("what was kept");
        assert_eq!(kept, shape);
    }

    #[test]
    fn a_wrong_line_is_named_and_changes_nothing() {
        let mut shape = Shape::default();
        for wrong in ["nam", "name x", "name 0", "name 9999", "name\nname", "- name", ""] {
            let why = shape.read(wrong, &USUAL).expect_err(wrong);
            assert!(!why.is_empty());
        }
        assert_eq!(shape, Shape::default());
    }
}
