//! Places in a file.

use std::collections::BTreeMap;

use crate::plugins::problem::Place;

/// The starts of a text's lines.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { text, starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    pub(super) fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        Place { line, column: before.chars().count() + 1 }
    }
}

/// The places of values, by their pointers.
#[derive(Default)]
pub(in crate::plugins) struct Places {
    pub(super) of: BTreeMap<String, Place>,
    /// Members that the file spells differently from the pointers of checks.
    pub(super) spelled: Vec<(&'static str, &'static str)>,
}

impl Places {
    /// The pointer as the file spells it, and the place of the deepest known value on its path.
    pub(in crate::plugins) fn find(&self, pointer: &str) -> (String, Option<Place>) {
        let other = self.spelled.iter().find_map(|(name, spelling)| {
            let rest = pointer.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{spelling}{rest}"))
        });
        let pointer = other.unwrap_or_else(|| pointer.to_owned());
        let mut part = pointer.as_str();
        loop {
            if let Some(place) = self.of.get(part) {
                return (pointer.clone(), Some(*place));
            }
            match part.rfind('/') {
                Some(end) => part = &part[..end],
                None => return (pointer, None),
            }
        }
    }
}
