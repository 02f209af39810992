//! Which entries of the audit log are asked for.

use std::collections::BTreeSet;

use crate::{Code, Error, Millis, Result};

/// Actors that have an id.
const CALLERS: [&str; 2] = ["user", "key"];
/// Actors that have none.
const OTHERS: [&str; 4] = ["operator", "system", "visitor", "application"];

/// Selects entries of the audit log.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AuditFilter {
    /// Only changes of these tables; empty: of all.
    pub tables: BTreeSet<String>,
    /// Only changes of the rows with this id. Needs a table, because an id names a row of one.
    pub row: Option<String>,
    /// Only changes that this actor made.
    pub actor: Option<ActorName>,
    /// Only changes of this time or later, in milliseconds.
    pub since: Option<Millis>,
    /// Only changes before this time, in milliseconds.
    pub until: Option<Millis>,
}

impl AuditFilter {
    /// # Errors
    /// `bad_query` for a row without a table.
    pub(super) fn check(&self) -> Result<()> {
        if self.row.is_some() && self.tables.is_empty() {
            let detail = "id names a row of a table: name the table too, such as table=users&id=3.";
            return Err(Error::new(Code::BadQuery, detail));
        }
        Ok(())
    }
}

/// Who made a change, without the name: `user:3`, `key:5`, `operator`, `system`, `visitor` or
/// `application`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActorName {
    pub(super) kind: &'static str,
    pub(super) id: Option<i64>,
}

impl ActorName {
    /// What [`ActorName::parse`] takes, as far as a regular expression can say.
    pub const PATTERN: &'static str =
        "^((user|key):[0-9]{1,18}|operator|system|visitor|application)$";

    /// Reads `user:3`.
    ///
    /// # Errors
    /// `bad_query` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let known =
            |kinds: &[&'static str], kind: &str| kinds.iter().copied().find(|one| *one == kind);
        let found = match text.split_once(':') {
            Some((kind, id)) => known(&CALLERS, kind)
                .zip(id.parse().ok())
                .map(|(kind, id)| Self { kind, id: Some(id) }),
            None => known(&OTHERS, text).map(|kind| Self { kind, id: None }),
        };
        found.ok_or_else(|| {
            let detail = "actor is user:3 or key:5 with the id, or operator, system, visitor or \
                          application.";
            Error::new(Code::BadQuery, detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actors_are_callers_with_an_id_and_others_without() {
        for (text, expected) in [
            ("user:3", Some(("user", Some(3)))),
            ("key:5", Some(("key", Some(5)))),
            ("operator", Some(("operator", None))),
            ("system", Some(("system", None))),
            ("visitor", Some(("visitor", None))),
            ("user", None),
            ("user:", None),
            ("user:ana", None),
            ("operator:1", None),
            ("system:", None),
            ("User:3", None),
            ("user:99999999999999999999", None),
            ("", None),
        ] {
            let found = ActorName::parse(text).ok().map(|actor| (actor.kind, actor.id));
            assert_eq!(found, expected, "{text}");
        }
    }
}
