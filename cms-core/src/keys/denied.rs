//! The last call that a key was refused for lack of a right.

use std::collections::BTreeMap;

use super::{DeniedCall, KeyCall, Keys, Right, not_found, sql};
use crate::{Result, access, ground::clock};

/// Parameters that tell one call from another for whoever grants rights. Values of others may be
/// about people.
const TOLD: [&str; 2] = ["table", "action"];

/// The row of rights that allows this call and those like it.
pub(super) fn right_for(call: &KeyCall<'_>) -> Right {
    let sent = call.query.iter().filter(|(name, _)| TOLD.contains(&name.as_str())).cloned();
    let mut query: BTreeMap<_, _> = sent.collect();
    query.extend(call.body_table.map(|table| ("table".to_owned(), table.to_owned())));
    let method = if call.method == "HEAD" { "GET" } else { call.method };
    Right { endpoint: call.path.to_owned(), query, methods: vec![method.to_owned()] }
}

impl Keys {
    /// Remembers a call that was refused for lack of a right, if a right could allow it. As the
    /// counts, it is written at most once a minute.
    pub fn note_denied(&self, id: i64, call: &KeyCall<'_>) {
        let right = right_for(call);
        if access::problems(std::slice::from_ref(&right), &self.0.endpoints).is_empty() {
            let at = clock::rfc3339(self.0.base.clock().now());
            self.0.usage.note_denied(id, DeniedCall { at, right });
        }
    }

    /// The last call that a key was refused for lack of a right; None when there was none.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn last_denied(&self, id: i64) -> Result<Option<DeniedCall>> {
        let written = sql::last_denied(self.0.base.db(), id).await?.ok_or_else(|| not_found(id))?;
        let recent = self.0.usage.of(id).last_denied;
        // Another process may have written a later one.
        Ok(match (recent, written) {
            (Some(one), Some(other)) if one.at >= other.at => Some(one),
            (one, other) => other.or(one),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_allows_the_call_and_tells_no_values_of_others() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let query = [pair("table", "blog"), pair("filter[email][eq]", "ana@example.org")];
        for (method, path, query, body_table) in [
            ("HEAD", "/api/backend/item", &query[..], None),
            ("POST", "/api/backend/actions/checklist", &[][..], Some("blog")),
        ] {
            let call = KeyCall { method, path, query, body_table };
            let right = right_for(&call);
            assert!(right.allows(&call), "{right:?}");
            assert_eq!(right.query, BTreeMap::from([pair("table", "blog")]));
        }
    }
}
