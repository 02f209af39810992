//! Changes of a draft. Each carries the entity tag of the draft that the user saw. When somebody
//! else was faster, the service says who changed what; then both edits are kept, or the user
//! decides.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use cms_http::wire::FieldProblem;
use serde_json::Value as Json;

use super::{draft, nodes, page_id};
use crate::{
    calls::{Fault, Reply},
    screens::cells::plain_text,
    step::{Calling, Menu, Step},
    text::safe,
};

/// Makes the call of a change, without its tag.
type Make = Arc<dyn Fn() -> Result<Calling, Fault> + Send + Sync>;
/// Makes the step that follows: from the reply, and what is to be said of others.
type Done = Box<dyn FnOnce(&Reply, &Others) -> Step + Send>;
/// Looks for clashes with the draft as it is now, a line each; an error when there is nothing left
/// to change. [`Others`] know the draft that the user saw last.
type Fits = Arc<dyn Fn(&Others, &Json) -> Result<Vec<String>, Fault> + Send + Sync>;
/// The draft that the user chose to look at anew: what a form sends next is about that.
type Anew = Arc<Mutex<Option<Reply>>>;

/// What others did between the look and the change.
#[derive(Default)]
pub(super) struct Others {
    /// What is to be said of it.
    say: String,
    /// The draft that the change was made on, when it was another than the one that was seen.
    draft: Option<Json>,
}

impl Others {
    /// A node as it stood right before the change.
    pub(super) fn stood(&self, seen: &Json) -> Json {
        let (kind, id) = (seen["kind"].as_str().unwrap_or_default(), seen["id"].as_i64());
        let draft = self.draft.as_ref();
        let found = draft.and_then(|draft| nodes::find(draft, kind, id.unwrap_or_default()));
        found.unwrap_or_else(|| seen.clone())
    }

    /// What was known of the draft right before the change.
    pub(super) fn state<'s>(&'s self, seen: &'s Json) -> &'s Json {
        self.draft.as_ref().unwrap_or(seen)
    }
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say)
    }
}

/// A page and its draft as the user saw it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) page: Json,
    /// What is known of the draft, without its tree.
    pub(super) state: Json,
    pub(super) etag: Option<String>,
    /// Whether anything stands in it.
    pub(super) is_empty: bool,
    /// The screen that asks shows this draft: it takes over the tag of its own changes.
    pub(super) is_shown: bool,
    pub(super) anew: Anew,
}

impl Seen {
    pub(super) fn of(page: &Json, read: &Json, etag: Option<String>) -> Self {
        let members = read.as_object().into_iter().flatten().filter(|(name, _)| *name != "rows");
        let state = members.map(|(name, value)| (name.clone(), value.clone())).collect();
        let is_empty = read["rows"].as_array().is_none_or(Vec::is_empty);
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

    /// What is known of the draft, as it was looked at last.
    pub(super) fn latest(&self) -> Json {
        let looked = self.anew.lock().unwrap_or_else(PoisonError::into_inner);
        looked.as_ref().map_or_else(|| self.state.clone(), |now| now.data.clone())
    }

    /// A change of this draft.
    pub(super) fn change(
        &self,
        make: impl Fn() -> Result<Calling, Fault> + Send + Sync + 'static,
        done: impl FnOnce(&Reply, &Others) -> Step + Send + 'static,
    ) -> Change {
        let looked = self.anew.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (etag, draft) = match looked {
            Some(now) => (now.etag, Some(now.data)),
            None => (self.etag.clone(), None),
        };
        Change {
            page: self.id(),
            etag,
            make: Arc::new(make),
            done: Box::new(done),
            fits: None,
            others: Others { say: String::new(), draft },
            anew: self.anew.clone(),
            is_shown: self.is_shown,
            is_typed: true,
        }
    }
}

/// Reads the draft of a page, then goes on.
pub(super) fn reading(page: &Json, next: impl FnOnce(Seen) -> Step + Send + 'static) -> Step {
    let page = page.clone();
    let call = draft(page_id(&page));
    call.map(|call| call.then(move |reply| next(Seen::of(&page, &reply.data, reply.etag)))).into()
}

/// A change that is sent while the draft is as it was seen.
pub(super) struct Change {
    page: i64,
    etag: Option<String>,
    make: Make,
    done: Done,
    fits: Option<Fits>,
    others: Others,
    anew: Anew,
    is_shown: bool,
    /// It comes from a form or an answer; else from a key alone, which the screen counts.
    is_typed: bool,
}

impl Change {
    /// Both edits are kept when nothing clashes.
    pub(super) fn fitting(
        mut self,
        fits: impl Fn(&Others, &Json) -> Result<Vec<String>, Fault> + Send + Sync + 'static,
    ) -> Self {
        self.fits = Some(Arc::new(fits));
        self
    }

    /// It comes from a key alone: the next one waits for its end.
    pub(super) fn by_key(mut self) -> Self {
        self.is_typed = false;
        self
    }

    pub(super) fn step(self) -> Step {
        let call = (self.make)().map(|call| {
            call.if_match(self.etag.clone()).ending(move |outcome| match outcome {
                Ok(reply) => {
                    // With what others did the tag would be of a draft that nobody has seen.
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
                        "stale" => self.look_again(fault),
                        // Somebody may have removed it.
                        "not_found" if self.fits.is_some() => self.look_again(fault),
                        _ => Step::Fault(fault),
                    };
                    Step::Several(vec![idle, next])
                }
            })
        });
        call.into()
    }

    fn look_again(self, fault: Fault) -> Step {
        draft(self.page).map(|call| call.then(move |now| self.decide(&fault, &now))).into()
    }

    fn decide(mut self, fault: &Fault, now: &Reply) -> Step {
        self.etag.clone_from(&now.etag);
        let found = self.fits.as_ref().map(|fits| fits(&self.others, &now.data));
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
        let mut entries = vec!["look at it anew; nothing is written".to_owned(), anyway.to_owned()];
        entries.extend(clashes.iter().chain(&others).map(|line| safe(line).into_owned()));
        let now = now.clone();
        Step::Menu(Menu::new("Somebody changed the page too", entries, move |n| match n {
            0 | 1 => {
                *self.anew.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
                match n {
                    1 => self.step(),
                    _ => Step::Several(vec![Step::Look, Step::Fault(unwritten())]),
                }
            }
            _ => Step::Fault(unwritten()),
        }))
    }
}

const WRITE_MINE: &str = "write mine over theirs";

/// The screen takes the next key that changes something.
fn idle() -> Step {
    Step::Set("idle", String::new())
}

fn unwritten() -> Fault {
    Fault::new("Nothing was written.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen() -> Seen {
        Seen::of(&json!({"id": 9}), &json!({"rows": []}), Some("\"9-1\"".to_owned()))
    }

    fn change() -> Change {
        change_of(&seen())
    }

    fn change_of(seen: &Seen) -> Change {
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
        let theirs = FieldProblem {
            field: "widget 7".to_owned(),
            code: "changed".to_owned(),
            message: "changed (title) by ana at 2026-11-21T09:30:00Z".to_owned(),
            node: None,
        };
        Fault { code: "stale".to_owned(), errors: vec![theirs], ..Fault::default() }
    }

    #[test]
    fn who_comes_second_reads_who_changed_what() {
        let now = Reply { etag: Some("\"9-2\"".to_owned()), ..Reply::default() };
        match change().decide(&stale(), &now) {
            Step::Menu(menu) => assert_eq!(
                menu.entries,
                [
                    "look at it anew; nothing is written",
                    "do it all the same",
                    "widget 7: changed (title) by ana at 2026-11-21T09:30:00Z",
                ]
            ),
            _ => panic!("no question"),
        }
        // What clashes stands above what was done besides.
        let clashing = change().fitting(|_, _| Ok(vec!["title: theirs A · yours B".to_owned()]));
        match clashing.decide(&stale(), &now) {
            Step::Menu(menu) => {
                assert_eq!(menu.entries[1..3], [WRITE_MINE, "title: theirs A · yours B"]);
            }
            _ => panic!("no question"),
        }
        // Both fit: it is sent again, with the tag of the draft as it is now.
        let again = asked(change().fitting(|_, _| Ok(Vec::new())).decide(&stale(), &now));
        assert!(again.contains("9-2"), "{again}");
        let gone = change().fitting(|_, _| Err(Fault::new("gone")));
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
