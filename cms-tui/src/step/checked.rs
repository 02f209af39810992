//! Changes that are sent only if their rows are still as the user saw them. The service compares
//! entity tags where it has them; other rows are read again and compared here. If a row differs,
//! the user is asked, so nothing is overwritten silently.

use std::{collections::VecDeque, sync::Arc};

use serde_json::{Map, Value as Json};

use super::{Bulk, BulkCall, Calling, Failed, Menu, Step};
use crate::{
    calls::{Fault, LONGEST, Reply, uncut},
    text::{count, cut, safe},
};

pub(crate) type Reread = Arc<dyn Fn() -> Result<Calling, Fault> + Send + Sync>;
/// Makes the call and its undo from the row as it is now.
pub(crate) type CallOf = Arc<dyn Fn(&Reply) -> Result<BulkCall, Fault> + Send + Sync>;
/// Makes the call that writes these members.
pub(crate) type Write = Arc<dyn Fn(Json) -> Result<Calling, Fault> + Send + Sync>;

/// A change of one row.
#[derive(Clone)]
pub(crate) struct Checked {
    /// Its name for messages.
    pub(crate) name: String,
    /// Reads the row again.
    pub(crate) again: Reread,
    /// The members as the user saw them.
    pub(crate) seen: Map<String, Json>,
    /// Their new values; empty to delete the row.
    pub(crate) wanted: Map<String, Json>,
    /// Whether the change fits any change of others: then `call` adds it to theirs.
    pub(crate) merges: bool,
    pub(crate) call: CallOf,
}

/// Changes of rows as one act.
pub(crate) struct Act {
    /// What is done, such as `deleted`.
    pub(crate) done: String,
    /// What it is done to, such as `key`; empty: the name says enough.
    pub(crate) what: &'static str,
    /// The menu entry for going on despite others' changes, such as `delete it all the same`.
    pub(crate) anyway: &'static str,
    pub(crate) rows: Vec<Checked>,
    /// Number of the act that this one takes back.
    pub(crate) undoes: Option<u64>,
}

/// Members that are written over a row, and written back by undo.
#[derive(Clone)]
pub(crate) struct Patch {
    pub(crate) name: String,
    pub(crate) again: Reread,
    pub(crate) write: Write,
    pub(crate) seen: Map<String, Json>,
    pub(crate) wanted: Map<String, Json>,
    /// Whether the old values can be written back.
    pub(crate) has_undo: bool,
}

/// Whether a member is as the user saw it. Of a text that a list has cut, only its beginning
/// counts, also within a list or an object.
fn is_same(seen: &Json, now: &Json) -> bool {
    match (seen, now) {
        (Json::String(seen), Json::String(now)) => {
            seen == now || uncut(seen).is_some_and(|begin| now.starts_with(begin))
        }
        (Json::Array(seen), Json::Array(now)) => {
            seen.len() == now.len() && seen.iter().zip(now).all(|(seen, now)| is_same(seen, now))
        }
        (Json::Object(seen), Json::Object(now)) => {
            let is_kept = |(name, seen): (&String, &Json)| {
                now.get(name).is_some_and(|now| is_same(seen, now))
            };
            seen.len() == now.len() && seen.iter().all(is_kept)
        }
        _ => seen == now,
    }
}

impl Checked {
    /// A row that is deleted only while it is as the user saw it.
    pub(crate) fn deleted(
        name: String,
        again: Reread,
        seen: Map<String, Json>,
        delete: impl Fn() -> Result<Calling, Fault> + Send + Sync + 'static,
    ) -> Self {
        let said = name.clone();
        let call: CallOf = Arc::new(move |now: &Reply| {
            Ok(BulkCall::new(said.clone(), delete()?.if_match(now.etag.clone()), None))
        });
        Self { name, again, seen, wanted: Map::new(), merges: false, call }
    }

    /// A line for each member that others changed meanwhile.
    fn differences(&self, now: &Json) -> Vec<String> {
        let shown = |value: &Json| match value {
            Json::String(text) => cut(&safe(text), 22).into_owned(),
            other => cut(&safe(&other.to_string()), 22).into_owned(),
        };
        let line = |(name, seen): (&String, &Json)| {
            let (now, wanted) = (&now[name.as_str()], self.wanted.get(name));
            if is_same(seen, now) || wanted == Some(now) {
                return None;
            }
            let yours = wanted.unwrap_or(seen);
            let whose = if wanted.is_some() { "yours" } else { "it was" };
            Some(format!("{name}: theirs {} · {whose} {}", shown(now), shown(yours)))
        };
        self.seen.iter().filter_map(line).collect()
    }
}

impl Patch {
    pub(crate) fn checked(self) -> Checked {
        let (name, again) = (self.name.clone(), self.again.clone());
        let (seen, wanted) = (self.seen.clone(), self.wanted.clone());
        let call: CallOf = Arc::new(move |now: &Reply| {
            let body = Json::Object(self.wanted.clone());
            let call = (self.write)(body)?.if_match(now.etag.clone());
            let names = self.wanted.keys();
            let before: Map<_, _> = names
                .filter_map(|name| Some((name.clone(), now.data.get(name)?.clone())))
                .collect();
            // Values that were cut, or are never read back, cannot be written back.
            let is_cut = |json: &Json| now.cut && json.to_string().len() >= LONGEST;
            let is_known = before.len() == self.wanted.len() && !before.values().any(is_cut);
            let is_whole = self.has_undo && is_known;
            let patch = self.clone();
            let undo = move |reply: &Reply| {
                let written = |name: &String, wanted: &Json| {
                    (name.clone(), reply.data.get(name).unwrap_or(wanted).clone())
                };
                let seen = patch.wanted.iter().map(|(name, json)| written(name, json)).collect();
                is_whole.then(|| Self { seen, wanted: before, ..patch }.checked())
            };
            Ok(BulkCall::new(self.name.clone(), call, Some(Box::new(undo))))
        });
        Checked { name, again, seen, wanted, merges: false, call }
    }
}

impl Act {
    /// Reads all rows again, then sends the changes or asks the user.
    pub(crate) fn step(mut self) -> Step {
        let left = VecDeque::from(std::mem::take(&mut self.rows));
        let (total, (ready, moved, failed)) = (left.len(), Default::default());
        Rereading { act: self, left, total, ready, moved, failed, is_merged: false }.next()
    }

    pub(crate) fn one(row: Checked, done: impl Into<String>, anyway: &'static str) -> Self {
        Self { done: done.into(), what: "", anyway, rows: vec![row], undoes: None }
    }
}

/// Rows that are being read again, one after the other.
struct Rereading {
    act: Act,
    left: VecDeque<Checked>,
    total: usize,
    ready: Vec<BulkCall>,
    /// Rows that others changed: the differences, and the call to make despite them.
    moved: Vec<(Vec<String>, BulkCall)>,
    failed: Vec<Failed>,
    is_merged: bool,
}

impl Rereading {
    fn next(mut self) -> Step {
        let Some(row) = self.left.pop_front() else { return self.end() };
        let reread = Some((self.total - self.left.len(), self.total));
        let again = (row.again)().map(|call| {
            let call = Calling { reread, ..call };
            call.ending(move |outcome| match outcome {
                Ok(now) => {
                    self.judge(row, &now);
                    self.next()
                }
                Err(fault) if fault.is_offline() || fault.wants_login() => Step::Fault(fault),
                Err(fault) => {
                    self.failed.push(Failed { name: row.name.clone(), fault, row: Some(row) });
                    self.next()
                }
            })
        });
        again.into()
    }

    fn judge(&mut self, row: Checked, now: &Reply) {
        let (different, merges) = (row.differences(&now.data), row.merges);
        let call = match (row.call)(now) {
            Ok(call) => BulkCall { row: Some(row), ..call },
            Err(fault) => {
                self.failed.push(Failed { name: row.name.clone(), fault, row: Some(row) });
                return;
            }
        };
        if different.is_empty() || merges {
            self.is_merged |= !different.is_empty();
            self.ready.push(call);
        } else {
            self.moved.push((different, call));
        }
    }

    fn end(self) -> Step {
        let Self { act, ready, moved, failed, is_merged, .. } = self;
        let mut done = act.done;
        if is_merged {
            done.push_str("; somebody changed it too, and both edits are kept");
        }
        let (what, undoes) = (act.what, act.undoes);
        let bulk = move |calls, failed| Step::Bulk(Bulk { done, what, calls, failed, undoes });
        if moved.is_empty() {
            return bulk(ready, failed);
        }
        let is_one = moved.len() == 1 && ready.is_empty();
        // An undo may have rows of any kind.
        let what = if undoes.is_some() { "" } else { what };
        let (title, first) = match &moved[..] {
            [(_, call)] if is_one => {
                let subject = format!("{what} {}", safe(&call.name));
                (format!("Somebody changed {} too", subject.trim_start()), "keep theirs".to_owned())
            }
            _ => (
                format!(
                    "Somebody changed {} of {}",
                    moved.len(),
                    count(moved.len() + ready.len(), if what.is_empty() { "row" } else { what })
                ),
                format!("only the {} that nobody changed", ready.len()),
            ),
        };
        let mut entries = vec![first, act.anyway.to_owned(), "leave all as it is now".to_owned()];
        for (lines, call) in &moved {
            let name = if is_one { String::new() } else { format!("{}: ", safe(&call.name)) };
            entries.extend(lines.iter().map(|line| format!("{name}{line}")));
        }
        Step::Menu(Menu::new(title, entries, move |n| match n {
            0 if ready.is_empty() && undoes.is_none() && failed.is_empty() => {
                Step::Tell("Theirs is kept.".to_owned())
            }
            0 => bulk(ready, failed),
            1 => {
                let moved = moved.into_iter().map(|(_, call)| call);
                bulk(ready.into_iter().chain(moved).collect(), failed)
            }
            _ if failed.is_empty() => Step::Fault(Fault::new("Nothing was written.")),
            _ => {
                let (name, fault) = (safe(&failed[0].name), &failed[0].fault.detail);
                let what = format!("Nothing was written. {name} could not be read: {fault}");
                Step::Fault(Fault::new(what))
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn members(json: Json) -> Map<String, Json> {
        json.as_object().cloned().unwrap_or_default()
    }

    fn checked(seen: Json, wanted: Json) -> Checked {
        Patch {
            name: "one".to_owned(),
            again: Arc::new(|| Err(Fault::new("not asked"))),
            write: Arc::new(|_| Err(Fault::new("not sent"))),
            seen: members(seen),
            wanted: members(wanted),
            has_undo: true,
        }
        .checked()
    }

    #[test]
    fn undo_writes_back_what_was_read_whole() {
        let row = |text: &str, cut: bool| Reply {
            data: json!({"id": 1, "title": text}),
            etag: Some("a".to_owned()),
            cut,
            ..Reply::default()
        };
        let undo = |now: &Reply| {
            let ask = || Ok(Calling::to("/", |_| Ok(Reply::default())));
            let patch = Patch {
                name: "1".to_owned(),
                again: Arc::new(ask),
                write: Arc::new(move |_| ask()),
                seen: Map::new(),
                wanted: members(json!({"title": "new"})),
                has_undo: true,
            };
            let bulk = (patch.checked().call)(now).expect("a call");
            bulk.undo.expect("an undo")(&row("new", false))
        };
        let back = undo(&row("old", true)).expect("taken back");
        assert_eq!(back.wanted, members(json!({"title": "old"})));
        assert_eq!(back.seen, members(json!({"title": "new"})));
        let long = "x".repeat(LONGEST);
        assert!(undo(&row(&long, true)).is_none(), "a value that was cut is never written back");
    }

    #[test]
    fn only_what_others_changed_is_different() {
        for (seen, wanted, now, expected) in [
            (json!({"a": 1}), json!({"a": 2}), json!({"a": 1, "b": 9}), vec![]),
            (json!({"a": 1}), json!({"a": 2}), json!({"a": 2}), vec![]),
            (json!({"a": 1}), json!({"a": 2}), json!({"a": 3}), vec!["a: theirs 3 · yours 2"]),
            (json!({"a": 1}), json!({}), json!({"a": 3}), vec!["a: theirs 3 · it was 1"]),
            (json!({"a": "xy… (12 KB)"}), json!({}), json!({"a": "xyz"}), vec![]),
            (
                json!({"a": "xy… (12 KB)"}),
                json!({}),
                json!({"a": "z"}),
                vec!["a: theirs z · it was xy… (12 KB)"],
            ),
            (
                json!({"a": {"de": ["xy… (0 KB)", 1]}}),
                json!({}),
                json!({"a": {"de": ["xyz", 1]}}),
                vec![],
            ),
            (
                json!({"a": {"de": "xy… (0 KB)"}}),
                json!({}),
                json!({"a": {"de": "xyz", "en": ""}}),
                vec!["a: theirs {\"de\":\"xyz\",\"en\":\"\"} · it was {\"de\":\"xy… (0 KB)\"}"],
            ),
            (
                json!({"a": ["x"]}),
                json!({}),
                json!({"a": []}),
                vec!["a: theirs [] · it was [\"x\"]"],
            ),
        ] {
            assert_eq!(checked(seen, wanted).differences(&now), expected, "{now}");
        }
    }
}
