//! The use of keys, counted in memory and written at most once a minute and at shutdown. Also
//! keeps the last call of each key that was refused for lack of a right. On PostgreSQL each key is
//! counted in a transaction of its own, so that no key's caller waits for another key.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use super::{DeniedCall, KeyCall, Keys, Right, not_found, sql};
use crate::{
    Actor, Error, Result, access,
    base::Base,
    db::{Value, args},
    ground::clock,
};

/// Parameters that are kept with a denied call, because rights distinguish calls by them. Values
/// of other parameters may be personal data.
const KEPT_PARAMETERS: [&str; 2] = ["table", "action"];

#[derive(Clone, Default)]
pub(super) struct Count {
    pub(super) requests: i64,
    pub(super) denied: i64,
    pub(super) last: i64,
    last_denied: Option<DeniedCall>,
}

impl Count {
    /// The arguments of [`sql::COUNT_USE`].
    fn args(&self, key: i64) -> Result<Vec<Value>> {
        let last_denied = self.last_denied.as_ref().map(serde_json::to_string).transpose();
        let last_denied = last_denied.map_err(Error::internal)?;
        Ok(args![key, self.requests, self.denied, self.last, last_denied])
    }
}

/// Counts that are not yet written, one entry for each key: the number of keys bounds the map.
#[derive(Default)]
pub(crate) struct Usage(Mutex<HashMap<i64, Count>>);

impl Usage {
    fn with<T>(&self, run: impl FnOnce(&mut HashMap<i64, Count>) -> T) -> T {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn note(&self, key: i64, denied: bool, now: i64) {
        self.with(|counts| {
            let count = counts.entry(key).or_default();
            count.requests += 1;
            count.denied += i64::from(denied);
            count.last = count.last.max(now);
        });
    }

    pub(super) fn note_denied(&self, key: i64, call: DeniedCall) {
        self.with(|counts| counts.entry(key).or_default().last_denied = Some(call));
    }

    pub(super) fn of(&self, key: i64) -> Count {
        self.with(|counts| counts.get(&key).cloned().unwrap_or_default())
    }

    /// Writes the gathered counts. After a failure the unwritten counts are kept for
    /// the next flush.
    pub(crate) async fn flush(&self, base: &Base) -> Result<()> {
        let mut taken = PendingCounts { usage: self, counts: self.with(std::mem::take) };
        let dialect = base.db().dialect();
        let statement = dialect.of(&sql::COUNT_USE);
        if taken.counts.is_empty() {
            return Ok(());
        }
        if !dialect.writes_alone() {
            let mut change = base.change(Actor::System).await?;
            for (key, count) in &taken.counts {
                change.run(statement, count.args(*key)?).await?;
            }
            change.commit().await?;
            taken.counts.clear();
            return Ok(());
        }
        for key in taken.counts.keys().copied().collect::<Vec<_>>() {
            let args = taken.counts[&key].args(key)?;
            // A key that is being changed is counted at the next flush. A lost reply may make a
            // key count twice.
            let (held,): (i64,) = base.db().one(statement, args).await?;
            if held == 0 {
                taken.counts.remove(&key);
            }
        }
        Ok(())
    }
}

/// Counts that are being written. Counts left at the drop return to [`Usage`], also when a stop
/// interrupts the write. An interrupted commit may count them twice; none is lost.
struct PendingCounts<'a> {
    usage: &'a Usage,
    counts: HashMap<i64, Count>,
}

impl Drop for PendingCounts<'_> {
    fn drop(&mut self) {
        self.usage.with(|now| {
            for (key, count) in self.counts.drain() {
                let kept = now.entry(key).or_default();
                kept.requests += count.requests;
                kept.denied += count.denied;
                kept.last = kept.last.max(count.last);
                kept.last_denied = kept.last_denied.take().or(count.last_denied);
            }
        });
    }
}

/// The row of rights that would allow this call and calls like it.
fn right_for(call: &KeyCall<'_>) -> Right {
    let sent =
        call.query.iter().filter(|(name, _)| KEPT_PARAMETERS.contains(&name.as_str())).cloned();
    let mut query: BTreeMap<_, _> = sent.collect();
    query.extend(call.body_table.map(|table| ("table".to_owned(), table.to_owned())));
    let method = if call.method == "HEAD" { "GET" } else { call.method };
    Right { endpoint: call.path.to_owned(), query, methods: vec![method.to_owned()] }
}

impl Keys {
    /// Keeps a call that was refused for lack of a right, if a right could allow the call. Like
    /// the counts, the call is written at most once a minute.
    pub fn note_denied(&self, id: i64, call: &KeyCall<'_>) {
        let right = right_for(call);
        let rights = std::slice::from_ref(&right);
        if access::problems("rights", rights, &self.0.endpoints).is_empty() {
            let at = clock::rfc3339(self.0.base.clock().now());
            self.0.usage.note_denied(id, DeniedCall { at, right });
        }
    }

    /// The last call that a key was refused for lack of a right; None when there was none.
    pub async fn last_denied(&self, id: i64) -> Result<Option<DeniedCall>> {
        let written = sql::last_denied(self.0.base.db(), id).await?.ok_or_else(|| not_found(id))?;
        let recent = self.0.usage.of(id).last_denied;
        // Another process may have written a later call.
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
