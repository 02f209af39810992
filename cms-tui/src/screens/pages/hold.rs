//! Changes of a draft. Each one carries the entity tag of the draft that the user saw. If
//! somebody else has changed the draft meanwhile, the service says who changed what. Then both
//! edits are kept, or the user decides.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use cms_http::wire::FieldProblem;

use super::{draft, nodes, page_id};
use crate::screens::prelude::*;

/// Makes the call of a change, without its tag.
type Make = Arc<dyn Fn() -> Result<Calling, Fault> + Send + Sync>;
/// Makes the next step, from the reply and what others did.
type Done = Box<dyn FnOnce(&Reply, &OthersEdits) -> Step + Send>;
/// Finds clashes with the present draft, one line each. An error: nothing is left to change.
/// [`OthersEdits`] hold the draft that the user saw last.
type FindClashes = Arc<dyn Fn(&OthersEdits, &Json) -> Result<Vec<String>, Fault> + Send + Sync>;
/// The present draft, once the user chose to look at it: the next change of a form starts from it.
type ReviewedDraft = Arc<Mutex<Option<Reply>>>;

/// What others changed after the user looked and before the change was made.
#[derive(Default)]
pub(super) struct OthersEdits {
    /// The text about it.
    say: String,
    /// The draft that the change was made on, if it was not the one that the user saw.
    draft: Option<Json>,
}

impl OthersEdits {
    /// A node as it stood right before the change.
    pub(super) fn node_before(&self, seen: &Json) -> Json {
        let (kind, id) = (seen["kind"].as_str().unwrap_or_default(), seen["id"].as_i64());
        let draft = self.draft.as_ref();
        let found = draft.and_then(|draft| nodes::find(draft, kind, id.unwrap_or_default()));
        found.unwrap_or_else(|| seen.clone())
    }

    /// The state of the draft right before the change.
    pub(super) fn state_before<'s>(&'s self, seen: &'s Json) -> &'s Json {
        self.draft.as_ref().unwrap_or(seen)
    }
}

impl fmt::Display for OthersEdits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say)
    }
}

/// A page and its draft as the user saw it.
#[derive(Clone, Debug, Default)]
pub(super) struct DraftView {
    pub(super) page: Json,
    /// The state of the draft, without its tree.
    pub(super) state: Json,
    pub(super) etag: Option<String>,
    /// Whether the draft is empty.
    pub(super) is_empty: bool,
    /// Whether the screen shows this draft: then it takes over the tag after each change.
    pub(super) is_shown: bool,
    pub(super) reviewed: ReviewedDraft,
}

impl DraftView {
    pub(super) fn of(page: &Json, read: &Json, etag: Option<String>) -> Self {
        let members = read.as_object().into_iter().flatten().filter(|(name, _)| *name != "rows");
        let state = members.map(|(name, value)| (name.clone(), value.clone())).collect();
        let is_empty = items(&read["rows"]).is_empty();
        let state = Json::Object(state);
        Self { page: page.clone(), state, etag, is_empty, ..Self::default() }
    }

    pub(super) fn id(&self) -> i64 {
        page_id(&self.page)
    }

    /// Its address.
    pub(super) fn name(&self) -> String {
        super::address(&self.page)
    }

    /// The state of the draft, as the user saw it last.
    pub(super) fn latest(&self) -> Json {
        let looked = self.reviewed.lock().unwrap_or_else(PoisonError::into_inner);
        looked.as_ref().map_or_else(|| self.state.clone(), |now| now.data.clone())
    }

    /// A change of this draft.
    pub(super) fn change(
        &self,
        make: impl Fn() -> Result<Calling, Fault> + Send + Sync + 'static,
        done: impl FnOnce(&Reply, &OthersEdits) -> Step + Send + 'static,
    ) -> Change {
        let looked = self.reviewed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (etag, draft) = match looked {
            Some(now) => (now.etag, Some(now.data)),
            None => (self.etag.clone(), None),
        };
        Change {
            page: self.id(),
            etag,
            make: Arc::new(make),
            done: Box::new(done),
            find_clashes: None,
            others: OthersEdits { say: String::new(), draft },
            reviewed: self.reviewed.clone(),
            is_shown: self.is_shown,
            is_typed: true,
        }
    }
}

/// Reads the draft of a page, then continues.
pub(super) fn reading(page: &Json, next: impl FnOnce(DraftView) -> Step + Send + 'static) -> Step {
    let page = page.clone();
    draft(page_id(&page)).then(move |reply| next(DraftView::of(&page, &reply.data, reply.etag)))
}

/// A change that is sent with the tag of the draft that the user saw.
pub(super) struct Change {
    page: i64,
    etag: Option<String>,
    make: Make,
    done: Done,
    find_clashes: Option<FindClashes>,
    others: OthersEdits,
    reviewed: ReviewedDraft,
    is_shown: bool,
    /// The change comes from a form or an answer, not directly from a key; the screen waits for
    /// the end of changes from keys.
    is_typed: bool,
}

impl Change {
    /// Keeps both edits when `find` finds no clash.
    pub(super) fn merging(
        mut self,
        find: impl Fn(&OthersEdits, &Json) -> Result<Vec<String>, Fault> + Send + Sync + 'static,
    ) -> Self {
        self.find_clashes = Some(Arc::new(find));
        self
    }

    /// The change comes directly from a key: the next such key waits for its end.
    pub(super) fn by_key(mut self) -> Self {
        self.is_typed = false;
        self
    }

    pub(super) fn step(self) -> Step {
        (self.make)().made(|call| {
            call.if_match(self.etag.clone()).ending(move |outcome| match outcome {
                Ok(reply) => {
                    // After changes of others the screen must not take over the tag: nobody has
                    // seen that draft.
                    let etag = reply.etag.clone();
                    let etag = etag.filter(|_| self.is_shown && self.others.draft.is_none());
                    match ((self.done)(&reply, &self.others), etag) {
                        (Step::Call(next), _) => Step::Call(next),
                        (next, Some(etag)) => Step::Several(vec![Step::Set("etag", etag), next]),
                        (next, None) => next,
                    }
                }
                Err(fault) => {
                    let idle = if self.is_typed { Step::None } else { idle() };
                    let next = match fault.code.as_str() {
                        "stale" => self.reread_draft(fault),
                        // Somebody may have removed the node.
                        "not_found" if self.find_clashes.is_some() => self.reread_draft(fault),
                        _ => Step::Fault(fault),
                    };
                    Step::Several(vec![idle, next])
                }
            })
        })
    }

    fn reread_draft(self, fault: Fault) -> Step {
        draft(self.page).then(move |now| self.decide(&fault, &now))
    }

    fn decide(mut self, fault: &Fault, now: &Reply) -> Step {
        self.etag.clone_from(&now.etag);
        let found = self.find_clashes.as_ref().map(|find| find(&self.others, &now.data));
        self.others.draft = Some(now.data.clone());
        let other =
            |one: &FieldProblem| plain_text(&format!("{}: {}", one.field, one.message).into());
        let others: Vec<String> = fault.errors.iter().map(other).collect();
        let clashes = match found {
            Some(Err(fault)) => return Step::Fault(fault),
            _ if fault.code == "not_found" => return Step::Fault(fault.clone()),
            Some(Ok(clashes)) if clashes.is_empty() => {
                let first = others.first().map(|one| format!(" ({one})")).unwrap_or_default();
                self.others.say =
                    format!("; somebody changed the page too{first}, both edits are kept");
                return self.step();
            }
            Some(Ok(clashes)) => clashes,
            None => Vec::new(),
        };
        let anyway = if clashes.is_empty() { "do it all the same" } else { WRITE_MINE };
        let mut entries =
            vec!["read the page again; nothing is written".to_owned(), anyway.to_owned()];
        entries.extend(clashes.iter().chain(&others).map(|line| safe(line).into_owned()));
        let now = now.clone();
        Step::Menu(Menu::new("Somebody changed the page too", entries, move |n| match n {
            0 | 1 => {
                *self.reviewed.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
                match n {
                    1 => self.step(),
                    _ => Step::Several(vec![Step::Refresh, Step::Fault(unwritten())]),
                }
            }
            _ => Step::Fault(unwritten()),
        }))
    }
}

const WRITE_MINE: &str = "write mine over theirs";

/// Lets the screen take the next key that changes something.
fn idle() -> Step {
    Step::Set("idle", String::new())
}

fn unwritten() -> Fault {
    Fault::new("Nothing was written.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> DraftView {
        DraftView::of(&json!({"id": 9}), &json!({"rows": []}), Some("\"9-1\"".to_owned()))
    }

    fn change() -> Change {
        change_of(&seen())
    }

    fn change_of(seen: &DraftView) -> Change {
        let make = || Ok(Calling::to("/", |_| Ok(Reply::default())));
        seen.change(make, |_, others| Step::did(format!("done{others}")))
    }

    fn asked(step: Step) -> String {
        match step {
            Step::Call(calling) => format!("{:?}", calling.ask),
            _ => panic!("nothing is sent"),
        }
    }

    fn stale() -> Fault {
        let what = "changed (title) by ana at 2026-11-21T09:30:00Z";
        let theirs = FieldProblem::new("widget 7", "changed", what);
        Fault { code: "stale".to_owned(), errors: vec![theirs], ..Fault::default() }
    }

    #[test]
    fn who_comes_second_reads_who_changed_what() {
        let now = Reply { etag: Some("\"9-2\"".to_owned()), ..Reply::default() };
        match change().decide(&stale(), &now) {
            Step::Menu(menu) => assert_eq!(
                menu.entries,
                [
                    "read the page again; nothing is written",
                    "do it all the same",
                    "widget 7: changed (title) by ana at 2026-11-21T09:30:00Z",
                ]
            ),
            _ => panic!("no question"),
        }
        // What clashes stands above what was done besides.
        let clashing = change().merging(|_, _| Ok(vec!["title: theirs A · yours B".to_owned()]));
        match clashing.decide(&stale(), &now) {
            Step::Menu(menu) => {
                assert_eq!(menu.entries[1..3], [WRITE_MINE, "title: theirs A · yours B"]);
            }
            _ => panic!("no question"),
        }
        // Both fit: it is sent again, with the tag of the draft as it is now.
        let again = asked(change().merging(|_, _| Ok(Vec::new())).decide(&stale(), &now));
        assert!(again.contains("9-2"), "{again}");
        let gone = change().merging(|_, _| Err(Fault::new("gone")));
        assert!(matches!(gone.decide(&stale(), &now), Step::Fault(_)));
    }

    /// The tag of what was looked at; clashes are measured from there.
    #[test]
    fn a_form_that_was_looked_at_anew_carries_the_new_tag() {
        let data = json!({"rows": [{"kind": "row", "id": 1, "sort_order": 7, "cols": []}]});
        let now = Reply { etag: Some("\"9-2\"".to_owned()), data, ..Reply::default() };
        let seen = seen();
        assert!(asked(change_of(&seen).step()).contains("9-1"));
        for (choice, tag) in [(2, "9-1"), (0, "9-2")] {
            match change_of(&seen).decide(&stale(), &now) {
                Step::Menu(menu) => drop((menu.choose)(choice)),
                _ => panic!("no question"),
            }
            let sent = asked(change_of(&seen).step());
            assert!(sent.contains(tag), "{choice}: {sent}");
        }
        assert_eq!(change_of(&seen).others.draft, Some(now.data));
    }
}
